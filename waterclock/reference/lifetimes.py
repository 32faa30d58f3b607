"""Changed lifetimes. A result that would end at or before its start is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from waterclock.expr.nodes import Expr
from waterclock.plan.lifetime import (
    AlterLifetime,
    Chop,
    ClipDuration,
    Extend,
    HopLifetime,
    Lifetime,
    PointAtEnd,
    Quantize,
    SessionLifetime,
    SetDuration,
    Shift,
    Stitch,
)
from waterclock.reference.events import Event, Final, ceiling, floor, grouped
from waterclock.reference.expressions import value_of
from waterclock.reference.sessions import sessions
from waterclock.reference.windows import greatest
from waterclock.time import BEGINNING, FOREVER


def changed(node: Lifetime, events: list[Event], cti: int, latest: int) -> Final:
    if isinstance(node, Stitch):
        return _stitch(node, events, cti)
    if isinstance(node, SessionLifetime):
        return _session(node, events, cti)
    if isinstance(node, Chop):
        return _chop(node, events, cti, max(latest, greatest(events))), cti
    lives = [(*_life(node, event), event[2]) for event in events]
    return [event for event in lives if event[0] < event[1]], cti_behind(node, cti)


def cti_behind(node: Lifetime, cti: int) -> int:
    """The time of the result, as far as it is a function of the input's time."""
    if cti in (BEGINNING, FOREVER):
        return cti
    if isinstance(node, Shift):
        return cti + node.by
    if isinstance(node, Quantize):
        return floor(cti, node.step, node.offset)
    if isinstance(node, HopLifetime):
        return ceiling(cti, node.hop, node.offset)
    if isinstance(node, AlterLifetime):
        return int(value_of(node.start, {}, node.schema, (cti, cti + 1)))
    return cti


def _life(node: Lifetime, event: Event) -> tuple[int, int]:
    vs, ve, payload = event
    if isinstance(node, Shift):
        return vs + node.by, _later(ve, node.by)
    if isinstance(node, SetDuration):
        return vs, _until(vs, _duration(node.duration, node, event))
    if isinstance(node, AlterLifetime):
        start = int(value_of(node.start, payload, node.input.schema, (vs, ve)))
        return start, _until(start, _duration(node.duration, node, event))
    if isinstance(node, Extend):
        return vs, _later(ve, node.by)
    if isinstance(node, ClipDuration):
        return vs, min(ve, vs + node.limit)
    if isinstance(node, PointAtEnd):
        return ve, _later(ve, 1)  # nothing for an open end
    if isinstance(node, Quantize):
        start = floor(vs, node.step, node.offset)
        if ve == FOREVER:
            return start, FOREVER
        return start, floor(max(ve + node.hop - 1, vs + node.width), node.hop, node.offset + node.width)
    assert isinstance(node, HopLifetime)
    start = ceiling(vs, node.hop, node.offset)
    if node.width % node.hop == 0:
        return start, start + node.width
    return start, ceiling(vs + node.width, node.hop, node.offset)


def _later(ve: int, by: int) -> int:
    return FOREVER if ve == FOREVER else ve + by


def _duration(duration: int | Expr, node: Lifetime, event: Event) -> int | None:
    if isinstance(duration, int):
        return duration
    found: int | None = value_of(duration, event[2], node.schema, (event[0], event[1]))
    return found


def _until(start: int, duration: int | None) -> int:
    if duration is None or duration == FOREVER:
        return FOREVER
    return min(start + duration, FOREVER)


def _session(node: SessionLifetime, events: list[Event], cti: int) -> Final:
    results: list[Event] = []
    held: list[int] = []
    for _, members in grouped(events, node.keys):
        for start, end, inside in sessions(members, node.timeout, node.maximum):
            if end > cti:
                held.append(start)
            else:
                results += [(vs, end, payload) for vs, _, payload in inside]
    return results, min([cti, *held])


def _chop(node: Chop, events: list[Event], cti: int, top: int) -> list[Event]:
    """What ends is cut at once; of what never ends the pieces that start at or before the CTI.

    When the stream ends those are the pieces that start at or before the greatest finite time known, and one more
    for the rest.
    """
    results: list[Event] = []
    for vs, ve, payload in events:
        if ve < FOREVER:
            results += [(a, b, payload) for a, b in _pieces(node, vs, ve)]
        elif cti < FOREVER:
            results += [(a, b, payload) for a, b in _pieces(node, vs, cti + node.period) if a <= cti]
        else:
            rest = floor(top, node.period, node.offset) + node.period
            results += [(a, b, payload) for a, b in [*_pieces(node, vs, rest), (rest, FOREVER)]]
    return results


def _pieces(node: Chop, vs: int, ve: int) -> Iterator[tuple[int, int]]:
    while vs < ve:
        border = floor(vs, node.period, node.offset) + node.period
        yield vs, min(border, ve)
        vs = border


def _stitch(node: Stitch, events: list[Event], cti: int) -> Final:
    """Final when a chain ends before the CTI, strictly: something may start at its end until then.

    Of several chains that end together the one that started first goes on first, and with the shortest event.
    """
    results: list[Event] = []
    held: list[int] = []
    for payload, members in grouped(events, node.schema.names):
        chains: list[list[Any]] = []
        for vs, ve, _ in sorted(members, key=lambda event: event[:2]):
            ending = [chain for chain in chains if chain[1] == vs]
            if ending:
                min(ending, key=lambda chain: chain[0])[1] = ve
            else:
                chains.append([vs, ve])
        for start, end in chains:
            if end < cti or cti == FOREVER:
                results.append((start, end, payload))
            else:
                held.append(start)
    return results, min([cti, *held])
