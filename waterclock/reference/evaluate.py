"""What a plan means, from the definitions alone: lists of events in, the list of result events out.

Nothing here knows of epochs, panes, partitions or state; speed is no aim.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waterclock.plan.aggregate import (
    CountAggregate,
    Distinct,
    SessionAggregate,
    SnapshotAggregate,
    TopK,
    WindowAggregate,
)
from waterclock.plan.guarded import Attempt
from waterclock.plan.join import AsOf, Join
from waterclock.plan.lifetime import Lifetime
from waterclock.plan.nodes import Explode, Filter, Input, Node, Project, Union
from waterclock.plan.user import Apply, Elements, Track
from waterclock.reference import joins, lifetimes, user, windows
from waterclock.reference.compare import bag_difference
from waterclock.reference.events import Event, Final, Streams
from waterclock.reference.expressions import value_of
from waterclock.time import BEGINNING, FOREVER


def evaluate(node: Node, inputs: Streams, seen: Mapping[str, int] | None = None) -> list[Event]:
    """The complete answer, when every input has ended.

    ``seen`` is the last CTI of each input before its end: together with the greatest finite time of an operator's
    events it says how far the windows of open-ended events go.
    """
    return final(node, inputs, dict.fromkeys(streams_of(node), FOREVER), seen)[0]


def final(node: Node, inputs: Streams, ctis: Mapping[str, int], seen: Mapping[str, int] | None = None) -> Final:
    """What is final once the inputs' times are ``ctis``, and the time of the result then."""
    seen = seen or {}
    if isinstance(node, Input):
        return list(inputs.get(node.stream, ())), FOREVER if node.static else ctis.get(node.stream, BEGINNING)
    parts = [final(child, inputs, ctis, seen) for child in node.inputs]
    if isinstance(node, Union):
        return [event for events, _ in parts for event in events], min(cti for _, cti in parts)
    if isinstance(node, Join):
        return joins.join(node, *parts)
    if isinstance(node, AsOf):
        return joins.as_of(node, *parts)
    (events, cti), (child,) = parts[0], node.inputs
    latest = _latest(child, ctis, seen)
    if isinstance(node, Filter):
        return [e for e in events if value_of(node.predicate, e[2], child.schema, (e[0], e[1])) is True], cti
    if isinstance(node, Project):
        return [(event[0], event[1], _projected(node, event)) for event in events], cti
    if isinstance(node, Explode):
        return [new for event in events for new in _exploded(node, event)], cti
    if isinstance(node, Elements):
        return user.elements(node, events), cti
    if isinstance(node, Attempt):
        return user.attempt(node, events), cti
    if isinstance(node, Lifetime):
        return lifetimes.changed(node, events, cti, latest)
    if isinstance(node, SnapshotAggregate):
        return windows.snapshot(node, events, cti)
    if isinstance(node, Distinct):
        return windows.distinct(node, events, cti)
    if isinstance(node, SessionAggregate):
        return windows.session(node, events, cti)
    if isinstance(node, CountAggregate):
        return windows.count(node, events, cti)
    if isinstance(node, Track):
        return user.track(node, events, cti)
    if isinstance(node, Apply):
        return user.apply(node, events, cti)
    if isinstance(node, TopK):
        return windows.top_k(node, events, cti, latest)
    assert isinstance(node, WindowAggregate)
    return windows.fixed(node, events, cti, latest)


def fixpoint(name: str, root: Node, inputs: Streams, ctis: Mapping[str, int]) -> Final:
    """The same for a cycle: its result as one more input, again and again until nothing changes."""
    found: Final = ([], FOREVER)
    while True:
        before = found
        found = final(root, {**inputs, name: before[0]}, {**ctis, name: before[1]})
        if found[1] == before[1] and not bag_difference(found[0], before[0]):
            return found


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
    if isinstance(node, Lifetime):
        return lifetimes.cti_behind(node, latest)
    if isinstance(node, WindowAggregate | TopK) and node.window is not None:
        return max(latest, windows.output_cti(node.window, latest))
    return latest


def _projected(node: Project, event: Event) -> dict[str, Any]:
    vs, ve, payload = event
    return {name: value_of(expr, payload, node.input.schema, (vs, ve)) for name, expr in node.columns}


def _exploded(node: Explode, event: Event) -> list[Event]:
    vs, ve, payload = event
    elements = value_of(node.array, payload, node.input.schema, (vs, ve)) or []
    return [(vs, ve, {**payload, node.column: element}) for element in elements]
