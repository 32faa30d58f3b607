"""Estimates, what is worth sharing, and how many tasks the stages of an epoch get."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings

import waterclock as wc
from tests.properties.algebra import algebra
from waterclock.catalog import Catalog
from waterclock.errors import ConfigError
from waterclock.expr.nodes import col
from waterclock.optimizer import Statistics, cut
from waterclock.optimizer.cost import Estimate, estimate, worth_sharing
from waterclock.optimizer.parallelism import Parallelism, Tasks
from waterclock.plan import (
    Aggregate,
    Distinct,
    Filter,
    Input,
    Join,
    Node,
    SessionAggregate,
    SetDuration,
    SnapshotAggregate,
    Window,
    WindowAggregate,
)
from waterclock.runtime.measured import measured
from waterclock.schema import Schema
from waterclock.time import FOREVER

SECOND = 1_000_000
SCHEMA = Schema.of({"k": "string", "n": "bigint"})
S, OTHER = (Input(name, SCHEMA, of_points=True) for name in ("s", "o"))
TABLE = Input("t", SCHEMA, of_points=False, static=True)
COUNT = (("c", Aggregate("count")),)


def window(below: Node, *keys: str, size: int = 10 * SECOND, hop: int = 5 * SECOND) -> WindowAggregate:
    return WindowAggregate(below, keys, COUNT, Window(size, hop))


def join(left: Node, right: Node, kind: str = "inner") -> Join:
    return Join(kind, left, right, ("k",), ("k",), tuple((name, f"r_{name}") for name in right.schema.names))


def of(root: Node, **known: dict[str, float]) -> Estimate:
    return estimate(root, Statistics(**known))[root.identity]  # type: ignore[arg-type]


# -- estimates -------------------------------------------------------------------------------------------------


def test_a_window_gives_every_key_once_a_hop() -> None:
    found = of(window(S, "k"), rates={"s": 10_000}, keys={"k": 500})
    assert (found.rows_in, found.rows_out) == (10_000, 100)
    assert found.sent == 100  # folded in front of the exchange
    assert found.state_rows == 500 * 3


def test_there_are_no_more_groups_than_rows() -> None:
    assert of(window(S, "k"), rates={"s": 2}, keys={"k": 1e9}).rows_out == pytest.approx(20 / 5)


def test_a_join_meets_what_is_alive() -> None:
    lasting = [SetDuration(side, 60 * SECOND) for side in (S, OTHER)]
    found = of(join(*lasting), rates={"s": 10, "o": 10}, keys={"k": 100})
    assert found.rows_out == pytest.approx(2 * 10 * 600 / 100)
    assert found.state_rows == 1200
    assert of(join(S, TABLE), rates={"s": 10}).rows_out == pytest.approx(10, rel=0.01)


def test_what_never_ends_is_that_of_a_day() -> None:
    found = of(join(SetDuration(S, FOREVER), OTHER), rates={"s": 1, "o": 1})
    assert found.state_rows == pytest.approx(86_400, rel=0.01)


def test_what_was_measured_goes_before_the_model() -> None:
    node = window(S, "k")
    assert of(window(node, "k"), rates={"s": 100, node.identity: 7}).rows_in == 7
    known = estimate(node, Statistics(states={node.identity: (3, 99)}))[node.identity]
    assert (known.state_rows, known.state_bytes) == (3, 99)


def test_rows_are_as_wide_as_their_columns() -> None:
    assert of(S).bytes == 16 + 24 + 8
    assert of(Filter(S, col("n") > 1), sizes={"s": 200}).bytes == 200


def test_an_estimate_is_one_line() -> None:
    found = of(window(S, "k"), rates={"s": 1_234_567}, keys={"k": 40_000})
    assert str(found) == "1.2M -> 8k rows/s of 48 B, state 120k rows 5.8 MB, cost 617k"
    assert str(of(S, rates={"s": 12})) == "12 -> 12 rows/s of 48 B, cost 6"


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(algebra())
def test_every_plan_has_finite_estimates(plan: Node) -> None:
    known = estimate(plan)
    assert plan.identity in known
    for each in known.values():
        numbers = [value for value in vars(each).values() if isinstance(value, float | int)]
        assert all(math.isfinite(number) and number >= 0 for number in numbers), each
        assert each.sent <= each.rows_in
        assert "\n" not in str(each)


def test_negative_figures_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"rates\['s'\]"):
        Statistics(rates={"s": -1})


def test_what_is_given_goes_before_what_was_measured() -> None:
    found = Statistics(rates={"s": 5}).over(Statistics(rates={"s": 7, "o": 8}, flows={"s": 3}))
    assert (found.rates, found.flows) == ({"s": 5, "o": 8}, {"s": 3})


# -- sharing ---------------------------------------------------------------------------------------------------


def test_worth_sharing() -> None:
    assert worth_sharing(window(S, "k"))
    assert worth_sharing(join(SetDuration(S, SECOND), OTHER))
    assert not worth_sharing(S)
    assert not worth_sharing(Filter(S, col("n") > 1))
    every_row = window(S, "k", size=60 * SECOND, hop=SECOND)
    assert not worth_sharing(every_row, Statistics(rates={"s": 100}, keys={"k": 10_000}))


# -- tasks -----------------------------------------------------------------------------------------------------


def tasks(root: Node, rows: dict[str, int], most: int = 2, flows: dict[str, int] | None = None) -> Tasks:
    return Parallelism(cut("out", root), most, 1, Statistics()).tasks(rows, flows or {})


def test_a_window_is_exchanged_from_a_million_rows_on() -> None:
    assert tasks(window(S, "k"), {"s": 1_000_000}) == Tasks(1, (1,))
    assert tasks(window(S, "k"), {"s": 1_000_001}) == Tasks(2, (2,))


@pytest.mark.parametrize("kind", ["inner", "left", "full", "semi", "anti", "clip"])
def test_a_join_is_exchanged_from_half_a_million_rows_on(kind: str) -> None:
    assert tasks(join(S, OTHER, kind), {"s": 250_000, "o": 250_000}) == Tasks(1, (1,))
    assert tasks(join(S, OTHER, kind), {"s": 250_001, "o": 250_000}) == Tasks(2, (2,))


@pytest.mark.parametrize("node", [SessionAggregate(S, ("k",), COUNT, SECOND), SnapshotAggregate(S, ("k",), COUNT)])
def test_other_operators_too(node: Node) -> None:
    assert tasks(node, {"s": 500_000}).readers == 1
    assert tasks(node, {"s": 500_001}).readers == 2


def test_many_cores_are_used_as_far_as_there_is_work() -> None:
    assert tasks(window(S, "k"), {"s": 3_000_000}, most=16).readers == 6
    assert tasks(window(S, "k"), {"s": 30_000_000}, most=16).readers == 16


def test_a_query_without_state_only_reads() -> None:
    assert tasks(Filter(S, col("n") > 1), {"s": 10_000_000}, most=4) == Tasks(4, ())


def test_behind_a_selective_node_one_task_is_enough() -> None:
    first = window(S, "k")
    second = Distinct(first)
    flows = {"s": 1_000_000, f"{first.identity}:0": 200_000, first.identity: 1_000, f"{second.identity}:0": 1_000}
    assert tasks(second, {"s": 2_000_000}, most=8, flows=flows).parts == (4, 1)
    many = flows | {first.identity: 200_000, f"{second.identity}:0": 200_000}
    assert tasks(second, {"s": 2_000_000}, most=8, flows=many).parts == (4, 8)


def test_threads_need_no_exchange_and_so_less_work() -> None:
    window_in_threads = Parallelism(cut("out", window(S, "k")), 2, 2, Statistics())
    assert window_in_threads.tasks({"s": 99_999}, {}).readers == 1
    assert window_in_threads.tasks({"s": 100_000}, {}).readers == 2
    assert window_in_threads.is_worth_reading_ahead({"s": 50_000}, {})
    more_machines = Parallelism(cut("out", window(S, "k")), 8, 2, Statistics())
    assert more_machines.tasks({"s": 1_000_000}, {}).readers == 2, "one process can do it"
    assert more_machines.tasks({"s": 3_000_000}, {}).readers == 6


def test_reading_ahead_is_worth_a_quarter_of_a_share() -> None:
    windowed = Parallelism(cut("out", window(S, "k")), 2, 1, Statistics())
    assert windowed.is_worth_reading_ahead({"s": 125_000}, {})
    assert not windowed.is_worth_reading_ahead({"s": 124_999}, {})
    joining = Parallelism(cut("out", join(S, OTHER)), 2, 1, Statistics())
    assert joining.is_worth_reading_ahead({"s": 31_250, "o": 31_250}, {})


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(algebra(depth=4))
def test_every_plan_gets_tasks(plan: Node) -> None:
    made = cut("out", plan)
    rows = dict.fromkeys(made.inputs, 2_000_000)
    for parallelism in (Parallelism(made, 4, 1, Statistics()), Parallelism(made, 4, 1, Statistics(rates={"s0": 0}))):
        found = parallelism.tasks(rows, {})
        assert len(found.parts) == made.stages - 1
        assert all(1 <= each <= 4 for each in (found.readers, *found.parts))


# -- counted while running -------------------------------------------------------------------------------------


def test_what_a_run_counts(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    app = make_app(epoch_rows=100)
    source = app.stream("s", {"k": int, "t": "bigint"}, time="t", max_ahead=None)
    source.filter(wc.col("k") < 5).group_by("k").tumbling("1s").agg(n=wc.count()).into("out")
    for start in range(0, 400, 100):
        source.push([{"k": n % 10, "t": n * 100_000} for n in range(start, start + 100)])
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    found = measured(catalog, "out")
    (node,) = cut("out", app._outputs["out"][0].root).nodes
    assert found.flows["s"] == 400
    assert found.flows[node.id] == found.flows["output:0"] == 39 * 5
    assert found.flows[f"{node.id}:0"] == 40 * 5  # a key has one row in each second
    assert found.rates["s"] == pytest.approx(10, rel=0.1)
    assert found.rates[node.id] == pytest.approx(5, rel=0.1)
    assert found.states[node.id][0] > 0
    assert found.sizes["s"] > 8
    catalog.close()
    assert estimate(app._outputs["out"][0].root, found)[node.id].rows_out == pytest.approx(5, rel=0.1)


def test_counts_are_of_late(make_app: Callable[..., wc.App], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waterclock.runtime.measured.RECENT", 60)
    app = make_app()
    source = app.stream("s", {"k": int, "t": "bigint"}, time="t", max_ahead=None)
    source.filter(wc.col("k") == 0).into("out")
    for start in range(3):
        source.push([{"k": int(start > 0), "t": start * 100 + n} for n in range(50)])
        app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    flows = catalog.epochs.snapshot("out").flows
    catalog.close()
    assert flows == {"s": 50, "output:0": 12}


def test_the_answer_does_not_depend_on_what_is_expected(make_app: Callable[..., wc.App], many_tasks: None) -> None:
    answers = []
    for name, expected in (("few", 0.001), ("many", 1e9)):
        app = make_app(name, store=name, tasks=3)
        app.statistics = wc.Statistics(rates={"s": expected}, keys={"k": expected + 1})
        source = app.stream("s", {"k": int, "t": "bigint"}, time="t", max_ahead=None)
        windows = source.group_by("k").tumbling("1s").agg(n=wc.count())
        windows.group_by("n").tumbling("5s").agg(keys=wc.count()).into("out")
        source.push([{"k": n % 7, "t": n * 10_000} for n in range(3000)])
        source.end()
        answers.append(app.run(mode="offline").frame("out"))
    assert answers[0].equals(answers[1])
    assert answers[0].height > 0
