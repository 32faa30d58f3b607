"""What the definitions are written with: events, groups, the grid, and the lifetime of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from waterclock.reference.expressions import order
from waterclock.time import FOREVER

Event = tuple[int, int, dict[str, Any]]
"""Start, end, payload."""
Streams = Mapping[str, Sequence[Event]]
Final = tuple[list[Event], int]
"""The final part of a result, and its time."""


def grouped(events: Sequence[Event], keys: Sequence[str]) -> list[tuple[dict[str, Any], list[Event]]]:
    """The events of each key, with the key's columns. Nulls form a group."""
    groups: dict[tuple[Any, ...], tuple[dict[str, Any], list[Event]]] = {}
    for event in events:
        values = {key: event[2][key] for key in keys}
        groups.setdefault(tuple(order(value) for value in values.values()), (values, []))[1].append(event)
    return list(groups.values())


def snapshots(events: Sequence[Event]) -> list[tuple[int, int, list[Event]]]:
    """Every stretch between neighbouring starts and ends, with the events alive in it, unless there are none."""
    borders = sorted({time for vs, ve, _ in events for time in (vs, ve)})
    found = [(a, b, [event for event in events if event[0] <= a and event[1] >= b]) for a, b in pairwise(borders)]
    return [(a, b, alive) for a, b, alive in found if alive]


def stamped(result: str, start: int, end: int, hold: int | None = None) -> tuple[int, int] | None:
    """The lifetime of the result of a window; None where a result at the end of what never ends has none."""
    if result == "window":
        return start, end
    if end == FOREVER:
        return None
    return (end, end + 1) if result == "point_end" else (end, end + (end - start if hold is None else hold))


def floor(time: int, step: int, offset: int) -> int:
    return time - (time - offset) % step


def ceiling(time: int, step: int, offset: int) -> int:
    return time + (offset - time) % step
