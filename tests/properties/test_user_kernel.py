"""User code over events: any order of arrival and any cut into epochs gives what the reference says."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import waterclock as wc
from tests.properties.drive import play, tasks
from tests.properties.kernel import Batch
from tests.properties.kernel_cases import batches, check, few_hashes
from tests.properties.strategies import SCHEMA, Script, scripts
from tests.properties.test_app import check_every_run, quick, recut
from waterclock.lang.fluent import OperatorFunction
from waterclock.plan import Apply, Input, Node, Track
from waterclock.reference import bag_difference, evaluate
from waterclock.schema import Schema
from waterclock.usercode import Code

KEYS = st.sampled_from([(), ("k",), ("k",), ("k", "t"), ("y",)])

# Every function depends on the order of its events.


def begin(key: Any, event: wc.Row) -> dict[str, Any] | None:
    return None if event.x == 3 else {"n": 1, "trail": f"{event.x}", "z": event.y}


def go_on(key: Any, state: dict[str, Any], event: wc.Row) -> dict[str, Any] | None:
    if event["x"] == 0:
        return None
    state["n"] += 1  # it is ours to change
    return {**state, "trail": f"{state['trail']},{event.x}"[-12:], "z": event.y}


LOG = Schema.of({"n": "int", "trail": "string", "z": "float"})


@wc.operator(returns={"n": "bigint", "first": "int", "seen": "bigint"}, every=4, state={"seen": "bigint"}, timeout=9)
def seen_before(events: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    before = state["seen"].sum()
    after = pl.DataFrame({"seen": [before + events.height]})
    return events.select(pl.len().alias("n"), pl.col("x").first().alias("first")).with_columns(seen=before), after


@wc.operator(returns={"x": "int"}, every=5, offset=2)
class Shorter:
    """Some events, each for as long as it lives but at most ``most``."""

    def __init__(self, most: int) -> None:
        self.most = most

    def step(self, events: pl.DataFrame) -> pl.DataFrame | None:
        some = events.filter(pl.col("x") > 0)
        ends = pl.min_horizontal(pl.col("_ve"), pl.col("_vs") + self.most)
        return some.select("_vs", ends.alias("_ve"), "x") if some.height else None


@wc.operator(returns={"last": "double"}, every=3, state={"y": "double", "x": "int"})
def last_two(
    events: pl.DataFrame, state: pl.DataFrame
) -> tuple[None, pl.DataFrame] | tuple[pl.DataFrame, pl.DataFrame]:
    kept = pl.concat([state, events.select("y", "x")]).tail(2)
    return kept.select(pl.col("y").sum().alias("last")), kept


OPERATORS: list[OperatorFunction] = [seen_before, Shorter(3), last_two]


@st.composite
def tracks(draw: st.DrawFn, source: Node) -> Track:
    timeout = draw(st.one_of(st.none(), st.integers(1, 20)))
    result = draw(st.sampled_from(["hold", "hold", "point"]))
    return Track(source, draw(KEYS), Code.of(begin), Code.of(go_on), LOG, timeout, result)


@st.composite
def applied(draw: st.DrawFn, source: Node) -> Apply:
    return Apply(source, draw(KEYS), draw(st.sampled_from(OPERATORS)).declared)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Node, list[Batch]]:
    points = draw(st.booleans())
    source = Input("s0", SCHEMA, points)
    return draw(st.one_of(tracks(source), applied(source))), draw(batches(1, points))


@quick(500)
@given(cases())
def test_user_code_gives_what_the_reference_says(case: tuple[Node, list[Batch]]) -> None:
    check(*case)


@quick(150)
@given(cases())
def test_unequal_keys_may_share_a_hash(case: tuple[Node, list[Batch]]) -> None:
    with few_hashes():
        check(*case)


@st.composite
def plans(draw: st.DrawFn) -> Node:
    """User code over a stream, and over what user code made of it."""
    source: Node = Input("s0", SCHEMA, False, may_be_open=True)
    if draw(st.booleans()):
        return draw(st.one_of(tracks(source), applied(source)))
    below = Apply(source, ("k", "t", "y"), Shorter(4).declared)
    return Track(below, draw(KEYS), Code.of(begin), Code.of(go_on), LOG, 9)


@quick(50)
@given(plans(), scripts(most=10), st.sampled_from([1, 2, 3, 1000]))
def test_every_run_of_an_app_is_right(plan: Node, script: Script, epoch_rows: int) -> None:
    check_every_run(plan, script, epoch_rows)


@quick(100)
@given(plans(), scripts(most=10), st.integers(1, 5), st.randoms(use_true_random=False))
def test_order_cuts_ctis_and_tasks_do_not_matter(
    plan: Node, script: Script, epoch_rows: int, chance: random.Random
) -> None:
    complete = evaluate(plan, script.inputs(), script.last_ctis())
    with tasks(chance.choice([1, 2, 3, 7])):
        assert not bag_difference(play(plan, recut(script, chance), epoch_rows).runs[-1].events, complete)


@pytest.mark.soak
@settings(quick(7000), derandomize=False)
@given(cases())
def test_user_code_at_length(case: tuple[Node, list[Batch]]) -> None:
    check(*case)
