"""Durations as people write them in SQL: ``5s``, ``1h 30m``, ``2 MINUTES``, ``INTERVAL '5' SECOND``."""

from __future__ import annotations

from waterclock.errors import ConfigError
from waterclock.time import FOREVER, micros

UNITS = frozenset(
    "us µs microsecond microseconds ms millisecond milliseconds s sec secs second seconds m min mins minute minutes "
    "h hr hour hours d day days w week weeks".split()
)
CALENDAR = ("month", "quarter", "year")
"""Units whose length depends on where they start."""


def written(text: str) -> int:
    """Microseconds; raises where the text is no duration or is longer than time itself."""
    found = micros(text)
    if not -FOREVER < found < FOREVER:
        raise ConfigError("TIME.BAD_DURATION", text=repr(text))
    return found
