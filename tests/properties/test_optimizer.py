"""Every rule, and all of them together, keep what a plan means: columns, events, and no event comes later."""

from __future__ import annotations

import importlib
from collections import Counter
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.algebra import OPERATORS, algebra, chains, dense, dressed, focused, picked, queries
from tests.properties.drive import play, tasks
from tests.properties.strategies import Script, events, scripts
from tests.properties.test_app import check_every_run, quick
from waterclock.optimizer import RULES, Rule, optimize, share
from waterclock.plan import Node, explain
from waterclock.plan.rebuild import parts_of
from waterclock.reference import Event, bag_difference, evaluate, final
from waterclock.reference.evaluate import streams_of

sharing = importlib.import_module("waterclock.optimizer.share")

HISTORIES = st.fixed_dictionaries({name: st.lists(events(), max_size=7) for name in ("s0", "s1")})
MEETING = st.fixed_dictionaries({name: st.lists(dense(), min_size=2, max_size=6) for name in ("s0", "s1")})
TIMES = st.fixed_dictionaries({name: st.integers(-25, 60) for name in ("s0", "s1")})
SOON = st.fixed_dictionaries({name: st.integers(-5, 12) for name in ("s0", "s1")})
PLANS = st.one_of(queries(), queries(), algebra())


def check(plan: Node, made: Node, history: dict[str, list[Event]], times: dict[str, int]) -> None:
    assert made.schema == plan.schema
    difference = bag_difference(evaluate(made, history, times), evaluate(plan, history, times))
    assert not difference, f"{explain(plan)}\nbecame\n{explain(made)}\n{difference}"
    before, then = final(plan, history, times)
    after, now = final(made, history, times)
    assert now >= then, "time passes later than without the rule"
    assert not Counter(map(repr, before)) - Counter(map(repr, after)), "a result comes later than without the rule"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_alone_keeps_the_meaning(rule: Rule) -> None:
    @quick(700)
    @given(PLANS, HISTORIES, TIMES)
    def alone(plan: Node, history: dict[str, list[Event]], times: dict[str, int]) -> None:
        check(plan, optimize(plan, [rule]), history, times)

    alone()


@pytest.mark.parametrize("operator", OPERATORS)
def test_what_rules_do_around_an_operator_keeps_the_meaning(operator: str) -> None:
    @quick(500)
    @given(focused(operator), MEETING, SOON)
    def around(plan: Node, history: dict[str, list[Event]], times: dict[str, int]) -> None:
        check(plan, optimize(plan), history, times)
        for rule in RULES:
            made = rule.rewrite(plan)
            if made.identity != plan.identity:
                check(plan, made, history, times)

    around()


@quick(1500)
@given(chains(), MEETING, SOON)
def test_chains_of_lifetimes_keep_the_meaning(
    plan: Node, history: dict[str, list[Event]], times: dict[str, int]
) -> None:
    check(plan, optimize(plan), history, times)


@quick(1000)
@given(picked(), MEETING, SOON)
def test_groups_that_are_picked_keep_the_meaning(
    plan: Node, history: dict[str, list[Event]], times: dict[str, int]
) -> None:
    check(plan, optimize(plan), history, times)


@quick(2000)
@given(PLANS, HISTORIES, TIMES)
def test_all_rules_keep_the_meaning(plan: Node, history: dict[str, list[Event]], times: dict[str, int]) -> None:
    check(plan, optimize(plan), history, times)


@quick(1000)
@given(st.data(), queries(), HISTORIES, TIMES)
def test_outputs_that_share_keep_their_meaning(
    data: st.DataObject, one: Node, history: dict[str, list[Event]], times: dict[str, int]
) -> None:
    some = st.sampled_from([part for part in parts_of(one) if part.inputs])
    roots = {"a": one, "b": data.draw(dressed(data.draw(some))), "c": data.draw(dressed(data.draw(some)))}
    with mock.patch.object(sharing, "worth_sharing", return_value=True):
        found = share(roots)
    streams = dict(history)
    for name, root in (found.streams | _in_order(found.outputs)).items():
        streams[name] = evaluate(optimize(root), streams, times)
    for name, root in roots.items():
        assert not bag_difference(streams[name], evaluate(root, history, times))


def _in_order(outputs: dict[str, Node]) -> dict[str, Node]:
    """Those that others read first."""
    order: dict[str, Node] = {}

    def visit(name: str) -> None:
        for stream in sorted(streams_of(outputs[name]) & outputs.keys()):
            visit(stream)
        order.setdefault(name, outputs[name])

    for name in outputs:
        visit(name)
    return order


@quick(600)
@given(PLANS)
def test_the_end_is_reached(plan: Node) -> None:
    made = optimize(plan)
    assert optimize(made).identity == made.identity


@quick(600)
@given(queries(), scripts(most=8), st.sampled_from([1, 3, 1000]))
def test_an_app_runs_the_optimized_plan(plan: Node, script: Script, epoch_rows: int) -> None:
    check_every_run(plan, script, epoch_rows)


@quick(200)
@given(queries(), scripts(most=8), st.sampled_from([2, 3, 7]))
def test_tasks_do_not_matter(plan: Node, script: Script, count: int) -> None:
    complete = evaluate(plan, script.inputs(), script.last_ctis())
    with tasks(count):
        assert not bag_difference(play(plan, script).runs[-1].events, complete)


@pytest.mark.soak
@settings(quick(10000), derandomize=False)
@given(PLANS, HISTORIES, TIMES)
def test_all_rules_keep_the_meaning_at_length(
    plan: Node, history: dict[str, list[Event]], times: dict[str, int]
) -> None:
    check(plan, optimize(plan), history, times)
