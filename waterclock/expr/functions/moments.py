"""Dates and timestamps between numbers, parts and text.

Calendar arithmetic is done on whole numbers: a value that no calendar holds gives null and cannot stop a stream.
"""

from __future__ import annotations

import polars as pl

from waterclock.expr.functions.buffers import quotient
from waterclock.schema import TYPES

SECOND = 1_000_000
DAY = 86_400 * SECOND
BLANK = "".join(map(chr, [*range(33), 127]))
"""What Spark takes off the ends of a text before it reads it."""
_LAST = 8_200_000_000_000 * SECOND
"""About the year 261,000: beyond it Polars has no calendar."""


def calendar(moment: pl.Expr) -> pl.Expr:
    """A timestamp, null where Polars' calendar functions would fail."""
    return pl.when(moment.to_physical().is_between(-_LAST, _LAST)).then(moment)


def calendar_date(day: pl.Expr) -> pl.Expr:
    """A date, null where Polars' calendar functions would fail."""
    return pl.when(day.to_physical().is_between(-_LAST // DAY, _LAST // DAY)).then(day)


def timestamp(micros: pl.Expr) -> pl.Expr:
    return micros.cast(pl.Int64).cast(TYPES["timestamp"])


def day_number(moment: pl.Expr) -> pl.Expr:
    """Days since 1970 of a timestamp."""
    return moment.to_physical() // DAY


def seconds_of(moment: pl.Expr) -> pl.Expr:
    """Seconds since 1970 as a double."""
    return quotient(moment.to_physical().cast(pl.Float64), pl.lit(float(SECOND)))


def days_in_month(year: pl.Expr, month: pl.Expr) -> pl.Expr:
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    short = pl.when(month.is_in([4, 6, 9, 11])).then(30).otherwise(31)
    return pl.when(month == 2).then(28 + leap.cast(pl.Int32)).otherwise(short)


def days_from_civil(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """Days since 1970 in the proleptic Gregorian calendar; null where there is no such day."""
    y, m, d = (part.cast(pl.Int64) for part in (year, month, day))
    shifted = pl.when(m <= 2).then(y - 1).otherwise(y)
    since_march = (m + 9) % 12
    within = shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + (153 * since_march + 2) // 5 + d - 1
    valid = m.is_between(1, 12) & (d >= 1) & (d <= days_in_month(y, m))
    return pl.when(valid).then(within - 719_468)


def micros_of(day: pl.Expr, hour: pl.Expr, minute: pl.Expr, second: pl.Expr, micro: pl.Expr) -> pl.Expr:
    """Microseconds since 1970; null where there is no such time, or where it does not fit."""
    h, m, s, f = (part.cast(pl.Int64) for part in (hour, minute, second, micro))
    valid = h.is_between(0, 23) & m.is_between(0, 59) & s.is_between(0, 59)
    fits = day.is_between(-106_751_991, 106_751_990)
    return pl.when(valid & fits).then(day * DAY + ((h * 60 + m) * 60 + s) * SECOND + f)


# -- text --------------------------------------------------------------------------------------------------


def text_of_date(day: pl.Expr) -> pl.Expr:
    return calendar_date(day).dt.to_string("%Y-%m-%d")


def text_of_timestamp(moment: pl.Expr) -> pl.Expr:
    """With as many digits of the second as needed."""
    full = calendar(moment).dt.to_string("%Y-%m-%d %H:%M:%S%.6f")
    return full.str.strip_chars_end("0").str.strip_suffix(".")


_DAY = r"^(?<sign>[+-])?(?<y>[0-9]{4,7})(?:-(?<m>[0-9]{1,2})(?:-(?<d>[0-9]{1,2})"
_DATE = _DAY + r"(?:[ T](?s:.*))?)?)?$"
_TIME = r"(?<H>[0-9]{1,2})(?::(?<M>[0-9]{1,2})(?::(?<S>[0-9]{1,2})(?:\.(?<f>[0-9]*))?)?)?"
_ZONE = r" ?(?:Z|UTC|GMT|UT)?(?<zs>[+-])?(?:(?<zh>[0-9]{1,2})(?::?(?<zm>[0-9]{1,2}))?)?"
_TIMESTAMP = _DAY + r"(?:[ T]" + _TIME + r"(?<zone>" + _ZONE + r")?)?)?)?$"


def _number(groups: pl.Expr, name: str, otherwise: int = 0) -> pl.Expr:
    return groups.struct.field(name).cast(pl.Int64, strict=False).fill_null(otherwise)


def _day(groups: pl.Expr) -> pl.Expr:
    year = groups.struct.field("y").cast(pl.Int64, strict=False)  # null where nothing matched
    year = pl.when(groups.struct.field("sign") == "-").then(-year).otherwise(year)
    return days_from_civil(year, _number(groups, "m", 1), _number(groups, "d", 1))


def date_of_text(text: pl.Expr) -> pl.Expr:
    """``2024``, ``2024-2`` or ``2024-02-29``, and whatever follows a space or a T."""
    day = _day(text.str.extract_groups(_DATE))
    return pl.when(day.is_between(-(2**31), 2**31 - 1)).then(day).cast(pl.Int32).cast(pl.Date)


def timestamp_of_text(text: pl.Expr) -> pl.Expr:
    """A date, and perhaps a time and an offset; without one in UTC. More than six digits of a second are cut off."""
    groups = text.str.extract_groups(_TIMESTAMP)
    fraction = groups.struct.field("f").fill_null("").str.slice(0, 6).str.pad_end(6, "0").cast(pl.Int64)
    hour, minute, second = (_number(groups, name) for name in "HMS")
    offset = _number(groups, "zh") * 3600 + _number(groups, "zm") * 60
    offset = pl.when(groups.struct.field("zs") == "-").then(-offset).otherwise(offset)
    known = (_number(groups, "zm") < 60) & (offset.abs() <= 18 * 3600)
    known = known & (groups.struct.field("zs").is_not_null() | groups.struct.field("zh").is_null())
    local = micros_of(_day(groups), hour, minute, second, fraction)
    return timestamp(pl.when(known).then(local - offset * SECOND))
