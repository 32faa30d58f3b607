"""The definitions hold together: what is final at some CTI stays, and nothing follows behind the output CTI."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.strategies import SCHEMA
from tests.properties.test_app import quick
from waterclock.expr.nodes import array, col, end, start
from waterclock.plan import (
    Aggregate,
    AlterLifetime,
    AsOf,
    Chop,
    ClipDuration,
    CountAggregate,
    Distinct,
    Explode,
    Extend,
    Filter,
    HopLifetime,
    Input,
    Join,
    Node,
    PointAtEnd,
    Project,
    Quantize,
    SessionAggregate,
    SessionLifetime,
    SetDuration,
    Shift,
    SnapshotAggregate,
    Stitch,
    TopK,
    Union,
    Window,
    WindowAggregate,
)
from waterclock.plan.join import KINDS
from waterclock.plan.window import RESULTS
from waterclock.reference import Event, bag_difference, evaluate, final, logical_difference
from waterclock.time import BEGINNING, FOREVER

LEFT, RIGHT = Input("s0", SCHEMA, of_points=False, may_be_open=True), Input("s1", SCHEMA, False, may_be_open=True)
SUM = (("n", Aggregate("count")), ("s", Aggregate("sum", col("x"))))
NARROW = Project(LEFT, (("k", col("k")),))
NAMES = tuple((name, f"r_{name}") for name in SCHEMA.names)
results = st.sampled_from(RESULTS)
small = st.integers(1, 9)
gaps = st.integers(1, 4)
offsets = st.integers(-10, 10)


def windows() -> st.SearchStrategy[Window]:
    return st.builds(Window, small, small, offsets, results)


def joins(kind: str) -> Callable[[st.DrawFn], Node]:
    def make(draw: st.DrawFn) -> Node:
        keys = draw(st.sampled_from([(), ("k",)]))
        residual = draw(st.sampled_from([None, col("x") >= col("r_x")]))
        return Join(kind, LEFT, RIGHT, keys, keys, NAMES, residual)

    return make


def as_of(draw: st.DrawFn) -> Node:
    return AsOf(draw(st.sampled_from(["inner", "left"])), LEFT, RIGHT, ("k",), ("k",), NAMES, draw(st.none() | small))


def top_k(draw: st.DrawFn) -> Node:
    window = draw(st.none() | windows())
    return TopK(LEFT, ("k",), col("x"), draw(st.integers(1, 3)), draw(st.booleans()), "rank", window)


NODES: dict[str, Callable[[st.DrawFn], Node]] = {
    "filter": lambda draw: Filter(LEFT, col("x") > 0),
    "project": lambda draw: Project(LEFT, (("at", start()), ("to", end()), ("x", col("x") + 1))),
    "explode": lambda draw: Explode(LEFT, "z", array(col("x"), 1)),
    "union": lambda draw: Union((LEFT, RIGHT)),
    "shift": lambda draw: Shift(LEFT, draw(offsets)),
    "set_duration": lambda draw: SetDuration(LEFT, draw(st.sampled_from([3, FOREVER, col("x")]))),
    "alter": lambda draw: AlterLifetime(LEFT, start().unix_micros().floor_to(5) * 2 + 1, col("x").cast("bigint")),
    "extend": lambda draw: Extend(LEFT, draw(offsets)),
    "clip_duration": lambda draw: ClipDuration(LEFT, draw(small)),
    "point_at_end": lambda draw: PointAtEnd(LEFT),
    "quantize": lambda draw: Quantize(LEFT, draw(small), draw(small), draw(offsets), draw(st.none() | small)),
    "hop_lifetime": lambda draw: HopLifetime(LEFT, draw(small), draw(small), draw(offsets)),
    "chop": lambda draw: Chop(LEFT, draw(small), draw(offsets)),
    "stitch": lambda draw: Stitch(NARROW),
    "session_lifetime": lambda draw: SessionLifetime(LEFT, ("k",), draw(gaps), draw(st.none() | gaps)),
    "session": lambda draw: SessionAggregate(LEFT, ("k",), SUM, draw(gaps), draw(st.none() | gaps), draw(results)),
    "window": lambda draw: WindowAggregate(LEFT, ("k",), SUM, draw(windows())),
    "snapshot": lambda draw: SnapshotAggregate(LEFT, ("k",), SUM, draw(results)),
    "count": lambda draw: CountAggregate(LEFT, ("k",), SUM, draw(st.integers(1, 4)), draw(results)),
    "distinct": lambda draw: Distinct(NARROW),
    "top_k": top_k,
    "as_of": as_of,
    **{f"{kind}_join": joins(kind) for kind in KINDS},
}


@st.composite
def events(draw: st.DrawFn) -> Event:
    """Few times and keys: what touches and what falls on a CTI matters."""
    vs = draw(st.integers(-1, 4))
    ve = draw(st.sampled_from([*range(vs + 1, vs + 5), FOREVER]))
    x = draw(st.sampled_from([0, 0, 1, 2, None]))
    return vs, ve, {"t": vs, "e": None, "k": draw(st.sampled_from(["a", "a", "a", "b", None])), "x": x, "y": None}


@dataclass
class Moment:
    """Two streams in full, what has come of them when their times are ``ctis``, and those."""

    whole: dict[str, list[Event]]
    arrived: dict[str, list[Event]]
    ctis: dict[str, int]


@st.composite
def moments(draw: st.DrawFn) -> Moment:
    whole, arrived, ctis = {}, {}, {}
    for stream in ("s0", "s1"):
        some = draw(st.lists(events(), max_size=6))
        cti = draw(st.sampled_from([*range(-2, 9), BEGINNING, FOREVER]))
        ahead = draw(st.lists(st.booleans(), min_size=len(some), max_size=len(some)))
        whole[stream], ctis[stream] = some, cti
        arrived[stream] = [e for e, early in zip(some, ahead, strict=True) if e[0] < cti or early]
    return Moment(whole, arrived, ctis)


@pytest.mark.parametrize("name", NODES)
@quick(100)
@given(st.data())
def test_what_is_final_stays_and_the_rest_comes_later(name: str, data: st.DataObject) -> None:
    made = data.draw(st.composite(NODES[name])())
    moment = data.draw(moments())
    finite = {stream: cti for stream, cti in moment.ctis.items() if cti < FOREVER}
    found, cti = final(made, moment.arrived, moment.ctis, finite)
    rest = evaluate(made, moment.whole, finite)
    for event in found:
        assert event in rest, f"{event} did not stay"
        rest.remove(event)
    early = [event for event in rest if event[0] < cti]
    assert not early, f"behind the output CTI {cti}"


@quick(100)
@given(st.lists(events(), max_size=10), small, offsets)
def test_stitch_undoes_chop(some: list[Event], period: int, offset: int) -> None:
    node = Stitch(Chop(NARROW, period, offset))
    found = evaluate(node, {"s0": some})
    assert not logical_difference(found, evaluate(NARROW, {"s0": some}))
    assert not bag_difference(evaluate(Stitch(node), {"s0": some}), found)


@quick(100)
@given(st.lists(events(), max_size=7), st.lists(events(), max_size=7))
def test_inner_and_anti_make_left_and_semi_and_anti_make_all(left: list[Event], right: list[Event]) -> None:
    inputs = {"s0": left, "s1": right}
    keys = ("k",)
    joined = {kind: Join(kind, LEFT, RIGHT, keys, keys, NAMES) for kind in KINDS}
    semi, anti = evaluate(joined["semi"], inputs), evaluate(joined["anti"], inputs)
    assert not logical_difference(semi + anti, left)
    nulls = {name: None for _, name in NAMES}
    outer = evaluate(joined["inner"], inputs) + [(vs, ve, {**payload, **nulls}) for vs, ve, payload in anti]
    assert not bag_difference(outer, evaluate(joined["left"], inputs))
