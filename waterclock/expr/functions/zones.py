"""Time zones, by their names or as offsets such as ``+02:00``. Zones are constants."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import polars as pl

from waterclock.errors import ConfigError
from waterclock.expr.functions.base import define, eg
from waterclock.expr.functions.moments import SECOND, calendar, timestamp
from waterclock.schema import TYPES

_OFFSET = re.compile(r"([+-])([0-9]{1,2}):([0-9]{2})")


def _check(zone: str) -> None:
    if _OFFSET.fullmatch(zone):
        return
    try:
        pl.select(pl.lit(0).cast(TYPES["timestamp"]).dt.convert_time_zone(zone))
    except pl.exceptions.ComputeError:
        raise ConfigError(
            "EXPR.BAD_CONSTANT", function="A time zone", value=zone, reason="there is none of this name",
            fix="Write a name such as 'Europe/Oslo', or an offset such as '+02:00'.",
        ) from None  # fmt: skip


def _fixed(zone: str) -> int | None:
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return None
    seconds = int(found[2]) * 3600 + int(found[3]) * 60
    return (-seconds if found[1] == "-" else seconds) * SECOND


def _local(a: pl.Expr, zone: str) -> pl.Expr:
    """What the clocks of a zone show, as if it were UTC."""
    fixed = _fixed(zone)
    if fixed is not None:
        return timestamp(a.to_physical() + fixed)
    return calendar(a).dt.convert_time_zone(zone).dt.replace_time_zone("UTC")


def _utc(a: pl.Expr, zone: str) -> pl.Expr:
    """The earlier moment where clocks show a time twice; where they skip it, as if they had not been changed yet."""
    fixed = _fixed(zone)
    if fixed is not None:
        return timestamp(a.to_physical() - fixed)
    plain = calendar(a).dt.replace_time_zone(None)

    def moment(clock: pl.Expr) -> pl.Expr:
        return clock.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null").dt.convert_time_zone("UTC")

    found = moment(plain)
    for hours in (3, 26):  # before the gap; whole days were skipped too
        before = plain.dt.offset_by(f"-{hours}h")
        found = pl.coalesce(found, moment(before).dt.offset_by(f"{hours}h"))
    return found


TABLE = [
    define("from_utc_timestamp(moment timestamp, zone const string) timestamp", "What the clocks of a zone show then.", _local,
           eg(datetime(2024, 7, 1, 12, tzinfo=UTC), "Europe/Oslo", gives=datetime(2024, 7, 1, 14, tzinfo=UTC)), check=_check),
    define("to_utc_timestamp(clock timestamp, zone const string) timestamp", "When the clocks of a zone show it.", _utc,
           eg(datetime(2024, 7, 1, 14, tzinfo=UTC), "Europe/Oslo", gives=datetime(2024, 7, 1, 12, tzinfo=UTC)), check=_check),
]  # fmt: skip
