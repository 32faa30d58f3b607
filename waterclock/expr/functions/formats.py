"""Dates and times by patterns such as ``yyyy-MM-dd HH:mm:ss``, in the letters of Java. Patterns are constants."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache

import polars as pl

from waterclock.errors import ConfigError
from waterclock.expr.functions.base import ByType, Resolved, define, eg
from waterclock.expr.functions.moments import (
    BLANK,
    DAY,
    SECOND,
    calendar,
    date_of_text,
    days_from_civil,
    micros_of,
    timestamp,
    timestamp_of_text,
)
from waterclock.schema import TYPES

DEFAULT = "yyyy-MM-dd HH:mm:ss"
_FIX = "Known letters: y M d H h m s S a E D and text in 'quotes'; a text is read with those up to S, and a."
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']", re.DOTALL)
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


@lru_cache(maxsize=256)
def _tokens(pattern: str) -> list[tuple[str, bool]]:
    """Runs of a letter, and texts that stand for themselves (True)."""
    found, at = [], 0
    while at < len(pattern):
        match = _TOKEN.match(pattern, at)
        if match is None:
            raise _refused(pattern, "a quote is not closed")
        letters = match[2] is not None
        quoted = match[1] is not None
        text = (match[1].replace("''", "'") or "'") if quoted else match[0]
        found.append((text, not letters))
        at = match.end()
    return found


def _refused(pattern: str, reason: str) -> ConfigError:
    return ConfigError("EXPR.BAD_CONSTANT", function="A pattern of time", value=pattern, reason=reason, fix=_FIX)


# -- writing -----------------------------------------------------------------------------------------------


def _padded(value: pl.Expr, width: int) -> pl.Expr:
    return value.cast(pl.String).str.pad_start(width, "0")


def _fraction(a: pl.Expr, width: int) -> pl.Expr:
    digits = _padded(a.to_physical() % SECOND, 6)
    return digits.str.pad_end(width, "0") if width > 6 else digits.str.slice(0, width)


_WRITTEN: dict[str, Callable[[pl.Expr, int], pl.Expr]] = {
    "y": lambda a, n: (
        _padded(a.dt.year() % 100, 2) if n == 2 else a.dt.to_string("%Y") if n == 4 else _padded(a.dt.year(), n)
    ),
    "M": lambda a, n: a.dt.to_string({3: "%b", 4: "%B"}[n]) if n > 2 else _padded(a.dt.month(), n),
    "d": lambda a, n: _padded(a.dt.day(), n),
    "D": lambda a, n: _padded(a.dt.ordinal_day(), n),
    "H": lambda a, n: _padded(a.dt.hour(), n),
    "h": lambda a, n: _padded((a.dt.hour().cast(pl.Int32) + 11) % 12 + 1, n),
    "m": lambda a, n: _padded(a.dt.minute(), n),
    "s": lambda a, n: _padded(a.dt.second(), n),
    "S": _fraction,
    "a": lambda a, n: pl.when(a.dt.hour() < 12).then(pl.lit("AM")).otherwise(pl.lit("PM")),
    "E": lambda a, n: a.dt.to_string("%A" if n == 4 else "%a"),
}
_MOST = {"y": 6, "M": 4, "d": 2, "D": 3, "H": 2, "h": 2, "m": 2, "s": 2, "S": 9, "a": 1, "E": 4}


def check_written(pattern: str, *others: object) -> None:
    for text, plain in _tokens(pattern):
        if not plain and (text[0] not in _WRITTEN or len(text) > _MOST[text[0]]):
            raise _refused(pattern, f"{text} is not supported")


def written(a: pl.Expr, pattern: str) -> pl.Expr:
    """A timestamp as text."""
    inside = calendar(a)
    parts = [pl.lit(text) if plain else _WRITTEN[text[0]](inside, len(text)) for text, plain in _tokens(pattern)]
    return pl.when(inside.is_not_null()).then(pl.concat_str(parts) if parts else pl.lit(""))


# -- reading -----------------------------------------------------------------------------------------------

_READ = {
    "yyyy": ("y", "[0-9]{4}"), "MM": ("M", "[0-9]{2}"), "M": ("M", "[0-9]{1,2}"), "MMM": ("b", "[A-Za-z]{3}"), "dd": ("d", "[0-9]{2}"),
    "d": ("d", "[0-9]{1,2}"), "HH": ("H", "[0-9]{2}"), "H": ("H", "[0-9]{1,2}"), "hh": ("h", "[0-9]{2}"), "h": ("h", "[0-9]{1,2}"),
    "mm": ("m", "[0-9]{2}"), "m": ("m", "[0-9]{1,2}"), "ss": ("s", "[0-9]{2}"), "s": ("s", "[0-9]{1,2}"), "a": ("a", "(?i:am|pm)"),
    **{"S" * n: ("S", f"[0-9]{{{n}}}") for n in range(1, 10)},
}  # fmt: skip


@lru_cache(maxsize=256)
def _reader(pattern: str) -> tuple[str, frozenset[str]]:
    """A regular expression with a group for each part, and the groups."""
    made, names = "", []
    for text, plain in _tokens(pattern):
        if plain:
            made += re.escape(text)
        elif text not in _READ or _READ[text][0] in names:
            raise _refused(pattern, f"{text} cannot be read")
        else:
            name, digits = _READ[text]
            names.append(name)
            made += f"(?<{name}>{digits})"
    if ("h" in names) != ("a" in names):
        raise _refused(pattern, "h goes together with a")
    return f"^(?i:{made})$", frozenset(names)


def check_read(*patterns: str) -> None:
    for pattern in patterns:
        _reader(pattern)


def read(a: pl.Expr, pattern: str) -> pl.Expr:
    """Microseconds since 1970 of a text; null where it is not so or there is no such time."""
    made, names = _reader(pattern)
    if not names:
        return pl.when(a == "").then(pl.lit(None, dtype=pl.Int64))
    groups = a.str.extract_groups(made)

    def number(name: str, otherwise: int) -> pl.Expr:
        return (
            groups.struct.field(name).cast(pl.Int64, strict=False)
            if name in names
            else pl.lit(otherwise, dtype=pl.Int64)
        )

    month = number("M", 1)
    if "b" in names:
        short = groups.struct.field("b").str.to_titlecase()
        month = short.replace_strict(_MONTHS, list(range(1, 13)), default=None, return_dtype=pl.Int64)
    hour = number("H", 0)
    if "h" in names:
        half = number("h", 0)
        afternoon = groups.struct.field("a").str.to_lowercase() == "pm"
        hour = pl.when(half.is_between(1, 12)).then(half % 12 + afternoon.cast(pl.Int64) * 12)
    micro = groups.struct.field("S").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64) if "S" in names else pl.lit(0)
    return micros_of(
        days_from_civil(number("y", 1970), month, number("d", 1)), hour, number("m", 0), number("s", 0), micro
    )


def _read_as(plain: Callable[[pl.Expr], pl.Expr], finish: Callable[[pl.Expr], pl.Expr]) -> ByType:
    """Of a text, by a pattern if one is given; a date or timestamp as it is."""

    def make(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
        def form(a: pl.Expr, pattern: str | None = None) -> pl.Expr:
            if kinds[0] != "string":
                return finish(a.cast(TYPES["timestamp"]).to_physical())
            return plain(a) if pattern is None else finish(read(a, pattern))

        return form

    return ByType(make)


def _text_or_time(result: str) -> Callable[..., Resolved | None]:
    def resolver(types: Sequence[str], values: Sequence[object]) -> Resolved | None:
        kind = "string" if types[0] == "null" else types[0]
        if kind not in ("string", "date", "timestamp") or list(types[1:]) not in ([], ["string"], ["null"]):
            return None
        return [kind, *["string"] * (len(types) - 1)], result

    return resolver


def _stripped(read_text: Callable[[pl.Expr], pl.Expr]) -> Callable[[pl.Expr], pl.Expr]:
    return lambda a: read_text(a.str.strip_chars(BLANK))


def _date(micros: pl.Expr) -> pl.Expr:
    return (micros // DAY).cast(pl.Int32).cast(pl.Date)


def _seconds(a: pl.Expr) -> pl.Expr:
    return read(a, DEFAULT).truncdiv(SECOND)


_EG = datetime(2024, 2, 29, 12, 34, 56, tzinfo=UTC)

TABLE = [
    define("date_format(moment timestamp, pattern const string) string", "As text, by a pattern.", written,
           eg(_EG, "dd.MM.yyyy HH:mm", gives="29.02.2024 12:34"), check=check_written),
    define("to_timestamp(text any, pattern const string = None) timestamp", "A timestamp read as a cast does, or by a pattern; null if the text is not so.",
           _read_as(_stripped(timestamp_of_text), timestamp), eg("29/02/2024 12:34:56", "dd/MM/yyyy HH:mm:ss", gives=_EG), check=check_read,
           aliases=("try_to_timestamp",), resolver=_text_or_time("timestamp")),
    define("to_date(text any, pattern const string = None) date", "A date read as a cast does, or by a pattern; null if the text is not so.",
           _read_as(_stripped(date_of_text), _date), eg("29/02/2024", "dd/MM/yyyy", gives=date(2024, 2, 29)), check=check_read,
           resolver=_text_or_time("date")),
    define("unix_timestamp(text any, pattern const string = None) bigint", "Whole seconds since 1970 of a time, or of a text read by a pattern.",
           _read_as(_seconds, lambda micros: micros.truncdiv(SECOND)), eg("2024-02-29 12:34:56", gives=1709210096), check=check_read,
           aliases=("to_unix_timestamp",), resolver=_text_or_time("bigint")),
    define("from_unixtime(seconds bigint, pattern const string = 'yyyy-MM-dd HH:mm:ss') string", "Seconds since 1970 as text, by a pattern.",
           lambda a, pattern: written(timestamp(a * SECOND), pattern), eg(0, gives="1970-01-01 00:00:00"), check=check_written),
]  # fmt: skip
