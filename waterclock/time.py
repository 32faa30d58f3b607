"""Instants, lifetimes and durations: int64 microseconds UTC, half-open ``[vs, ve)``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from waterclock.errors import ConfigError

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

FOREVER = 2**63 - 1
"""The open end of a lifetime, and the CTI of a stream that has ended."""

BEGINNING = -(2**63)
"""The CTI of a stream about whose time nothing is known yet."""

Duration = int | str | timedelta
Instant = int | str | datetime

_UNITS = {
    "us": MICROSECOND, "µs": MICROSECOND, "microsecond": MICROSECOND, "microseconds": MICROSECOND,
    "ms": MILLISECOND, "millisecond": MILLISECOND, "milliseconds": MILLISECOND,
    "s": SECOND, "sec": SECOND, "secs": SECOND, "second": SECOND, "seconds": SECOND,
    "m": MINUTE, "min": MINUTE, "mins": MINUTE, "minute": MINUTE, "minutes": MINUTE,
    "h": HOUR, "hr": HOUR, "hour": HOUR, "hours": HOUR,
    "d": DAY, "day": DAY, "days": DAY,
    "w": WEEK, "week": WEEK, "weeks": WEEK,
}  # fmt: skip
_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-zA-Zµ]+)")


def micros(duration: Duration) -> int:
    """A duration as people write it, in microseconds.

    >>> micros("5s"), micros("1h 30m"), micros("2 minutes"), micros(7)
    (5000000, 5400000000, 120000000, 7)
    """
    if isinstance(duration, bool):
        raise ConfigError("TIME.BAD_DURATION", text=repr(duration))
    if isinstance(duration, int):
        return duration
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    if not isinstance(duration, str):
        raise ConfigError("TIME.BAD_DURATION", text=repr(duration))
    text = duration.strip()
    total, at = 0, 0
    while at < len(text):
        match = _PART.match(text, at)
        unit = _UNITS.get(match.group(2).lower()) if match else None
        if match is None or unit is None:
            raise ConfigError("TIME.BAD_DURATION", text=repr(duration))
        number = match.group(1)
        total += round(float(number) * unit) if "." in number else int(number) * unit
        at = match.end()
    if not text:
        raise ConfigError("TIME.BAD_DURATION", text=repr(duration))
    return total


def instant(value: Instant) -> int:
    """A point in time in microseconds since 1970 UTC; text is ISO 8601, without a zone it is UTC.

    >>> instant("1970-01-01T00:00:01Z"), instant(5)
    (1000000, 5)
    """
    if isinstance(value, bool):
        raise ConfigError("TIME.BAD_INSTANT", text=repr(value))
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ConfigError("TIME.BAD_INSTANT", text=repr(value)) from None
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def show_instant(time: int) -> str:
    """For people: ``2026-11-16 02:14:06.5``, ``∞``, ``-∞``."""
    if time >= FOREVER:
        return "∞"
    if time == BEGINNING:
        return "-∞"
    try:
        stamp = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time)
    except OverflowError:
        return f"{time}µs"
    text = stamp.strftime("%Y-%m-%d %H:%M:%S.%f")
    return text.rstrip("0").rstrip(".")


def show_duration(duration: int) -> str:
    """The shortest exact way to write a duration.

    >>> show_duration(5_000_000), show_duration(90 * 60_000_000), show_duration(1500)
    ('5s', '90m', '1500us')
    """
    if duration == FOREVER:
        return "∞"
    for name, unit in (("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", MILLISECOND)):
        if duration and duration % unit == 0:
            return f"{duration // unit}{name}"
    return f"{duration}us"


def spoken(duration: int) -> str:
    """In words, exactly.

    >>> spoken(600_000_000), spoken(1_000_000), spoken(1500)
    ('10 minutes', '1 second', '1500 microseconds')
    """
    units = {"day": DAY, "hour": HOUR, "minute": MINUTE, "second": SECOND, "millisecond": MILLISECOND, "microsecond": 1}
    name = next(name for name, unit in units.items() if duration % unit == 0 and (duration or unit == 1))
    number = duration // units[name]
    return f"{number} {name}{'' if number == 1 else 's'}"


def about(duration: int) -> str:
    """For people: the two largest units.

    >>> about(4_307_859_955_393), about(1_500_000)
    ('49d 20h', '1s 500ms')
    """
    parts: list[str] = []
    for name, unit in (("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", MILLISECOND), ("us", 1)):
        if duration >= unit:
            parts.append(f"{duration // unit}{name}")
            duration %= unit
    return " ".join(parts[:2]) or "0s"


def floor_to(time: int, period: int, offset: int = 0) -> int:
    """The greatest grid point ``offset + n * period`` that is not after ``time``."""
    return time - (time - offset) % period
