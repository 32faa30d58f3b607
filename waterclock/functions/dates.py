"""Parts of dates and times, and arithmetic with them. Everything is in UTC, but where a zone is named.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def year(moment: object) -> Expr:
    """The year.

    Example: ``year(DATE'2024-02-29') = 2024``
    """
    return call("year", moment)


def quarter(moment: object) -> Expr:
    """The quarter of the year, from 1.

    Example: ``quarter(DATE'2024-02-29') = 1``
    """
    return call("quarter", moment)


def month(moment: object) -> Expr:
    """The month, from 1.

    Example: ``month(DATE'2024-02-29') = 2``
    """
    return call("month", moment)


def weekofyear(moment: object) -> Expr:
    """The week of the year by ISO 8601.

    Example: ``weekofyear(DATE'2024-02-29') = 9``
    """
    return call("weekofyear", moment)


def day(moment: object) -> Expr:
    """The day of the month.

    Example: ``day(DATE'2024-02-29') = 29``
    """
    return call("day", moment)


def dayofyear(moment: object) -> Expr:
    """The day of the year, from 1.

    Example: ``dayofyear(DATE'2024-02-29') = 60``
    """
    return call("dayofyear", moment)


def dayofweek(moment: object) -> Expr:
    """The day of the week, from 1 for Sunday.

    Example: ``dayofweek(DATE'2024-02-29') = 5``
    """
    return call("dayofweek", moment)


def weekday(moment: object) -> Expr:
    """The day of the week, from 0 for Monday.

    Example: ``weekday(DATE'2024-02-29') = 3``
    """
    return call("weekday", moment)


def dayname(moment: object) -> Expr:
    """The short English name of the day.

    Example: ``dayname(DATE'2024-02-29') = 'Thu'``
    """
    return call("dayname", moment)


def monthname(moment: object) -> Expr:
    """The short English name of the month.

    Example: ``monthname(DATE'2024-02-29') = 'Feb'``
    """
    return call("monthname", moment)


def hour(moment: object) -> Expr:
    """The hour.

    Example: ``hour(TIMESTAMP'2024-02-29 12:34:56.789') = 12``
    """
    return call("hour", moment)


def minute(moment: object) -> Expr:
    """The minute.

    Example: ``minute(TIMESTAMP'2024-02-29 12:34:56.789') = 34``
    """
    return call("minute", moment)


def second(moment: object) -> Expr:
    """The whole second.

    Example: ``second(TIMESTAMP'2024-02-29 12:34:56.789') = 56``
    """
    return call("second", moment)


def date_part(part: str, moment: object) -> Expr:
    """A part by its name, such as 'YEAR' or 'DOY'.

    Example: ``date_part('week', TIMESTAMP'2024-02-29 12:34:56.789') = 9``
    """
    return call("date_part", part, moment)


def last_day(moment: object) -> Expr:
    """The last day of the month.

    Example: ``last_day(DATE'2024-02-03') = DATE'2024-02-29'``
    """
    return call("last_day", moment)


def next_day(moment: object, day: str) -> Expr:
    """The first such day of the week after it.

    Example: ``next_day(DATE'2024-02-29', 'Mon') = DATE'2024-03-04'``
    """
    return call("next_day", moment, day)


def date_add(moment: object, days: object) -> Expr:
    """So many days later.

    Example: ``date_add(DATE'2024-02-29', 1) = DATE'2024-03-01'``
    """
    return call("date_add", moment, days)


def date_sub(moment: object, days: object) -> Expr:
    """So many days earlier.

    Example: ``date_sub(DATE'2024-03-01', 1) = DATE'2024-02-29'``
    """
    return call("date_sub", moment, days)


def datediff(end: object, start: object) -> Expr:
    """The days from start to end.

    Example: ``datediff(DATE'2024-03-01', DATE'2024-02-29') = 1``
    """
    return call("datediff", end, start)


def add_months(moment: object, months: object) -> Expr:
    """So many months later; the last of the month where it has fewer days.

    Example: ``add_months(DATE'2024-01-31', 1) = DATE'2024-02-29'``
    """
    return call("add_months", moment, months)


def months_between(end: object, start: object, rounded: bool = True) -> Expr:
    """The months from start to end, by months of 31 days, to eight digits.

    Example: ``months_between(DATE'2024-03-31', DATE'2024-02-29') = 1.0``
    """
    return call("months_between", end, start, rounded)


def timestampadd(unit: str, count: object, moment: object) -> Expr:
    """So many units later.

    Example: ``timestampadd('HOUR', 1, TIMESTAMP'2024-02-29 12:34:56.789') = TIMESTAMP'2024-02-29 13:34:56.789'``
    """
    return call("timestampadd", unit, count, moment)


def timestampdiff(unit: str, start: object, end: object) -> Expr:
    """The whole units from start to end.

    Example: ``timestampdiff('DAY', DATE'2024-02-29', TIMESTAMP'2024-02-29 12:34:56.789') = 0``
    """
    return call("timestampdiff", unit, start, end)


def date_trunc(unit: str, moment: object) -> Expr:
    """Down to the start of a unit.

    Example: ``date_trunc('HOUR', TIMESTAMP'2024-02-29 12:34:56.789') = TIMESTAMP'2024-02-29 12:00:00'``
    """
    return call("date_trunc", unit, moment)


def trunc(moment: object, unit: str) -> Expr:
    """Down to the start of a year, quarter, month or week.

    Example: ``trunc(DATE'2024-02-29', 'MONTH') = DATE'2024-02-01'``
    """
    return call("trunc", moment, unit)


def make_date(year: object, month: object, day: object) -> Expr:
    """A date of its parts; null if there is none.

    Example: ``make_date(2024, 2, 29) = DATE'2024-02-29'``
    """
    return call("make_date", year, month, day)


def make_timestamp(year: object, month: object, day: object, hour: object, minute: object, second: object) -> Expr:
    """A timestamp of its parts; null if there is none.

    Example: ``make_timestamp(2024, 2, 29, 12, 34, 56.789) = TIMESTAMP'2024-02-29 12:34:56.789'``
    """
    return call("make_timestamp", year, month, day, hour, minute, second)


def unix_date(moment: object) -> Expr:
    """Days since 1970.

    Example: ``unix_date(DATE'1970-01-02') = 1``
    """
    return call("unix_date", moment)


def date_from_unix_date(days: object) -> Expr:
    """The date so many days after the start of 1970.

    Example: ``date_from_unix_date(1) = DATE'1970-01-02'``
    """
    return call("date_from_unix_date", days)


def unix_seconds(moment: object) -> Expr:
    """Whole seconds since 1970.

    Example: ``unix_seconds(TIMESTAMP'2024-02-29 12:34:56.789') = 1709210096``
    """
    return call("unix_seconds", moment)


def unix_millis(moment: object) -> Expr:
    """Whole milliseconds since 1970.

    Example: ``unix_millis(TIMESTAMP'2024-02-29 12:34:56.789') = 1709210096789``
    """
    return call("unix_millis", moment)


def unix_micros(moment: object) -> Expr:
    """Microseconds since 1970.

    Example: ``unix_micros(TIMESTAMP'1970-01-01 00:00:01') = 1000000``
    """
    return call("unix_micros", moment)


def timestamp_seconds(seconds: object) -> Expr:
    """The moment so many seconds after the start of 1970.

    Example: ``timestamp_seconds(0.5) = TIMESTAMP'1970-01-01 00:00:00.5'``
    """
    return call("timestamp_seconds", seconds)


def timestamp_millis(millis: object) -> Expr:
    """The moment so many milliseconds after the start of 1970.

    Example: ``timestamp_millis(1500) = TIMESTAMP'1970-01-01 00:00:01.5'``
    """
    return call("timestamp_millis", millis)


def timestamp_micros(micros: object) -> Expr:
    """The moment so many microseconds after the start of 1970.

    Example: ``timestamp_micros(1) = TIMESTAMP'1970-01-01 00:00:00.000001'``
    """
    return call("timestamp_micros", micros)


dayofmonth = day
datepart = date_part
dateadd = date_add
date_diff = datediff
