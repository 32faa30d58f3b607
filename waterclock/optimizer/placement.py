"""Which rows lie in the right task already, so that a node behind them needs no exchange.

A task owns a range of the hash space, and a stateful node puts every row into the task that owns the hash of its key.
A node can run where its input was made if both hash the same columns in the same order, only passed on or renamed in
between. Three more things must hold, because a task sees no other one:

    time    the time behind the origin is the same in every task: it must not depend on the rows a task has
    bounds  how far open-ended events go when streams end is decided by the rows of all tasks
    nulls   outer joins scatter rows with a null key, so they must not get any from an origin that keeps them together
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from waterclock.expr.nodes import Column
from waterclock.plan.aggregate import (
    Aggregation,
    CountAggregate,
    Distinct,
    SessionAggregate,
    SnapshotAggregate,
    TopK,
    WindowAggregate,
)
from waterclock.plan.guarded import Attempt
from waterclock.plan.join import AsOf, Join
from waterclock.plan.lifetime import Chop, Lifetime, SessionLifetime, Stitch
from waterclock.plan.nodes import Explode, Filter, Node, Project
from waterclock.plan.user import Apply, Track

Keyed = Aggregation | TopK | SessionLifetime | Track | Apply
"""Hash the columns ``keys``, nulls like any value."""


@dataclass(frozen=True)
class Placement:
    """Every row lies in the task that owns the hash of these columns, in this order."""

    columns: tuple[frozenset[str], ...]
    """The names of each: none if it was dropped, several if there are copies."""
    nulls: bool
    """Some of them may be null."""


@dataclass(frozen=True)
class Need:
    """A node has its rows where the hash of these columns says."""

    keys: tuple[str, ...]
    nulls: str = "hashed"
    """What it does with rows that have a null key: hashed like others, dropped, or scattered."""


def stays(origin: Node, operators: Iterable[Node], target: Node, port: int) -> bool:
    """Whether rows of a stateful node, behind stateless operators, are in the task where the target needs them."""
    need, placement = _need(target, port), _placement(origin)
    for operator in operators:
        placement = None if placement is None else _behind(operator, placement)
    if need is None or placement is None or len(need.keys) != len(placement.columns):
        return False
    if placement.nulls and need.nulls == "scattered":
        return False
    return all(key in names for key, names in zip(need.keys, placement.columns, strict=True))


def _placement(node: Node) -> Placement | None:
    """Of what a stateful node gives; None where its time is not the same in every task."""
    if isinstance(node, Join):
        # Without keys the left side is scattered. The time behind the other kinds depends on what is not covered yet.
        return _paired(node) if node.kind == "inner" and node.left_keys else None
    if isinstance(node, AsOf):
        return _paired(node) if node.kind == "inner" else _hashed(node.left_keys)
    if isinstance(node, Chop):
        return _hashed(node.schema.names)
    if isinstance(node, Keyed) and _keeps_time(node):
        return _hashed(node.keys)
    return None


def _keeps_time(node: Keyed) -> bool:
    """Its time follows from that of its input alone. Otherwise results that are still open hold it back."""
    if isinstance(node, WindowAggregate | Apply):
        return True
    if isinstance(node, TopK):
        return node.window is not None
    if isinstance(node, CountAggregate):
        return node.result != "window" or node.n == 1
    if isinstance(node, SnapshotAggregate | SessionAggregate):
        return node.result != "window"
    return isinstance(node, Track) and node.result == "point"


def _hashed(keys: Iterable[str]) -> Placement:
    columns = tuple(frozenset([key]) for key in keys)
    return Placement(columns, nulls=bool(columns))


def _paired(node: Join | AsOf) -> Placement:
    """Rows that matched: both keys are there, equal, of types that hash alike, and not null."""
    named = dict(node.names)
    pairs = zip(node.left_keys, node.right_keys, strict=True)
    return Placement(tuple(frozenset([left, named.get(right, left)]) for left, right in pairs), nulls=False)


def _behind(node: Node, placement: Placement) -> Placement | None:
    """Behind a stateless node."""
    if isinstance(node, Filter | Lifetime):
        return placement
    if isinstance(node, Explode):
        return replace(placement, columns=tuple(names - {node.column} for names in placement.columns))
    if isinstance(node, Project | Attempt):
        passed = [(name, expr.name) for name, expr in node.columns if isinstance(expr, Column)]
        columns = (frozenset(name for name, source in passed if source in names) for names in placement.columns)
        return replace(placement, columns=tuple(columns))
    return None


def _need(node: Node, port: int) -> Need | None:
    """Where a stateful node has the rows of one of its inputs; None where that is not for a task alone to say."""
    if isinstance(node, WindowAggregate | TopK) and node.input.open_ended:
        return None
    if isinstance(node, Keyed):
        return Need(tuple(node.keys))
    if isinstance(node, Distinct | Stitch):
        return Need(tuple(node.schema.names))
    if isinstance(node, Join | AsOf):
        keys = node.right_keys if port else node.left_keys
        if isinstance(node, AsOf) or node.kind == "clip":
            return Need(keys, "dropped" if port else "hashed")
        if not keys and node.kind != "full":
            return None  # one side is scattered and the other is everywhere
        outer = node.kind == "full" or (node.kind in ("left", "anti") and not port)
        return Need(keys, "scattered" if outer else "dropped")
    return None
