"""Every operator, and random plans of all of them: an app gives what the reference says, however it is run."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.algebra import OPERATORS, algebra, over
from tests.properties.drive import play, tasks
from tests.properties.strategies import Script, inputs, scripts
from tests.properties.test_app import check_every_run, quick, recut
from waterclock.plan import Node
from waterclock.reference import bag_difference, evaluate

CUTS = st.sampled_from([1, 2, 3, 5, 1000])


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_alone(operator: str) -> None:
    @quick(60)
    @given(st.data(), scripts(most=10), CUTS)
    def check(data: st.DataObject, script: Script, epoch_rows: int) -> None:
        plan = data.draw(over(operator, *inputs(points=False)))
        check_every_run(plan, script, epoch_rows)

    check()


@quick(600)
@given(algebra(), scripts(most=10), CUTS)
def test_random_plans(plan: Node, script: Script, epoch_rows: int) -> None:
    check_every_run(plan, script, epoch_rows)


@quick(300)
@given(algebra(depth=4), scripts(most=10), st.integers(1, 5), st.randoms(use_true_random=False))
def test_order_cuts_ctis_and_tasks_do_not_matter(
    plan: Node, script: Script, epoch_rows: int, chance: random.Random
) -> None:
    complete = evaluate(plan, script.inputs(), script.last_ctis())
    with tasks(chance.choice([1, 2, 3, 7])):
        assert not bag_difference(play(plan, recut(script, chance), epoch_rows).runs[-1].events, complete)


@pytest.mark.soak
@settings(quick(3000), derandomize=False)
@given(algebra(), scripts(), CUTS)
def test_random_plans_at_length(plan: Node, script: Script, epoch_rows: int) -> None:
    check_every_run(plan, script, epoch_rows)


@pytest.mark.soak
@settings(quick(2000), derandomize=False)
@given(algebra(), scripts(), st.integers(1, 5), st.randoms(use_true_random=False))
def test_order_cuts_ctis_and_tasks_at_length(
    plan: Node, script: Script, epoch_rows: int, chance: random.Random
) -> None:
    complete = evaluate(plan, script.inputs(), script.last_ctis())
    with tasks(chance.choice([1, 2, 3, 7])):
        assert not bag_difference(play(plan, recut(script, chance), epoch_rows).runs[-1].events, complete)
