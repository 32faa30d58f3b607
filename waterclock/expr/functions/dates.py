"""Parts of dates and times, and arithmetic with them. Everything is in UTC, but where a zone is named."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import polars as pl

from waterclock.errors import ConfigError
from waterclock.expr.functions.base import ByType, define, eg
from waterclock.expr.functions.buffers import quotient
from waterclock.expr.functions.maths import whole
from waterclock.expr.functions.moments import (
    DAY,
    SECOND,
    calendar,
    calendar_date,
    days_from_civil,
    days_in_month,
    micros_of,
    timestamp,
)

_UNITS = {
    "MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": SECOND, "MINUTE": 60 * SECOND, "HOUR": 3600 * SECOND, "DAY": DAY, "WEEK": 7 * DAY,
}  # fmt: skip
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_TRUNCATED = {
    "YEAR": "1y", "YYYY": "1y", "YY": "1y", "QUARTER": "1q", "MONTH": "1mo", "MM": "1mo", "MON": "1mo", "WEEK": "1w", "DAY": "1d", "DD": "1d",
    "HOUR": "1h", "MINUTE": "1m", "SECOND": "1s", "MILLISECOND": "1ms", "MICROSECOND": "1us",
}  # fmt: skip


def _one_of(function: str, choices: Any) -> Callable[[str], None]:
    def check(unit: str, *others: Any) -> None:
        if unit.upper() not in choices:
            fix = f"Write one of {', '.join(choices)}."
            raise ConfigError(
                "EXPR.BAD_CONSTANT", function=function, value=unit, reason="there is no such unit", fix=fix
            )

    return check


def _date(days: pl.Expr) -> pl.Expr:
    """Days since 1970 as a date; they wrap around as integers do."""
    return days.cast(pl.Int32, wrap_numerical=True).cast(pl.Date)


def _add_months(year: pl.Expr, month: pl.Expr, day: pl.Expr, months: pl.Expr) -> pl.Expr:
    """Days since 1970; the last day of the month where it has fewer."""
    total = year.cast(pl.Int64) * 12 + (month.cast(pl.Int64) - 1) + months.cast(pl.Int64)
    new_year, new_month = total // 12, total % 12 + 1
    return days_from_civil(
        new_year, new_month, pl.min_horizontal(day.cast(pl.Int64), days_in_month(new_year, new_month).cast(pl.Int64))
    )


def _plus_months(a: pl.Expr, months: pl.Expr) -> pl.Expr:
    a = calendar_date(a)
    return _date(_add_months(a.dt.year(), a.dt.month(), a.dt.day(), months))


def _timestamp_plus(unit: str, count: pl.Expr, a: pl.Expr) -> pl.Expr:
    unit = unit.upper()
    if unit in _UNITS:
        return timestamp(a.to_physical() + count.cast(pl.Int64) * _UNITS[unit])
    a = calendar(a)
    days = _add_months(a.dt.year(), a.dt.month(), a.dt.day(), count.cast(pl.Int64) * _MONTHS[unit])
    return timestamp(days * DAY + a.to_physical() % DAY)


def _timestamp_between(unit: str, a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Whole units from one to the other, towards zero."""
    unit = unit.upper()
    if unit in _UNITS:
        return (b.to_physical() - a.to_physical()).truncdiv(_UNITS[unit])
    a, b = calendar(a), calendar(b)
    months = (b.dt.year().cast(pl.Int64) - a.dt.year()) * 12 + (b.dt.month().cast(pl.Int64) - a.dt.month())
    inside = (b.dt.day().cast(pl.Int64) * DAY + b.to_physical() % DAY) - (
        a.dt.day().cast(pl.Int64) * DAY + a.to_physical() % DAY
    )
    full = months - ((months > 0) & (inside < 0)).cast(pl.Int64) + ((months < 0) & (inside > 0)).cast(pl.Int64)
    return full.truncdiv(_MONTHS[unit])


def _months_between(a: pl.Expr, b: pl.Expr, rounded: bool) -> pl.Expr:
    """By months of 31 days, whole if the days are the same or both the last."""
    first, second = calendar(a), calendar(b)
    months = (first.dt.year() - second.dt.year()) * 12 + (
        first.dt.month().cast(pl.Int32) - second.dt.month().cast(pl.Int32)
    )
    last = (first.dt.day() == first.dt.month_end().dt.day()) & (second.dt.day() == second.dt.month_end().dt.day())
    seconds = [x.dt.day().cast(pl.Int64) * 86_400 + x.to_physical() % DAY // SECOND for x in (first, second)]
    part = quotient((seconds[0] - seconds[1]).cast(pl.Float64), pl.lit(31.0 * 86_400))
    exact = months.cast(pl.Float64) + part
    found = pl.when((first.dt.day() == second.dt.day()) | last).then(months.cast(pl.Float64)).otherwise(exact)
    if not rounded:
        return found
    scaled = found * 1e8
    nearest = (scaled.abs() + 0.5).floor() * scaled.sign()
    return quotient(nearest, pl.lit(1e8))


def _truncated(unit: str, a: pl.Expr) -> pl.Expr:
    return calendar(a).dt.truncate(_TRUNCATED[unit.upper()])


def _truncated_date(a: pl.Expr, unit: str) -> pl.Expr:
    return calendar_date(a).dt.truncate(_TRUNCATED[unit.upper()])


_FULL_DAYS = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"]
_DAYS = {name: index for index, full in enumerate(_FULL_DAYS) for name in (full, full[:3], full[:2])}


def _next_day(a: pl.Expr, name: str) -> pl.Expr:
    days = a.to_physical().cast(pl.Int64)
    return _date(days + 1 + (_DAYS[name.upper()] - 4 - days) % 7)


def _make_timestamp(
    year: pl.Expr, month: pl.Expr, day: pl.Expr, hour: pl.Expr, minute: pl.Expr, second: pl.Expr
) -> pl.Expr:
    """Sixty seconds are a minute more, if nothing follows them."""
    micros = (second * 1e6 + 0.5).floor().cast(pl.Int64, strict=False)
    full = micros == 60 * SECOND
    rest = pl.when(full).then(0).otherwise(micros)
    at = micros_of(days_from_civil(year, month, day), hour, minute, rest // SECOND, rest % SECOND)
    return timestamp(pl.when(year.is_between(1, 9999) & (rest >= 0)).then(at + full.cast(pl.Int64) * 60 * SECOND))


def _make_date(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    days = days_from_civil(year, month, day)
    return pl.when(days.is_between(-(2**31), 2**31 - 1)).then(days).cast(pl.Int32).cast(pl.Date)


def _moment_of_seconds(seconds: pl.Expr) -> pl.Expr:
    micros = seconds * 1e6
    return timestamp(pl.when(micros.is_finite()).then(whole(micros)))


def _bare(unit: str) -> str:
    """A constant as a word of SQL."""
    return unit.strip("'")


def _part(name: str) -> Callable[[pl.Expr], pl.Expr]:
    return lambda a: getattr(calendar_date(a).dt, name)()


EXTRACTED: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "YEAR": lambda a: a.dt.year(),
    "QUARTER": lambda a: a.dt.quarter(),
    "MONTH": lambda a: a.dt.month(),
    "WEEK": lambda a: a.dt.week(),
    "DAY": lambda a: a.dt.day(),
    "DAYOFWEEK": lambda a: a.dt.weekday().cast(pl.Int32) % 7 + 1,
    "DAYOFWEEK_ISO": lambda a: a.dt.weekday(),
    "DOY": lambda a: a.dt.ordinal_day(),
    "YEAROFWEEK": lambda a: a.dt.iso_year(),
    "HOUR": lambda a: a.dt.hour(),
    "MINUTE": lambda a: a.dt.minute(),
}

_DAY_EG = date(2024, 2, 29)
_MOMENT = datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=UTC)

TABLE = [
    define("year(moment date) int", "The year.", _part("year"), eg(_DAY_EG, gives=2024)),
    define("quarter(moment date) int", "The quarter of the year, from 1.", _part("quarter"), eg(_DAY_EG, gives=1)),
    define("month(moment date) int", "The month, from 1.", _part("month"), eg(_DAY_EG, gives=2)),
    define("weekofyear(moment date) int", "The week of the year by ISO 8601.", _part("week"), eg(_DAY_EG, gives=9)),
    define("day(moment date) int", "The day of the month.", _part("day"), eg(_DAY_EG, gives=29), aliases=("dayofmonth",)),
    define("dayofyear(moment date) int", "The day of the year, from 1.", _part("ordinal_day"), eg(_DAY_EG, gives=60)),
    define("dayofweek(moment date) int", "The day of the week, from 1 for Sunday.", lambda a: (a.to_physical().cast(pl.Int64) + 4) % 7 + 1,
           eg(_DAY_EG, gives=5)),
    define("weekday(moment date) int", "The day of the week, from 0 for Monday.", lambda a: (a.to_physical().cast(pl.Int64) + 3) % 7,
           eg(_DAY_EG, gives=3)),
    define("dayname(moment date) string", "The short English name of the day.", lambda a: calendar_date(a).dt.to_string("%a"), eg(_DAY_EG, gives="Thu")),
    define("monthname(moment date) string", "The short English name of the month.", lambda a: calendar_date(a).dt.to_string("%b"),
           eg(_DAY_EG, gives="Feb")),
    define("hour(moment timestamp) int", "The hour.", lambda a: a.to_physical() % DAY // (3600 * SECOND), eg(_MOMENT, gives=12)),
    define("minute(moment timestamp) int", "The minute.", lambda a: a.to_physical() % DAY // (60 * SECOND) % 60, eg(_MOMENT, gives=34)),
    define("second(moment timestamp) int", "The whole second.", lambda a: a.to_physical() % DAY // SECOND % 60, eg(_MOMENT, gives=56)),
    define("date_part(part const string, moment timestamp) int", "A part by its name, such as 'YEAR' or 'DOY'.",
           lambda part, a: EXTRACTED[part.upper()](calendar(a)), eg("week", _MOMENT, gives=9), check=_one_of("date_part", EXTRACTED),
           aliases=("datepart",)),
    define("last_day(moment date) date", "The last day of the month.", lambda a: calendar_date(a).dt.month_end(), eg(date(2024, 2, 3), gives=_DAY_EG)),
    define("next_day(moment date, day const string) date", "The first such day of the week after it.", _next_day,
           eg(_DAY_EG, "Mon", gives=date(2024, 3, 4)), check=_one_of("next_day", _DAYS)),
    define("date_add(moment date, days int) date", "So many days later.", lambda a, n: _date(a.to_physical().cast(pl.Int64) + n),
           eg(_DAY_EG, 1, gives=date(2024, 3, 1)), aliases=("dateadd",)),
    define("date_sub(moment date, days int) date", "So many days earlier.", lambda a, n: _date(a.to_physical().cast(pl.Int64) - n),
           eg(date(2024, 3, 1), 1, gives=_DAY_EG)),
    define("datediff(end date, start date) int", "The days from start to end.", lambda a, b: a.to_physical() - b.to_physical(),
           eg(date(2024, 3, 1), _DAY_EG, gives=1), aliases=("date_diff",)),
    define("add_months(moment date, months int) date", "So many months later; the last of the month where it has fewer days.", _plus_months,
           eg(date(2024, 1, 31), 1, gives=_DAY_EG)),
    define("months_between(end timestamp, start timestamp, rounded const boolean = True) double",
           "The months from start to end, by months of 31 days, to eight digits.", _months_between, eg(date(2024, 3, 31), _DAY_EG, gives=1.0),
           approximate=True),
    define("timestampadd(unit const string, count int, moment timestamp) timestamp", "So many units later.", _timestamp_plus,
           eg("HOUR", 1, _MOMENT, gives=datetime(2024, 2, 29, 13, 34, 56, 789000, tzinfo=UTC)),
           lambda unit, n, a: f"timestampadd({_bare(unit)}, {n}, {a})", check=_one_of("timestampadd", [*_UNITS, *_MONTHS])),
    define("timestampdiff(unit const string, start timestamp, end timestamp) bigint", "The whole units from start to end.", _timestamp_between,
           eg("DAY", _DAY_EG, _MOMENT, gives=0), lambda unit, a, b: f"timestampdiff({_bare(unit)}, {a}, {b})",
           check=_one_of("timestampdiff", [*_UNITS, *_MONTHS])),
    define("date_trunc(unit const string, moment timestamp) timestamp", "Down to the start of a unit.", _truncated,
           eg("HOUR", _MOMENT, gives=datetime(2024, 2, 29, 12, tzinfo=UTC)), check=_one_of("date_trunc", _TRUNCATED)),
    define("trunc(moment date, unit const string) date", "Down to the start of a year, quarter, month or week.", _truncated_date,
           eg(_DAY_EG, "MONTH", gives=date(2024, 2, 1)), check=_one_of("trunc", list(_TRUNCATED)[:8])),
    define("make_date(year int, month int, day int) date", "A date of its parts; null if there is none.", _make_date,
           eg(2024, 2, 29, gives=_DAY_EG)),
    define("make_timestamp(year int, month int, day int, hour int, minute int, second double) timestamp",
           "A timestamp of its parts; null if there is none.", _make_timestamp,
           eg(2024, 2, 29, 12, 34, 56.789, gives=_MOMENT), lambda *a: f"make_timestamp({', '.join(a[:5])}, CAST({a[5]} AS decimal(16, 6)))"),
    define("unix_date(moment date) int", "Days since 1970.", lambda a: a.to_physical(), eg(date(1970, 1, 2), gives=1)),
    define("date_from_unix_date(days int) date", "The date so many days after the start of 1970.", _date, eg(1, gives=date(1970, 1, 2))),
    define("unix_seconds(moment timestamp) bigint", "Whole seconds since 1970.", lambda a: a.to_physical() // SECOND, eg(_MOMENT, gives=1709210096)),
    define("unix_millis(moment timestamp) bigint", "Whole milliseconds since 1970.", lambda a: a.to_physical() // 1000, eg(_MOMENT, gives=1709210096789)),
    define("unix_micros(moment timestamp) bigint", "Microseconds since 1970.", lambda a: a.to_physical(),
           eg(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), gives=1_000_000)),
    define("timestamp_seconds(seconds number) timestamp", "The moment so many seconds after the start of 1970.",
           ByType(lambda kinds, result: _moment_of_seconds if kinds[0] in ("float", "double") else lambda a: timestamp(a.cast(pl.Int64) * SECOND)),
           eg(0.5, gives=datetime(1970, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC))),
    define("timestamp_millis(millis bigint) timestamp", "The moment so many milliseconds after the start of 1970.", lambda a: timestamp(a * 1000),
           eg(1500, gives=datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC))),
    define("timestamp_micros(micros bigint) timestamp", "The moment so many microseconds after the start of 1970.", timestamp,
           eg(1, gives=datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC))),
]  # fmt: skip
