"""Two equalities of event lists, and how they differ, for people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from waterclock.reference.events import Event
from waterclock.time import FOREVER

Payload = tuple[tuple[str, Any], ...]
SHOWN = 12


def bag_difference(found: Iterable[Event], expected: Iterable[Event]) -> str:
    """Empty when both hold the same events as often; otherwise what is missing and what is too much."""
    have = Counter((vs, ve, _payload(payload)) for vs, ve, payload in found)
    want = Counter((vs, ve, _payload(payload)) for vs, ve, payload in expected)
    lines = [f"missing {_show(*event)} x{n}" for event, n in _sorted(want - have)]
    lines += [f"unexpected {_show(*event)} x{n}" for event, n in _sorted(have - want)]
    return _cut(lines)


def logical_difference(found: Iterable[Event], expected: Iterable[Event]) -> str:
    """Empty when at every instant the same payloads are alive as often; otherwise where they are not."""
    changes: dict[Payload, Counter[int]] = {}
    for sign, events in ((1, found), (-1, expected)):
        for vs, ve, payload in events:
            at = changes.setdefault(_payload(payload), Counter())
            at[vs] += sign
            at[ve] -= sign
    lines: list[str] = []
    for alive, at in sorted(changes.items(), key=repr):
        surplus = 0
        for start, end in pairwise([*sorted(at), FOREVER]):
            surplus += at[start]
            if surplus and start < end:
                word = "unexpected" if surplus > 0 else "missing"
                lines.append(f"{word} {_show(start, end, alive)} x{abs(surplus)}")
    return _cut(lines)


def _payload(payload: dict[str, Any]) -> Payload:
    return tuple((name, _value(value)) for name, value in sorted(payload.items()))


def _value(value: Any) -> Any:
    """NaN as one value, zeros without sign, true apart from 1, and lists as tuples."""
    if isinstance(value, float):
        return ("NaN",) if math.isnan(value) else value + 0.0
    if isinstance(value, list):
        return tuple(_value(element) for element in value)
    return (value,) if isinstance(value, bool) else value


def _show(vs: int, ve: int, payload: Payload) -> str:
    fields = ", ".join(f"{name}={value[0] if isinstance(value, tuple) else repr(value)}" for name, value in payload)
    return f"[{vs}, {'∞' if ve == FOREVER else ve}) {fields}"


def _sorted(events: Counter[tuple[int, int, Payload]]) -> list[tuple[tuple[int, int, Payload], int]]:
    return sorted(events.items(), key=lambda item: (item[0][0], item[0][1], repr(item[0][2])))


def _cut(lines: list[str]) -> str:
    rest = [f"... and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return "\n".join(lines[:SHOWN] + rest)
