"""What the nodes of a plan will do, per second of event time: rows, state and work.

Rough, from rates, numbers of keys, windows and lifetimes: good for comparing plans and for choosing the number of
tasks, on which no answer depends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch

from waterclock.optimizer.statistics import RATE, TABLE, Statistics, width
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
    Stitch,
)
from waterclock.plan.nodes import Explode, Filter, Input, Node, Union
from waterclock.plan.user import Apply, Elements, Track
from waterclock.plan.window import Window

LASTING = 60.0
"""Seconds that an event lasts of which only the data knows."""
HORIZON = 86_400.0
"""Seconds after which what never ends is no longer counted: state without a bound is told as that of a day."""
PASSING = 0.5
"""Of the rows that reach a filter or a semi or anti join, those behind it."""
ELEMENTS = 3.0
"""Of an array."""
POINT = 1e-6


@dataclass(frozen=True)
class Weight:
    """Of one row that comes in, in units: reading a row and counting it in a hopping window is one unit.

    Measured on two cores (bench/RESULTS.md): hopping 5.1 M rows/s, session 1.9 M, clip join 1.75 M, join 1.16 M, anti
    join 1.09 M, snapshot 0.73 M; what is like them is weighed alike. User code is called from Python, row by row or
    group by group.
    """

    cost: float
    gain: float = 1.5
    """What of it several tasks are worth: a heavy row is exchanged whole, which costs most of what is saved."""


READ = 0.5
WRITE = 1.0
_LIGHT = Weight(0.05, 0.05)
_WINDOW = Weight(0.5, 0.5)
_SESSION = Weight(2.2)
_CLIP = Weight(2.4)
_JOIN = Weight(3.9)
_ANTI = Weight(4.2)
_SNAPSHOT = Weight(6.5)
_USER_ROWS = Weight(10.0, 10.0)
_USER_GROUPS = Weight(50.0, 50.0)


def weight(node: Node) -> Weight:
    if isinstance(node, Input):
        return Weight(READ, READ)
    if isinstance(node, Join):
        return {"clip": _CLIP, "anti": _ANTI, "semi": _ANTI}.get(node.kind, _JOIN)
    if isinstance(node, SnapshotAggregate | Distinct) or (isinstance(node, TopK) and node.window is None):
        return _SNAPSHOT
    if isinstance(node, Track | Apply):
        return _USER_GROUPS
    if isinstance(node, Elements | Attempt):
        return _USER_ROWS
    if isinstance(node, WindowAggregate):
        return _WINDOW
    if isinstance(node, AsOf):
        return _CLIP
    return _LIGHT if node.stateless or isinstance(node, Union) else _SESSION


@dataclass(frozen=True)
class Estimate:
    """Of one node, per second of event time."""

    rows_in: float
    rows_out: float
    bytes: float
    """Per row that goes out."""
    sent: float
    """Rows in front of a stateful node when those that can be told as fewer are."""
    state_rows: float
    state_bytes: float
    cost: float
    """In units of ``Weight``, of this node alone."""
    alive: float
    """Results that are valid at the same time."""

    def __str__(self) -> str:
        flow = f"{_scaled(self.rows_in)} -> {_scaled(self.rows_out)} rows/s of {_scaled(self.bytes, ' ')}B"
        state = f", state {_scaled(self.state_rows)} rows {_scaled(self.state_bytes, ' ')}B" if self.state_rows else ""
        return f"{flow}{state}, cost {_scaled(self.cost)}"


def estimate(root: Node, statistics: Statistics | None = None) -> dict[str, Estimate]:
    """For every node of a plan, by its identity."""
    known: dict[str, Estimate] = {}
    statistics = statistics or Statistics()
    for node in _upwards(root, set()):
        known[node.identity] = _estimate(node, [known[child.identity] for child in node.inputs], statistics)
    return known


def worth_sharing(node: Node, statistics: Statistics | None = None) -> bool:
    """Whether computing a sub-plan once, and writing and reading what it gives, beats computing it a second time."""
    known = estimate(node, statistics)
    return sum(each.cost for each in known.values()) > (WRITE + READ) * known[node.identity].rows_out


def _upwards(node: Node, seen: set[str]) -> Iterator[Node]:
    """Every node once, inputs first."""
    if node.identity in seen:
        return
    seen.add(node.identity)
    for child in node.inputs:
        yield from _upwards(child, seen)
    yield node


@dataclass(frozen=True)
class _Shape:
    """What a kind of node says of its results: rows per second, how long they last, rows of state, rows sent."""

    rate: float
    lasts: float
    state: float = 0.0
    sent: float | None = None
    """As many as come in, where it does not say."""


def _estimate(node: Node, inputs: list[Estimate], statistics: Statistics) -> Estimate:
    shape = _shape(node, inputs, statistics)
    rate = statistics.rates.get(node.identity, shape.rate)
    rows_in = rate if isinstance(node, Input) else sum(each.rows_out for each in inputs)
    size = inputs[0].bytes if inputs and node.schema == node.inputs[0].schema else width(node.schema)
    if isinstance(node, Input):
        size = statistics.sizes.get(node.stream, size)
    state = shape.state, shape.state * max([size, *(each.bytes for each in inputs)])
    state_rows, state_bytes = statistics.states.get(node.identity, state)
    alive = rate * min(shape.lasts, HORIZON)
    if isinstance(node, Input) and node.static:
        alive = float(statistics.flows.get(node.stream, 0)) or TABLE
    sent = rows_in if shape.sent is None else min(rows_in, shape.sent)
    return Estimate(rows_in, rate, size, sent, state_rows, state_bytes, rows_in * weight(node).cost, alive)


@singledispatch
def _shape(node: Node, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    """Of a node that changes neither the number of rows nor their lifetimes."""
    return _Shape(sum(each.rows_out for each in inputs), _lasting(inputs))


@_shape.register
def _(node: Input, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    if node.static:
        return _Shape(0.0, HORIZON)
    lasts = POINT if node.points else HORIZON if node.endless else LASTING
    return _Shape(statistics.rates.get(node.stream, RATE), lasts)


@_shape.register
def _(node: Filter, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    return _Shape(inputs[0].rows_out * PASSING, _lasting(inputs))


@_shape.register
def _(node: Explode, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    return _Shape(inputs[0].rows_out * ELEMENTS, _lasting(inputs))


@_shape.register
def _(node: Lifetime, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    rate, lasts = inputs[0].rows_out, _lasting(inputs)
    if isinstance(node, SetDuration):
        lasts = node.duration / 1e6 if isinstance(node.duration, int) else LASTING
    elif isinstance(node, AlterLifetime):
        lasts = LASTING
    elif isinstance(node, Extend):
        lasts = max(POINT, lasts + node.by / 1e6)
    elif isinstance(node, ClipDuration):
        lasts = min(lasts, node.limit / 1e6)
    elif isinstance(node, PointAtEnd):
        lasts = POINT
    elif isinstance(node, Quantize):
        lasts = max(lasts, node.width / 1e6)
    elif isinstance(node, HopLifetime):
        lasts = node.width / 1e6
    elif isinstance(node, SessionLifetime):
        return _Shape(rate, node.timeout / 1e6, rate * node.timeout / 1e6)
    elif isinstance(node, Chop):
        pieces = 1 + min(lasts, HORIZON) / (node.period / 1e6)
        return _Shape(rate * pieces, min(lasts, node.period / 1e6), 0.0 if node.stateless else inputs[0].alive)
    elif isinstance(node, Stitch):
        return _Shape(rate, lasts, inputs[0].alive)
    return _Shape(rate, lasts)


@_shape.register
def _(node: WindowAggregate, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    return _windowed(node.window, inputs[0], statistics.distinct(node.keys))


@_shape.register
def _(node: TopK, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    groups = statistics.distinct(node.keys)
    if node.window is None:
        return _Shape(_changes(inputs[0], node.k), _lasting(inputs) / 2, inputs[0].alive + groups)
    return _windowed(node.window, inputs[0], groups * node.k)


@_shape.register
def _(node: SnapshotAggregate, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    lasts = POINT if node.points else _lasting(inputs) / 2
    groups = min(statistics.distinct(node.keys), inputs[0].alive)
    return _Shape(_changes(inputs[0], 1), lasts, inputs[0].alive + groups)


@_shape.register
def _(node: Distinct, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    return _Shape(inputs[0].rows_out, _lasting(inputs), 2 * inputs[0].alive)


@_shape.register
def _(node: SessionAggregate, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    timeout, groups = node.timeout / 1e6, statistics.distinct(node.keys)
    rate = min(inputs[0].rows_out, groups / timeout)
    return _Shape(rate, POINT if node.points else timeout, min(groups, inputs[0].rows_out * timeout), rate)


@_shape.register
def _(node: CountAggregate, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    groups = min(statistics.distinct(node.keys), inputs[0].rows_out * HORIZON)
    lasts = POINT if node.points else groups * node.n / max(inputs[0].rows_out, POINT)
    return _Shape(inputs[0].rows_out, lasts, groups * node.n)


@_shape.register
def _(node: Join, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    left, right = inputs
    # A left row meets the right rows of its key that are alive when it starts, and those that start later.
    pairs = (left.rows_out * right.alive + right.rows_out * left.alive) / statistics.distinct(node.left_keys)
    rate = {
        "inner": pairs,
        "left": max(pairs, left.rows_out),
        "full": max(pairs, left.rows_out + right.rows_out),
        "clip": left.rows_out,
    }.get(node.kind, left.rows_out * PASSING)
    lasts = min(_lasting(inputs[:1]), _lasting(inputs[1:])) if node.kind == "inner" else _lasting(inputs[:1])
    waiting = min(left.alive, statistics.distinct(node.left_keys)) if node.kind == "clip" else left.alive + right.alive
    return _Shape(rate, lasts, waiting)


@_shape.register
def _(node: AsOf, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    return _Shape(inputs[0].rows_out, _lasting(inputs[:1]), statistics.distinct(node.left_keys))


@_shape.register
def _(node: Track, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    groups = statistics.distinct(node.keys)
    between = groups / max(inputs[0].rows_out, POINT)
    return _Shape(inputs[0].rows_out, POINT if node.points else between, groups)


@_shape.register
def _(node: Apply, inputs: list[Estimate], statistics: Statistics) -> _Shape:
    every = node.operator.every / 1e6
    groups = statistics.distinct(node.keys)
    return _Shape(inputs[0].rows_out, every, min(groups, inputs[0].rows_out * every) + groups)


def _windowed(window: Window, given: Estimate, groups: float) -> _Shape:
    """Rows of a pane are folded in front of the exchange, so that a group is sent and kept once a pane."""
    size, hop, pane = window.size / 1e6, window.hop / 1e6, window.pane / 1e6
    in_pane, in_window = (min(groups, given.rows_out * seconds + given.alive) for seconds in (pane, size))
    lasts = {"window": size, "point_end": POINT, "hold": hop}[window.result]
    return _Shape(in_window / hop, lasts, in_pane * (size / pane + 1), in_pane / pane)


def _changes(given: Estimate, each: int) -> float:
    """Every event starts one snapshot and ends one."""
    return 2.0 * given.rows_out * each


def _lasting(inputs: list[Estimate]) -> float:
    rate = sum(each.rows_out for each in inputs)
    return sum(each.alive for each in inputs) / rate if rate else HORIZON


def _scaled(number: float, before_unit: str = "") -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{_digits(number / size)}{before_unit}{unit}"
    return f"{_digits(number)}{before_unit}"


def _digits(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.2g}"
