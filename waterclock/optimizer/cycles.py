"""Cycles: a vertex reads its own result one epoch later. Every trip must move time on, and trips must end.

The result is the least solution of R = seeds UNION body(R): what R is before a time follows from what it is before
an earlier one. ``advances`` is how much later, at least. It is a bound on time, not on events alone: an operator that
waits for the end of events holds time back as long as they live, and a trip must make up for that too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from waterclock.errors import ConfigError
from waterclock.optimizer.lives import Life, Lives, life_of
from waterclock.optimizer.share import reads_time
from waterclock.plan import (
    AlterLifetime,
    Apply,
    AsOf,
    CountAggregate,
    Distinct,
    Input,
    Join,
    Node,
    Quantize,
    SessionAggregate,
    SessionLifetime,
    Shift,
    SnapshotAggregate,
    Stitch,
    TopK,
    Track,
    Union,
    WindowAggregate,
    explain,
)
from waterclock.plan.rebuild import bottom_up, parts_of
from waterclock.time import show_duration


def closed(name: str, seeds: Node, body: Callable[[Node], Node]) -> Node:
    """The plan of a cycle, whose back edge has the properties of what it reads: its own result."""
    edge = Input(name, seeds.schema, seeds.points, seeds.open_ended, made_endless=seeds.endless, back=True)
    turned = body(edge)
    if turned.schema != seeds.schema:
        raise ConfigError("PLAN.CYCLE_COLUMNS", name=name, seeds=seeds.schema, body=turned.schema)
    if not is_cyclic(turned, name):
        raise ConfigError("PLAN.CYCLE_OPEN", name=name)
    while True:  # at most three times: each property changes once
        root = Union((seeds, turned))
        found = replace(edge, of_points=root.points, may_be_open=root.open_ended, made_endless=root.endless)
        if found.label == edge.label and found.endless == edge.endless:
            return root
        edge, turned = found, bottom_up(turned, lambda node, to=found: to if _is_back(node, name) else node)  # type: ignore[misc]


def check_cycle(name: str, root: Node, lives: Lives, allow_unbounded: bool = False) -> None:
    """Refuses a cycle whose time could stand still, or whose trips may never end."""
    known = {**lives, name: longest(name, root, lives)}
    around = [node for node in parts_of(root) if is_cyclic(node, name) and not isinstance(node, Input | Union)]
    unknown = next((node for node in around if advance(node, known) is None), None)
    if unknown is not None:
        raise ConfigError("PLAN.CYCLE_TIME_UNKNOWN", name=name, what=f"“{unknown.label}”", place=explain(root))
    trip = advances(root, known)[name]
    assert trip is not None
    if trip < 1:
        back = min(around, key=lambda node: advance(node, known) or 0, default=root)
        lost = -(advance(back, known) or 0) if back is not root else 0
        why = f"“{back.label}” may hold it back by {show_duration(lost)}" if lost else "nothing in its body moves it on"
        fix = show_duration(1_000_000 if not lost else 1 - trip)
        raise ConfigError("PLAN.CYCLE_STANDS_STILL", name=name, why=why, fix=fix, place=explain(root))
    if not allow_unbounded and not _ends(root, name):
        raise ConfigError("PLAN.CYCLE_ENDLESS", name=name, place=explain(root))


def check_behind_cycles(root: Node) -> None:
    """How far windows of open-ended events go depends on how time went, and in a cycle that depends on the epochs."""
    for node in parts_of(root):
        if reads_time(node) and any(child.cyclic for child in node.inputs):
            raise ConfigError("PLAN.CYCLE_OPEN_EVENTS", what=f"“{node.label}”", place=explain(node))


def is_cyclic(node: Node, name: str) -> bool:
    """Whether it depends on the back edge of this cycle."""
    return any(_is_back(part, name) for part in parts_of(node))


def cycles(roots: Mapping[str, Node]) -> list[str]:
    """The outputs that are cycles."""
    return [name for name, root in roots.items() if is_cyclic(root, name)]


def longest(name: str, root: Node, lives: Lives) -> Life:
    """How long the events of an output live; those of a cycle after any number of trips."""
    life = life_of(root, {**lives, name: Life(1)})
    if not is_cyclic(root, name):
        return life
    again = life_of(root, {**lives, name: life})
    return life if again.rank <= life.rank else Life(None, f"the trips around {name} make them")


def advances(root: Node, lives: Lives) -> dict[str, int | None]:
    """By stream, how far behind its time the result's time is at least (negative: before); None: nobody knows."""
    found: dict[str, dict[str, int | None]] = {}
    for node in parts_of(root):
        below: dict[str, int | None] = {}
        by = advance(node, lives)
        for child in node.inputs:
            for stream, known in found[child.identity].items():
                through = None if known is None or by is None else known + by
                other = below.get(stream, through)
                below[stream] = None if through is None or other is None else min(through, other)
        found[node.identity] = {node.stream: 0} if isinstance(node, Input) else below
    return found[root.identity]


def advance(node: Node, lives: Lives) -> int | None:
    """How far the time of a node's result is at least behind the least of its inputs; None: nobody knows."""
    if isinstance(node, Shift):
        return node.by
    if isinstance(node, Quantize):
        return 1 - node.step
    if isinstance(node, WindowAggregate) and node.early:
        return None  # what is given early depends on when events come
    if isinstance(node, WindowAggregate | TopK) and node.window is not None:
        return 1 - node.window.size if node.window.result == "window" else 0
    if isinstance(node, Distinct | TopK) or (isinstance(node, SnapshotAggregate) and node.result == "window"):
        return _held(life_of(node.inputs[0], lives))
    if isinstance(node, Join):
        return _joined(node, lives)
    if isinstance(node, SessionAggregate | SessionLifetime):
        if isinstance(node, SessionAggregate) and node.result != "window":
            return 0
        return None if node.maximum is None else -(2 * node.maximum + node.timeout)
    if isinstance(node, CountAggregate):
        return None if node.result == "window" and node.n > 1 else 0
    return None if isinstance(node, AlterLifetime | Stitch | Track | Apply) or reads_time(node) else 0


def _joined(node: Join, lives: Lives) -> int | None:
    if node.kind == "inner":
        return 0
    sides = node.inputs if node.kind == "full" else (node.left,)
    held = [_held(life_of(side, lives)) for side in sides]
    return None if None in held else min(by for by in held if by is not None)


def _held(life: Life) -> int | None:
    """What is alive is waited for."""
    return None if life.longest is None or life.endless else 1 - life.longest


def _ends(node: Node, name: str) -> bool:
    """Whether every way from the back edge passes a join with events that end and do not depend on the cycle."""
    if isinstance(node, Input):
        return not _is_back(node, name)
    if isinstance(node, Join | AsOf):
        sides = {True: node.right, False: node.left}
        for of_left, other in sides.items():
            if is_cyclic(node.left if of_left else node.right, name) and not is_cyclic(other, name):
                return _bounds(node, other, of_left) or all(_ends(child, name) for child in node.inputs)
    return all(_ends(child, name) for child in node.inputs)


def _bounds(node: Join | AsOf, other: Node, of_left: bool) -> bool:
    """Whether results exist only where the other side has events."""
    if isinstance(node, AsOf):
        return not of_left or (node.kind == "inner" and node.tolerance is not None)
    return not other.open_ended and (node.kind in ("inner", "semi") if of_left else node.kind != "full")


def _is_back(node: Node, name: str) -> bool:
    return isinstance(node, Input) and node.back and node.stream == name
