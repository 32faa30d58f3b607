"""Bags of events compared as the file means them: 5 equals 5.0, and floats are equal within a billionth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from waterclock.reference import Event
from waterclock.time import BEGINNING, FOREVER

SHOWN = 12


def difference(found: Sequence[Event], expected: Sequence[Event]) -> str:
    """Empty when the bags are equal; otherwise what was expected and not found, and the other way round."""
    rest = list(found)
    missing: list[Event] = []
    for event in expected:
        at = next((at for at, other in enumerate(rest) if _equal_events(event, other)), None)
        if at is None:
            missing.append(event)
        else:
            del rest[at]
    lines = [f"expected {show(event)}" for event in _sorted(missing)]
    lines += [f"actual   {show(event)}" for event in _sorted(rest)]
    more = [f"... and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return "\n".join(lines[:SHOWN] + more)


def _sorted(events: list[Event]) -> list[Event]:
    return sorted(events, key=lambda event: (event[0], event[1], repr(event[2])))


def _equal_events(one: Event, other: Event) -> bool:
    return (
        one[:2] == other[:2]
        and one[2].keys() == other[2].keys()
        and all(equal(v, other[2][n]) for n, v in one[2].items())
    )


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, int | float) and isinstance(other, int | float):
        if isinstance(one, int) and isinstance(other, int):
            return one == other
        return math.isclose(one, other, rel_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


def show(event: Event) -> str:
    vs, ve, payload = event
    return f"[{show_time(vs)}, {show_time(ve)}) {', '.join(f'{name}={value!r}' for name, value in payload.items())}"


def show_time(time: int) -> str:
    return "inf" if time == FOREVER else "-inf" if time == BEGINNING else str(time)


def show_times(times: Sequence[int]) -> str:
    return ", ".join(map(show_time, times)) or "none"
