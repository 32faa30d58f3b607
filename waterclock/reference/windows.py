"""Windows of every kind, and what is taken over them: aggregates, distinct, top-k."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from waterclock.plan.aggregate import (
    Aggregation,
    CountAggregate,
    Distinct,
    SessionAggregate,
    SnapshotAggregate,
    TopK,
    WindowAggregate,
)
from waterclock.plan.window import Window
from waterclock.reference.aggregates import aggregate_of, ranked
from waterclock.reference.events import Event, Final, grouped, snapshots, stamped
from waterclock.reference.expressions import value_of
from waterclock.reference.sessions import sessions
from waterclock.time import BEGINNING, FOREVER


def _aggregated(node: Aggregation, key: dict[str, Any], events: list[Event]) -> dict[str, Any]:
    values = {name: aggregate_of(aggregate, events, node.input.schema) for name, aggregate in node.aggregates}
    return {**key, **values}


# -- fixed windows -----------------------------------------------------------------------------------------


def fixed(node: WindowAggregate, events: list[Event], cti: int, latest: int) -> Final:
    """Final when the window ends at or before the CTI."""
    results: list[Event] = []
    for key, members in grouped(events, node.keys):
        for start, end, inside in _windows(node.window, members, _last(node.window, events, cti, latest)):
            revision = {"revision": 0} if node.early else {}
            life = stamped(node.window.result, start, end, node.window.hop)
            assert life is not None
            results.append((*life, {**_aggregated(node, key, inside), **revision}))
    return results, output_cti(node.window, cti)


def _windows(window: Window, events: list[Event], last: int | None) -> Iterator[tuple[int, int, list[Event]]]:
    """The windows up to number ``last`` that some event overlaps, with those events."""
    for number in sorted({number for event in events for number in _numbers(window, event, last)}):
        start = window.offset + number * window.hop
        end = start + window.size
        yield start, end, [event for event in events if event[0] < end and event[1] > start]


def _last(window: Window, events: list[Event], cti: int, latest: int) -> int | None:
    """The number of the last window that is final; None when none is.

    At the end of the stream that is the last one that starts before the greatest finite time known.
    """
    if cti == BEGINNING:
        return None
    if cti < FOREVER:
        return (cti - window.offset - window.size) // window.hop
    top = max(latest, greatest(events))
    return None if top == BEGINNING else -((window.offset - top) // window.hop) - 1


def greatest(events: Sequence[Event]) -> int:
    """The greatest finite time of some events."""
    return max((time for vs, ve, _ in events for time in (vs + 1, ve) if time < FOREVER), default=BEGINNING)


def _numbers(window: Window, event: Event, last: int | None) -> Iterator[int]:
    """Of the windows that the event overlaps, up to ``last``."""
    if last is None:
        return
    vs, ve, _ = event
    number = (vs - window.offset - window.size) // window.hop + 1
    while number <= last and window.offset + number * window.hop < ve:
        yield number
        number += 1


def output_cti(window: Window, cti: int) -> int:
    if window.result != "window" or cti in (BEGINNING, FOREVER):
        return cti
    number = (cti - window.offset - window.size) // window.hop + 1  # the earliest window that ends behind the CTI
    return max(BEGINNING, window.offset + number * window.hop)


# -- snapshots ---------------------------------------------------------------------------------------------


def snapshot(node: SnapshotAggregate, events: list[Event], cti: int) -> Final:
    """Final when the snapshot ends at or before the CTI; an open one holds time back at its start."""
    results: list[Event] = []
    held: list[int] = []
    for key, members in grouped(events, node.keys):
        for start, end, alive in snapshots(members):
            if end > cti:
                held.append(start)
            elif (life := stamped(node.result, start, end)) is not None:
                results.append((*life, _aggregated(node, key, alive)))
    return results, min([cti, *held]) if node.result == "window" else cti


def distinct(node: Distinct, events: list[Event], cti: int) -> Final:
    results: list[Event] = []
    held: list[int] = []
    for payload, members in grouped(events, node.schema.names):
        for start, end, _ in snapshots(members):
            if end > cti:
                held.append(start)
            else:
                results.append((start, end, payload))
    return results, min([cti, *held])


def top_k(node: TopK, events: list[Event], cti: int, latest: int) -> Final:
    """Events without a value are not ranked, but their starts and ends do cut snapshots."""
    results: list[Event] = []
    held: list[int] = []
    for _, members in grouped(events, node.keys):
        if node.window is not None:
            for start, end, inside in _windows(node.window, members, _last(node.window, events, cti, latest)):
                life = stamped(node.window.result, start, end, node.window.hop)
                assert life is not None
                results += [(*life, payload) for payload in _ranked(node, inside)]
            continue
        for start, end, alive in snapshots(members):
            if end > cti:
                held.append(start)
            else:
                results += [(start, end, payload) for payload in _ranked(node, alive)]
    return results, min([cti, *held]) if node.window is None else output_cti(node.window, cti)


def _ranked(node: TopK, events: list[Event]) -> Iterator[dict[str, Any]]:
    schema = node.input.schema
    found = [(payload, value_of(node.by, payload, schema, (vs, ve))) for vs, ve, payload in events]
    values = [value for _, value in found if value is not None]
    for payload, value in found:
        if value is not None and (rank := ranked(value, values, node.descending)) <= node.k:
            yield {**payload, node.rank: rank} if node.rank else dict(payload)


# -- sessions and counts -----------------------------------------------------------------------------------


def session(node: SessionAggregate, events: list[Event], cti: int) -> Final:
    """Final when the session ends at or before the CTI; an open one holds time back at its start."""
    results: list[Event] = []
    held: list[int] = []
    for key, members in grouped(events, node.keys):
        for start, end, inside in sessions(members, node.timeout, node.maximum):
            if end > cti:
                held.append(start)
            elif (life := stamped(node.result, start, end)) is not None:
                results.append((*life, _aggregated(node, key, inside)))
    return results, min([cti, *held]) if node.result == "window" else cti


def count(node: CountAggregate, events: list[Event], cti: int) -> Final:
    """Final when the last start of the window is before the CTI: until then more events may start with it."""
    results: list[Event] = []
    held: list[int] = []
    for key, members in grouped(events, node.keys):
        starts = sorted({vs for vs, _, _ in members if vs < cti})
        for last in range(node.n - 1, len(starts)):
            start, end = starts[last - node.n + 1], starts[last] + 1
            inside = [event for event in members if event[0] < end and event[1] > start]
            life = stamped(node.result, start, end)
            assert life is not None
            results.append((*life, _aggregated(node, key, inside)))
        if node.n > 1:
            held += starts[-(node.n - 1) :][:1]  # where the next window starts
    return results, min([cti, *held]) if node.result == "window" and cti < FOREVER else cti
