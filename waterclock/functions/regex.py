"""Regular expressions, in Java's syntax. Patterns are constants.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def like(text: object, pattern: str, escape: str = "\\") -> Expr:
    """Whether the text is so: % stands for any characters, _ for one.

    Example: ``like('waterclock', 'water%') = true``
    """
    return call("like", text, pattern, escape)


def ilike(text: object, pattern: str, escape: str = "\\") -> Expr:
    """As like, whatever the case.

    Example: ``ilike('WATER', 'w%r') = true``
    """
    return call("ilike", text, pattern, escape)


def rlike(text: object, pattern: str) -> Expr:
    """Whether the pattern is found in the text.

    Example: ``rlike('a1', '[0-9]') = true``
    """
    return call("rlike", text, pattern)


def regexp_extract(text: object, pattern: str, group: int = 1) -> Expr:
    """What a group of the first match took; empty if nothing matches.

    Example: ``regexp_extract('id=42;', 'id=([0-9]+)') = '42'``
    """
    return call("regexp_extract", text, pattern, group)


def regexp_extract_all(text: object, pattern: str, group: int = 1) -> Expr:
    """What a group of every match took.

    Example: ``regexp_extract_all('a=1,b=2', '([a-z])=') = array('a', 'b')``
    """
    return call("regexp_extract_all", text, pattern, group)


def regexp_replace(text: object, pattern: str, value: str, start: int = 1) -> Expr:
    """Every match replaced; $1 is what the first group took.

    Example: ``regexp_replace('2024-02', '([0-9]+)-([0-9]+)', '$2/$1') = '02/2024'``
    """
    return call("regexp_replace", text, pattern, value, start)


def regexp_count(text: object, pattern: str) -> Expr:
    """How often the pattern matches.

    Example: ``regexp_count('banana', 'an') = 2``
    """
    return call("regexp_count", text, pattern)


def regexp_substr(text: object, pattern: str) -> Expr:
    """The first match; null if there is none.

    Example: ``regexp_substr('a42b', '[0-9]+') = '42'``
    """
    return call("regexp_substr", text, pattern)


def regexp_instr(text: object, pattern: str) -> Expr:
    """Where the first match starts, 0 if there is none.

    Example: ``regexp_instr('a42b', '[0-9]+') = 2``
    """
    return call("regexp_instr", text, pattern)


def split(text: object, pattern: str) -> Expr:
    """The parts between the matches of a pattern.

    Example: ``split('a1b2c', '[0-9]') = array('a', 'b', 'c')``
    """
    return call("split", text, pattern)


regexp = rlike
regexp_like = rlike
