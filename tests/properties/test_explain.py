"""Every plan can be explained, and what is said of lifetimes, bounds and drawings is true."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.drawings import check_drawing
from tests.properties.algebra import OPERATORS, algebra, over
from tests.properties.strategies import events, inputs
from tests.properties.test_app import quick
from waterclock.batch.compile import compiled
from waterclock.explain import STAGES, Described, Output, explained
from waterclock.explain.physical import drawn
from waterclock.explain.spark import laid_out
from waterclock.optimizer import cut, find_unbounded
from waterclock.optimizer.lives import Life, life_of
from waterclock.optimizer.state import output_bound
from waterclock.plan import Node
from waterclock.plan.drawing import picture_of
from waterclock.reference import Event, evaluate
from waterclock.time import FOREVER

LONGEST = 30
LIVES = {name: Life(LONGEST) for name in ("s0", "s1")}
FINITE = st.lists(events().filter(lambda event: event[1] < FOREVER), min_size=3, max_size=12)


def check_lives(plan: Node, some: list[Event], chance: random.Random) -> None:
    longest = life_of(plan, LIVES).longest
    streams = {name: [event for event in some if chance.random() < 0.7] for name in LIVES}
    for vs, ve, payload in evaluate(plan, streams, dict.fromkeys(LIVES, 60)):
        assert longest is None or ve - vs <= longest or longest == FOREVER, (vs, ve, payload)


@pytest.mark.parametrize("operator", OPERATORS)
def test_no_event_lives_longer_than_is_said(operator: str) -> None:
    @quick(60)
    @given(st.data(), FINITE, st.randoms(use_true_random=False))
    def check(data: st.DataObject, some: list[Event], chance: random.Random) -> None:
        check_lives(data.draw(over(operator, *inputs(points=False))), some, chance)

    check()


@quick(150)
@given(algebra(), FINITE, st.randoms(use_true_random=False))
def test_no_event_of_random_plans_does(plan: Node, some: list[Event], chance: random.Random) -> None:
    check_lives(plan, some, chance)


@quick(150)
@given(algebra())
def test_unbounded_is_what_would_be_refused(plan: Node) -> None:
    assert output_bound(plan, LIVES).startswith("UNBOUNDED") == (find_unbounded(plan) is not None)


@quick(60)
@given(algebra())
def test_every_stage_and_every_drawing(plan: Node) -> None:
    output = Output(plan, plan, cut("out", plan))
    program = Described("app", {"out": output}, {}, {})
    for stage in (None, *STAGES):
        assert explained(program, stage)
    check_drawing([picture_of({"out": plan})])
    check_drawing([drawn("out", output)])


@quick(60)
@given(algebra())
def test_sql_is_laid_out_and_not_changed(plan: Node) -> None:
    for view in compiled({"out": plan}, {}).views:
        assert "".join(laid_out(view.sql).split()) == "".join(view.sql.split())
