"""What a plan means, from the definitions alone: lists of events in, the list of result events out.

Nothing here knows of epochs, panes, partitions or state; speed is no aim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from waterclock.plan.nodes import Aggregate, Filter, Input, Node, Project, Union, WindowAggregate
from waterclock.plan.window import Window
from waterclock.reference.expressions import order, value_of
from waterclock.schema import Schema
from waterclock.time import BEGINNING, FOREVER

Event = tuple[int, int, dict[str, Any]]
"""Start, end, payload."""
Streams = Mapping[str, Sequence[Event]]


def evaluate(node: Node, inputs: Streams, seen: Mapping[str, int] | None = None) -> list[Event]:
    """The complete answer, when every input has ended.

    ``seen`` is the last CTI of each input before its end: together with the greatest finite time of an operator's
    events it says how far the windows of open-ended events go.
    """
    return final(node, inputs, dict.fromkeys(streams_of(node), FOREVER), seen)[0]


def final(
    node: Node, inputs: Streams, ctis: Mapping[str, int], seen: Mapping[str, int] | None = None
) -> tuple[list[Event], int]:
    """What is final once the inputs' times are ``ctis``, and the time of the result then."""
    seen = seen or {}
    if isinstance(node, Input):
        return list(inputs.get(node.stream, ())), ctis.get(node.stream, BEGINNING)
    if isinstance(node, Union):
        parts = [final(branch, inputs, ctis, seen) for branch in node.branches]
        return [event for events, _ in parts for event in events], min(cti for _, cti in parts)
    (child,) = node.inputs
    events, cti = final(child, inputs, ctis, seen)
    if isinstance(node, Filter):
        return [event for event in events if value_of(node.predicate, event[2], child.schema) is True], cti
    if isinstance(node, Project):
        return [(vs, ve, _projected(node, payload)) for vs, ve, payload in events], cti
    assert isinstance(node, WindowAggregate)
    return _windows(node, events, cti, _latest(child, ctis, seen)), _output_cti(node.window, cti)


def streams_of(node: Node) -> set[str]:
    """The input streams below a node."""
    if isinstance(node, Input):
        return {node.stream}
    return set().union(*(streams_of(child) for child in node.inputs))


def _latest(node: Node, ctis: Mapping[str, int], seen: Mapping[str, int]) -> int:
    """The greatest finite time that the result of a node can have been given before its inputs end."""
    if isinstance(node, Input):
        cti = ctis.get(node.stream, BEGINNING)
        return max(BEGINNING if cti == FOREVER else cti, seen.get(node.stream, BEGINNING))
    latest = max(_latest(child, ctis, seen) for child in node.inputs)
    return max(latest, _output_cti(node.window, latest)) if isinstance(node, WindowAggregate) else latest


def _projected(node: Project, payload: dict[str, Any]) -> dict[str, Any]:
    return {name: value_of(expr, payload, node.input.schema) for name, expr in node.columns}


# -- windows -----------------------------------------------------------------------------------------------


def _windows(node: WindowAggregate, events: list[Event], cti: int, latest: int) -> list[Event]:
    window = node.window
    groups: dict[tuple[Any, ...], tuple[list[Any], list[Event]]] = {}
    for event in events:
        values = [event[2][key] for key in node.keys]
        groups.setdefault(tuple(order(value) for value in values), (values, []))[1].append(event)
    last = _last(window, events, cti, latest)
    results: list[Event] = []
    for values, members in groups.values():
        numbers = {number for event in members for number in _numbers(window, event, last)}
        for number in sorted(numbers):
            start = window.offset + number * window.hop
            end = start + window.size
            inside = [payload for vs, ve, payload in members if vs < end and ve > start]
            payload = dict(zip(node.keys, values, strict=True))
            for name, aggregate in node.aggregates:
                payload[name] = _aggregate(aggregate, inside, node.input.schema)
            results.append((*_lifetime(window, start, end), payload))
    return results


def _last(window: Window, events: list[Event], cti: int, latest: int) -> int | None:
    """The number of the last window that is final; None when none is.

    At the end of the stream that is the last one that starts before the greatest finite time known.
    """
    if cti == BEGINNING:
        return None
    if cti < FOREVER:
        return (cti - window.offset - window.size) // window.hop
    times = [time for vs, ve, _ in events for time in (vs + 1, ve) if time < FOREVER]
    top = max([latest, *times])
    return None if top == BEGINNING else -((window.offset - top) // window.hop) - 1


def _numbers(window: Window, event: Event, last: int | None) -> Iterator[int]:
    """Of the windows that the event overlaps, up to ``last``."""
    if last is None:
        return
    vs, ve, _ = event
    number = (vs - window.offset - window.size) // window.hop + 1
    while number <= last and window.offset + number * window.hop < ve:
        yield number
        number += 1


def _lifetime(window: Window, start: int, end: int) -> tuple[int, int]:
    if window.result == "window":
        return start, end
    return (end, end + 1) if window.result == "point_end" else (end, end + window.hop)


def _output_cti(window: Window, cti: int) -> int:
    if window.result != "window" or cti in (BEGINNING, FOREVER):
        return cti
    number = (cti - window.offset - window.size) // window.hop + 1  # the earliest window that ends behind the CTI
    return max(BEGINNING, window.offset + number * window.hop)


def _aggregate(aggregate: Aggregate, payloads: list[dict[str, Any]], schema: Schema) -> Any:
    if aggregate.arg is None:
        return len(payloads)
    values = [value for payload in payloads if (value := value_of(aggregate.arg, payload, schema)) is not None]
    if aggregate.function == "count":
        return len(values)
    if not values:
        return None
    if aggregate.function == "sum":
        return sum(values)
    if aggregate.function == "avg":
        return sum(values) / len(values)
    return min(values, key=order) if aggregate.function == "min" else max(values, key=order)
