"""Plans of many keyed nodes give what the reference says on any number of tasks, with all exchanges and without."""

from __future__ import annotations

import sys
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.algebra import joined
from tests.properties.drive import play, tasks
from tests.properties.strategies import Script, inputs, scripts, windows
from tests.properties.test_app import quick
from waterclock.expr.nodes import col
from waterclock.optimizer import cut
from waterclock.plan import (
    Aggregate,
    AsOf,
    ClipDuration,
    CountAggregate,
    Filter,
    Join,
    Node,
    Project,
    SessionAggregate,
    SetDuration,
    Shift,
    SnapshotAggregate,
    TopK,
    Union,
    WindowAggregate,
)
from waterclock.reference import bag_difference, evaluate
from waterclock.time import FOREVER

COUNT = Aggregate("count")
RESULTS = st.sampled_from(["window", "point_end", "hold"])
CUTTING = sys.modules["waterclock.optimizer.cut"]
KINDS = ("inner", "inner", "left", "left", "full", "semi", "anti", "clip", "asof")


def bare(node: Node, keys: tuple[str, ...]) -> Node:
    """The key and one more column, so that rows stay small however deep the plan is."""
    rest = [name for name, kind in node.schema if name not in keys and kind in ("int", "bigint")][:1]
    return Project(node, tuple((name, col(name)) for name in (*keys, *rest)))


@st.composite
def aggregated(draw: st.DrawFn, below: Node, keys: tuple[str, ...]) -> Node:
    named = (("a", COUNT),)
    match draw(st.sampled_from(["window", "window", "session", "snapshot", "count", "top"])):
        case "window":
            return WindowAggregate(below, keys, named, draw(windows()))
        case "session":
            return SessionAggregate(below, keys, named, draw(st.integers(1, 9)), None, draw(RESULTS))
        case "snapshot":
            return SnapshotAggregate(below, keys, named, draw(RESULTS))
        case "count":
            return CountAggregate(below, keys, named, draw(st.integers(1, 3)), draw(RESULTS))
    return TopK(below, keys, col(below.schema.names[0]), 2, window=draw(windows()))


@st.composite
def paired(draw: st.DrawFn, left: Node, right: Node, keys: tuple[str, ...]) -> Node:
    """Mostly by the same key."""
    kind = draw(st.sampled_from(KINDS))
    if draw(st.integers(0, 5)) == 0:
        return draw(joined(kind, left, right))
    names = tuple((name, f"r_{name}") for name in right.schema.names)
    if kind == "asof":
        return AsOf(draw(st.sampled_from(["inner", "left"])), left, right, keys, keys, names)
    return Join(kind, left, right, keys, keys, names)


@st.composite
def keyed(draw: st.DrawFn, keys: tuple[str, ...], depth: int) -> Node:
    """A plan whose nodes mostly have the same keys, which keep their names."""
    if depth == 0:
        given = draw(st.sampled_from(inputs(points=False)))
        return ClipDuration(given, draw(st.integers(1, 12))) if draw(st.integers(0, 2)) else given
    below = bare(draw(keyed(keys, depth - 1)), keys)
    other = bare(draw(keyed(keys, draw(st.integers(0, depth - 1)))), keys)
    match draw(st.sampled_from([*["aggregate"] * 3, *["join"] * 3, "filter", "shift", "union"])):
        case "aggregate":
            return draw(aggregated(below, keys))
        case "join":
            return draw(paired(below, other, keys))
        case "filter":
            return Filter(below, col(below.schema.names[-1]).is_not_null())
        case "shift":
            return Shift(below, draw(st.integers(-5, 5)))
    return Union((below, other if other.schema == below.schema else Shift(below, 3)))


PLANS = st.sampled_from([("k",), ("x",), ("k", "x"), ("x", "k"), ()]).flatmap(lambda keys: keyed(keys, 4))


@quick(200)
@given(PLANS, scripts(most=8), st.integers(1, 4), st.sampled_from([2, 5, 1000]))
def test_exchanges_left_out_change_nothing(plan: Node, script: Script, count: int, epoch_rows: int) -> None:
    wanted = evaluate(plan, script.inputs(), script.last_ctis())
    with tasks(count):
        assert not bag_difference(play(plan, script, epoch_rows).runs[-1].events, wanted)
        if count == 4:
            with mock.patch.object(CUTTING, "stays", return_value=False):
                assert not bag_difference(play(plan, script, epoch_rows).runs[-1].events, wanted)


@st.composite
def close_ones(draw: st.DrawFn) -> Node:
    """One node right behind a window by the same key: null keys, and events that never end."""
    keys = draw(st.sampled_from([("x",), ("k", "x")]))
    one, other = inputs(points=False)
    left: Node = bare(WindowAggregate(one, keys, (("a", COUNT),), draw(windows())), keys)
    if draw(st.booleans()):
        return draw(paired(left, bare(other, keys), keys))
    left = SetDuration(left, draw(st.sampled_from([FOREVER, 3])))
    return WindowAggregate(left, keys, (("b", COUNT),), draw(windows()))


@quick(400)
@given(close_ones(), scripts(most=8), st.integers(2, 4), st.sampled_from([5, 1000]))
def test_one_behind_another(plan: Node, script: Script, count: int, epoch_rows: int) -> None:
    wanted = evaluate(plan, script.inputs(), script.last_ctis())
    with tasks(count):
        assert not bag_difference(play(plan, script, epoch_rows).runs[-1].events, wanted)


def test_such_plans_do_leave_out_exchanges() -> None:
    saved: list[int] = []

    @quick(200)
    @given(PLANS)
    def look(plan: Node) -> None:
        with mock.patch.object(CUTTING, "stays", return_value=False):
            before = cut("out", plan).stages
        saved.append(before - cut("out", plan).stages)

    look()
    assert min(saved) >= 0
    assert sum(each > 0 for each in saved) > len(saved) / 5
