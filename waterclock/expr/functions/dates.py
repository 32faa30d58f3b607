"""Dates and times."""

from __future__ import annotations

from datetime import UTC, datetime

from waterclock.expr.functions.base import define, eg

TABLE = [
    define("unix_micros(moment timestamp) bigint", "Microseconds since 1970.", lambda a: a.to_physical(),
           eg(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), gives=1_000_000)),
]  # fmt: skip
