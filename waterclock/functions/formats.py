"""Dates and times by patterns such as ``yyyy-MM-dd HH:mm:ss``, in the letters of Java. Patterns are constants.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def date_format(moment: object, pattern: str) -> Expr:
    """As text, by a pattern.

    Example: ``date_format(TIMESTAMP'2024-02-29 12:34:56', 'dd.MM.yyyy HH:mm') = '29.02.2024 12:34'``
    """
    return call("date_format", moment, pattern)


def to_timestamp(text: object, pattern: str | None = None) -> Expr:
    """A timestamp read as a cast does, or by a pattern; null if the text is not so.

    Example: ``to_timestamp('29/02/2024 12:34:56', 'dd/MM/yyyy HH:mm:ss') = TIMESTAMP'2024-02-29 12:34:56'``
    """
    return call("to_timestamp", text) if pattern is None else call("to_timestamp", text, pattern)


def to_date(text: object, pattern: str | None = None) -> Expr:
    """A date read as a cast does, or by a pattern; null if the text is not so.

    Example: ``to_date('29/02/2024', 'dd/MM/yyyy') = DATE'2024-02-29'``
    """
    return call("to_date", text) if pattern is None else call("to_date", text, pattern)


def unix_timestamp(text: object, pattern: str | None = None) -> Expr:
    """Whole seconds since 1970 of a time, or of a text read by a pattern.

    Example: ``unix_timestamp('2024-02-29 12:34:56') = 1709210096``
    """
    return call("unix_timestamp", text) if pattern is None else call("unix_timestamp", text, pattern)


def from_unixtime(seconds: object, pattern: str = "yyyy-MM-dd HH:mm:ss") -> Expr:
    """Seconds since 1970 as text, by a pattern.

    Example: ``from_unixtime(0) = '1970-01-01 00:00:00'``
    """
    return call("from_unixtime", seconds, pattern)


try_to_timestamp = to_timestamp
to_unix_timestamp = unix_timestamp
