"""Whatever the order, the cut and the number of tasks, an app gives what the reference says."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.drive import play, tasks
from tests.properties.strategies import Script, inputs, plans, scripts
from waterclock.expr.nodes import col
from waterclock.optimizer import optimize
from waterclock.plan import Aggregate, Filter, Node, WindowAggregate
from waterclock.plan.window import Window
from waterclock.reference import bag_difference, evaluate, final
from waterclock.time import FOREVER

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


SHARE = float(os.environ.get("WATERCLOCK_EXAMPLES", "0.15"))
"""Of the random examples that are worth trying, how many are tried; ``make soak`` tries all."""


def quick(examples: int) -> Any:
    tried = max(10, round(examples * SHARE))
    return settings(max_examples=tried, deadline=None, derandomize=True, suppress_health_check=CHECKS, database=None)


def check_every_run(plan: Node, script: Script, epoch_rows: int, points: bool = False) -> None:
    """Results and time are right after every run, and nothing came behind an earlier CTI.

    Before the end, what is final and how far time is follow from the plan that runs, which may know both earlier.
    """
    runs = optimize(plan)
    played = play(plan, script, epoch_rows, points)
    before, known = None, 0
    for seen, arrived, ctis, finite in zip(played.runs, played.arrived, played.ctis, played.finite, strict=True):
        expected, cti = final(runs, arrived, ctis, finite)
        assert not bag_difference(seen.events, expected)
        assert seen.cti == cti
        if before is not None:
            assert all(vs >= before for vs, _, _ in seen.events[known:])
        before, known = seen.cti, len(seen.events)
    assert played.runs[-1].cti == FOREVER
    complete = evaluate(plan, script.inputs(), script.last_ctis())
    assert not bag_difference(played.runs[-1].events, complete)


def recut(script: Script, chance: random.Random) -> Script:
    """The same stream in another order between its CTIs, with other runs and more CTIs."""
    steps: list[tuple[str, Any]] = []
    for what, value in script.steps[:-1]:
        if what == "run":
            continue
        if what == "push" and script.slack >= 100:
            name, events = value
            shuffled = chance.sample(events, len(events))
            at = chance.randrange(len(events) + 1)
            steps += [("push", (name, part)) for part in (shuffled[:at], shuffled[at:]) if part]
        elif what == "push":
            steps.append(("push", (value[0], chance.sample(value[1], len(value[1])))))
        else:
            steps.append((what, value))
        if chance.random() < 0.4:
            steps.append(("run", None))
        if what == "advance" and chance.random() < 0.3:
            steps.append(("advance", (value[0], value[1] - chance.randrange(5))))
    return Script(script.slack, [*steps, ("run", None)])


@quick(90)
@given(plans(), scripts(), st.sampled_from([1, 2, 3, 5, 1000]))
def test_every_run_is_right(plan: Node, script: Script, epoch_rows: int) -> None:
    check_every_run(plan, script, epoch_rows)


@quick(25)
@given(plans(points=True), scripts(points=True), st.sampled_from([1, 4, 1000]))
def test_every_run_is_right_for_points(plan: Node, script: Script, epoch_rows: int) -> None:
    check_every_run(plan, script, epoch_rows, points=True)


@quick(40)
@given(plans(), scripts(), st.integers(1, 5), st.randoms(use_true_random=False))
def test_order_cuts_and_extra_ctis_do_not_matter(
    plan: Node, script: Script, epoch_rows: int, chance: random.Random
) -> None:
    other = recut(script, chance)
    assert other.last_ctis() == script.last_ctis()
    complete = evaluate(plan, script.inputs(), script.last_ctis())
    with tasks(chance.choice([1, 2, 3])):
        assert not bag_difference(play(plan, other, epoch_rows).runs[-1].events, complete)


@quick(25)
@given(plans(), scripts(most=8), st.sampled_from([3, 5, 1000]))
def test_the_number_of_tasks_changes_nothing_at_all(plan: Node, script: Script, epoch_rows: int) -> None:
    alone = play(plan, script, epoch_rows)
    complete = evaluate(plan, script.inputs(), script.last_ctis())
    assert not bag_difference(alone.runs[-1].events, complete)
    for count in (2, 3, 7):
        with tasks(count):
            assert play(plan, script, epoch_rows).runs == alone.runs  # rows in order, times and digests


@quick(15)
@given(plans(), scripts(most=8))
def test_a_new_app_object_goes_on_like_the_old_one(plan: Node, script: Script) -> None:
    assert play(plan, script, anew=False).runs == play(plan, script, anew=True).runs


OPEN = (0, FOREVER, {"t": 0, "e": None, "k": "a", "x": 1, "y": None})
LATER = (40, 41, {"t": 40, "e": 41, "k": "b", "x": 2, "y": None})


@pytest.mark.parametrize("run_before_the_end", [False, True])
def test_windows_of_open_events_end_alike_however_epochs_are_cut(run_before_the_end: bool) -> None:
    """The later event is filtered out, but its time still bounds the windows of the open one."""
    kept = Filter(inputs(points=False)[0], col("x") == 1)
    plan = WindowAggregate(kept, (), (("n", Aggregate("count")),), Window(10, 10))
    middle = [("run", None)] if run_before_the_end else []
    steps = [("push", ("s0", [OPEN, LATER])), *middle, ("end", "s0"), ("end", "s1"), ("run", None)]
    found = play(plan, Script(0, steps)).runs[-1].events
    assert sorted(vs for vs, _, _ in found) == [0, 10, 20, 30]


def test_an_event_between_windows_still_tells_time() -> None:
    """It is in no window, but the windows of the open event go up to it."""
    plan = WindowAggregate(inputs(points=False)[0], (), (("n", Aggregate("count")),), Window(2, 5))
    between = (13, 14, {"t": 13, "e": 14, "k": "b", "x": 2, "y": None})
    steps = [("push", ("s0", [OPEN, between])), ("end", "s0"), ("end", "s1"), ("run", None)]
    found = play(plan, Script(100, steps)).runs[-1].events
    assert sorted((vs, payload["n"]) for vs, _, payload in found) == [(0, 1), (5, 1), (10, 1)]


@pytest.mark.soak
@settings(quick(900), derandomize=False)
@given(plans(), scripts(), st.sampled_from([1, 2, 3, 5, 1000]))
def test_every_run_is_right_at_length(plan: Node, script: Script, epoch_rows: int) -> None:
    check_every_run(plan, script, epoch_rows)


@pytest.mark.soak
@settings(quick(400), derandomize=False)
@given(plans(), scripts(most=20), st.sampled_from([2, 5, 1000]), st.sampled_from([2, 3, 7]))
def test_the_number_of_tasks_changes_nothing_at_length(plan: Node, script: Script, epoch_rows: int, count: int) -> None:
    alone = play(plan, script, epoch_rows)
    with tasks(count):
        assert play(plan, script, epoch_rows).runs == alone.runs
