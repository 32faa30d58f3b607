"""Regular expressions, in Java's syntax. Patterns are constants."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from waterclock.errors import ConfigError
from waterclock.expr.functions.base import define, eg
from waterclock.expr.functions.patterns import translated


def _pattern(pattern: str, *others: Any) -> None:
    translated(pattern)


def _extracted(pattern: str, group: int) -> None:
    _groups(pattern, group)


def _groups(pattern: str, group: int) -> str:
    made = translated(pattern)
    count = len(re.findall(r"(?<!\\)\((?!\?[:a-zA-Z-])", re.sub(r"\[[^\]]*\]", "", made)))
    if not 0 <= group <= count:
        raise ConfigError(
            "EXPR.BAD_CONSTANT", function="A regular expression", value=pattern, reason=f"it has {count} groups, not {group}",
            fix="Name a group by its number from 1, or 0 for the whole match.",
        )  # fmt: skip
    return made


def _first(a: pl.Expr, pattern: str, group: int) -> pl.Expr:
    found = a.str.extract(f"({_groups(pattern, group)})", group + 1)
    return pl.when(a.is_not_null()).then(found.fill_null(""))


def _all(a: pl.Expr, pattern: str, group: int) -> pl.Expr:
    whole = a.str.extract_all(_groups(pattern, group))
    if group == 0:
        return whole
    # The same pattern over each match, which it matches from its start.
    return whole.list.eval(pl.element().str.extract(f"^(?:{translated(pattern)})", group).fill_null(""))


_REFERENCE = re.compile(r"\\(.)|\$([0-9])|\$", re.DOTALL)


def _replacement(value: str) -> str:
    """Java's ``$1`` as Polars', and nothing else with a meaning."""

    def part(match: re.Match[str]) -> str:
        if match.group(1):
            return match.group(1).replace("$", "$$")
        if match.group(2):
            return f"${{{match.group(2)}}}"
        raise ConfigError(
            "EXPR.BAD_CONSTANT", function="regexp_replace", value=value, reason="a $ has no number of a group behind it",
            fix="Write \\$ for the sign itself.",
        )  # fmt: skip

    return _REFERENCE.sub(part, value)


def _replaced(pattern: str, value: str, start: int) -> None:
    translated(pattern)
    _replacement(value)
    if start != 1:
        raise ConfigError(
            "EXPR.BAD_CONSTANT", function="regexp_replace", value=start, reason="it replaces from the first character on",
            fix="Leave the position out.",
        )  # fmt: skip


def _cut(pattern: str) -> None:
    if pattern and pl.select(pl.lit("").str.contains(translated(pattern))).item():
        raise ConfigError(
            "EXPR.BAD_CONSTANT", function="split", value=pattern, reason="it matches an empty text",
            fix="Write a pattern that takes at least one character, or '' for single characters.",
        )  # fmt: skip


def _split(a: pl.Expr, pattern: str) -> pl.Expr:
    if not pattern:
        return pl.when(a == "").then(pl.concat_list(a)).otherwise(a.str.split(""))
    return a.str.split(translated(pattern), literal=False)


def like_pattern(pattern: str, escape: str = "\\") -> str:
    """SQL's LIKE as a pattern for Polars."""
    found, at = [], 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == escape and at + 1 < len(pattern):
            at += 1
            found.append(re.escape(pattern[at]))
        else:
            found.append({"%": ".*", "_": "."}.get(sign) or re.escape(sign))
        at += 1
    return f"^(?s:{''.join(found)})$"


def _like(a: pl.Expr, pattern: str, escape: str) -> pl.Expr:
    return a.str.contains(like_pattern(pattern, escape))


def _like_check(pattern: str, escape: str) -> None:
    rest = re.sub(re.escape(escape) + r"[%_" + re.escape(escape) + "]", "", pattern) if len(escape) == 1 else escape
    if escape in rest:
        raise ConfigError(
            "EXPR.BAD_CONSTANT", function="like", value=pattern, reason=f"the escape sign {escape!r} stands before neither % nor _",
            fix="Write the sign twice for itself.",
        )  # fmt: skip


TABLE = [
    define("like(text string, pattern const string, escape const string = '\\\\') boolean",
           "Whether the text is so: % stands for any characters, _ for one.", _like, eg("waterclock", "water%", gives=True),
           lambda a, b, c: f"{a} LIKE {b} ESCAPE {c}", check=_like_check),
    define("ilike(text string, pattern const string, escape const string = '\\\\') boolean", "As like, whatever the case.",
           lambda a, b, c: _like(a.str.to_lowercase(), b.lower(), c), eg("WATER", "w%r", gives=True),
           lambda a, b, c: f"{a} ILIKE {b} ESCAPE {c}", check=_like_check),
    define("rlike(text string, pattern const string) boolean", "Whether the pattern is found in the text.",
           lambda a, b: a.str.contains(translated(b)), eg("a1", "[0-9]", gives=True), aliases=("regexp", "regexp_like"), check=_pattern),
    define("regexp_extract(text string, pattern const string, group const int = 1) string",
           "What a group of the first match took; empty if nothing matches.", _first, eg("id=42;", "id=([0-9]+)", gives="42"),
           check=_extracted),
    define("regexp_extract_all(text string, pattern const string, group const int = 1) array<string>",
           "What a group of every match took.", _all, eg("a=1,b=2", "([a-z])=", gives=["a", "b"]), check=_extracted),
    define("regexp_replace(text string, pattern const string, value const string, start const int = 1) string",
           "Every match replaced; $1 is what the first group took.",
           lambda a, b, c, start: a.str.replace_all(translated(b), _replacement(c)), eg("2024-02", "([0-9]+)-([0-9]+)", "$2/$1", gives="02/2024"),
           check=_replaced),
    define("regexp_count(text string, pattern const string) int", "How often the pattern matches.",
           lambda a, b: a.str.count_matches(translated(b)), eg("banana", "an", gives=2), check=_pattern),
    define("regexp_substr(text string, pattern const string) string", "The first match; null if there is none.",
           lambda a, b: a.str.extract(f"({translated(b)})", 1), eg("a42b", "[0-9]+", gives="42"), check=_pattern),
    define("regexp_instr(text string, pattern const string) int", "Where the first match starts, 0 if there is none.",
           lambda a, b: _place(a, translated(b)), eg("a42b", "[0-9]+", gives=2), check=_pattern),
    define("split(text string, pattern const string) array<string>", "The parts between the matches of a pattern.",
           _split, eg("a1b2c", "[0-9]", gives=["a", "b", "c"]), check=_cut),
]  # fmt: skip


def _place(a: pl.Expr, pattern: str) -> pl.Expr:
    before = a.str.extract(f"^((?s:.*?))(?:{pattern})", 1)
    return pl.when(a.is_not_null()).then((before.str.len_chars().cast(pl.Int32) + 1).fill_null(0))
