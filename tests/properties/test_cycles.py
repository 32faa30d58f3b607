"""Cycles: time is never further back than the plan says, and whatever the cut, an app gives the least fixpoint."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.algebra import STATEFUL, dense, focused
from tests.properties.drive import play, tasks
from tests.properties.kernel import Batch, epochs
from tests.properties.kernel_cases import batches
from tests.properties.strategies import Script, events, inputs, scripts
from tests.properties.test_app import quick
from waterclock.expr.nodes import Expr, col, lit, when
from waterclock.optimizer import optimize
from waterclock.optimizer.cycles import advance, advances, check_cycle, closed
from waterclock.optimizer.lives import Life
from waterclock.plan import (
    Aggregate,
    AsOf,
    ClipDuration,
    Distinct,
    HopLifetime,
    Join,
    Node,
    Project,
    Quantize,
    SetDuration,
    Shift,
    SnapshotAggregate,
    Union,
    WindowAggregate,
)
from waterclock.plan.join import KINDS
from waterclock.plan.window import RESULTS, Window
from waterclock.reference import Event, bag_difference, final, fixpoint
from waterclock.time import FOREVER

LONGEST = 30
LIVES = {name: Life(LONGEST) for name in ("s0", "s1")}
HISTORIES = st.fixed_dictionaries({name: st.lists(events(), max_size=7) for name in ("s0", "s1")})
MEETING = st.fixed_dictionaries({name: st.lists(dense(), max_size=7) for name in ("s0", "s1")})
TIMES = st.fixed_dictionaries({name: st.integers(-25, 60) for name in ("s0", "s1")})


def ending(some: list[Event]) -> list[Event]:
    return [(vs, min(ve, vs + LONGEST), payload) for vs, ve, payload in some]


# -- how far time is held back -----------------------------------------------------------------------------


@pytest.mark.parametrize("operator", STATEFUL)
def test_time_is_never_further_back_than_the_plan_says(operator: str) -> None:
    @quick(400)
    @given(focused(operator), st.one_of(HISTORIES, MEETING), TIMES)
    def held(plan: Node, history: dict[str, list[Event]], times: dict[str, int]) -> None:
        _, cti = final(plan, {name: ending(some) for name, some in history.items()}, times)
        known = advances(plan, LIVES)
        if None not in known.values():
            assert cti >= min(times[name] + by for name, by in known.items() if by is not None)

    held()


S0, S1 = inputs(points=False)
NAMES = tuple((name, f"{name}_r") for name in S1.schema.names)
COUNT = (("n", Aggregate("count")),)
HOLDING = {
    **{f"{kind} join": Join(kind, S0, S1, ("k",), ("k",), NAMES) for kind in KINDS},
    "as of": AsOf("inner", S0, S1, ("k",), ("k",), NAMES),
    "distinct": Distinct(Project(S0, (("k", col("k")),))),
    **{f"snapshot {result}": SnapshotAggregate(S0, ("k",), COUNT, result) for result in RESULTS},
    **{f"window {result}": WindowAggregate(S0, ("k",), COUNT, Window(7, 3, 1, result)) for result in RESULTS},
}


@pytest.mark.parametrize("node", HOLDING.values(), ids=HOLDING.keys())
def test_nor_do_the_operators_hold_it_back_further(node: Node) -> None:
    by = advance(node, LIVES)
    assert by is not None

    @quick(300)
    @given(batches(ports=len(node.inputs)))
    def held(some: list[Batch]) -> None:
        some = [Batch(tuple(tuple(ending(list(e))) for e in b.events), b.ctis, b.parts) for b in some]
        for batch, (_, cti) in zip(some, epochs(node, some), strict=True):
            least = min(batch.ctis)
            assert cti >= (least + by if -(2**40) < least < FOREVER else least)

    held()


# -- what cycles give --------------------------------------------------------------------------------------

LINKS = ClipDuration(S1, 12)


def _like_seeds(node: Node, **changed: Expr) -> Node:
    """The columns of the seeds, of which those of the right side are gone."""
    return Project(node, tuple((name, changed.get(name, col(name))) for name in S0.schema.names))


def _spread(loop: Node, by: int) -> Node:
    """Along links, which say where to; equal rows once."""
    to = when(col("x_r") > 0, "a").otherwise("b")
    pairs = Join("inner", SetDuration(loop, 1), LINKS, ("k",), ("k",), NAMES)
    seen = Distinct(Project(pairs, (("k", to),)))
    nothing = {"t": lit(0).cast("bigint"), "e": lit(0).cast("bigint"), "x": lit(1).cast("int"), "y": lit(0.5)}
    return Shift(_like_seeds(seen, **nothing), by)


def _counted(loop: Node, by: int) -> Node:
    """What windows close when time passes goes around."""
    kept = tuple((name, Aggregate("max", col(name))) for name in ("t", "e", "x", "y"))
    ends = WindowAggregate(loop, ("k",), kept, Window(6, 3, 1, "point_end"))
    return Shift(_like_seeds(Join("semi", ends, LINKS, (), (), ())), by)


def _unless(loop: Node, by: int) -> Node:
    """Links that no event holds down: not monotone, and right because it looks back only."""
    return Shift(Join("anti", LINKS, loop, ("k",), ("k",), ()), by + 12)


def _covered(loop: Node, by: int) -> Node:
    return Shift(Join("semi", loop, LINKS, ("k",), ("k",), ()), by + 12)


def _rounded(loop: Node, by: int) -> Node:
    grid = Quantize(Join("semi", SetDuration(loop, 2), LINKS, ("k",), ("k",), ()), 2, 2)
    return Shift(HopLifetime(grid, 3, 4), by + 6)


def _as_of(loop: Node, by: int) -> Node:
    return Shift(_like_seeds(AsOf("inner", loop, S1, ("k",), ("k",), NAMES, 3), x=col("x")), by + 4)


def _two_ways(loop: Node, by: int) -> Node:
    return Union((_spread(loop, by), Shift(_counted(loop, 1), 2 * by)))


BODIES = {
    body.__name__: body for body in (_spread, _counted, _unless, _covered, _rounded, _as_of, _two_ways)
}  # fmt: skip


def cycle(body: str, by: int) -> Node:
    root = closed("result", ClipDuration(S0, 12), lambda loop: BODIES[body](loop, by))
    check_cycle("result", root, {}, allow_unbounded=body == "_as_of")
    return root


@pytest.mark.parametrize("body", BODIES)
def test_every_run_gives_the_fixpoint(body: str) -> None:
    @quick(60)
    @given(st.integers(1, 6), scripts(most=9), st.sampled_from([1, 2, 3, 1000]), st.sampled_from([1, 1, 3]))
    def right(by: int, script: Script, epoch_rows: int, count: int) -> None:
        plan = cycle(body, by)
        with tasks(count):
            played = play(plan, script, epoch_rows)
        before, known = None, 0
        for seen, arrived, ctis in zip(played.runs, played.arrived, played.ctis, strict=True):
            expected, cti = fixpoint("result", optimize(plan), arrived, ctis)
            assert not bag_difference(seen.events, expected)
            assert seen.cti == cti
            if before is not None:
                assert all(vs >= before for vs, _, _ in seen.events[known:])
            before, known = seen.cti, len(seen.events)
        assert played.runs[-1].cti == FOREVER

    right()
