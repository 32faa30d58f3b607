"""What outputs of a program have in common is computed once."""

from __future__ import annotations

from pathlib import Path

import pytest

import waterclock as wc
from tests.unit.test_rules import COUNT, LENGTH, OPEN, SPANS, K, X
from waterclock.errors import ConfigError
from waterclock.expr.nodes import col
from waterclock.handle import Handle
from waterclock.optimizer import Statistics, share
from waterclock.plan import Distinct, Filter, Input, Project, Shift, SnapshotAggregate, Union, WindowAggregate

COMMON = Distinct(Filter(SPANS, X))
ONE, OTHER = Filter(COMMON, K), Shift(COMMON, 5)
NAME = f"shared-{COMMON.identity}"


def test_the_largest_common_part_becomes_a_stream() -> None:
    found = share({"a": ONE, "b": OTHER, "c": Filter(SPANS, X)})
    assert list(found.streams) == [NAME]
    assert found.streams[NAME].identity == COMMON.identity
    for name in ("a", "b"):
        (below,) = found.outputs[name].inputs
        assert isinstance(below, Input)
        assert below.stream == NAME
        assert below.schema == COMMON.schema
    assert found.outputs["c"].identity == Filter(SPANS, X).identity


def test_one_that_is_an_output_is_read_from_there() -> None:
    found = share({"b": OTHER, "a": COMMON})
    assert not found.streams
    assert found.outputs["a"].identity == COMMON.identity
    assert found.outputs["b"].inputs[0].label.startswith("stream a ")


def test_equal_outputs_are_computed_once() -> None:
    found = share({"a": COMMON, "b": Distinct(Filter(SPANS, X))})
    assert isinstance(found.outputs["b"], Input)
    assert not isinstance(found.outputs["a"], Input)


def test_properties_go_along() -> None:
    made = SnapshotAggregate(OPEN, (), COUNT)
    found = share({"a": Filter(made, col("n") > 1), "b": Shift(made, 5)})
    (read,) = found.outputs["a"].inputs
    assert (read.points, read.open_ended, read.endless) == (made.points, made.open_ended, made.endless)


def test_a_part_of_a_shared_part_is_shared_with_others() -> None:
    larger = WindowAggregate(COMMON, ("k",), COUNT, LENGTH)
    roots = {"a": Filter(larger, K), "b": Shift(larger, 5), "c": Shift(COMMON, 1)}
    found = share(roots, statistics=Statistics(rates={"s": 1_000_000}, keys={"k": 2}))
    assert list(found.streams) == [NAME, f"shared-{larger.identity}"]
    assert isinstance(found.streams[f"shared-{larger.identity}"].inputs[0], Input)
    assert isinstance(found.outputs["c"].inputs[0], Input)


def test_what_gives_more_than_it_takes_is_computed_twice() -> None:
    larger = WindowAggregate(COMMON, ("k",), COUNT, LENGTH)
    roots = {"a": Filter(larger, K), "b": Shift(larger, 5)}
    assert f"shared-{larger.identity}" not in share(roots, statistics=Statistics(rates={"s": 1})).streams


def test_what_has_no_state_is_not_shared() -> None:
    stateless = Project(Filter(SPANS, X), (("x", col("x")),))
    assert not share({"a": Filter(stateless, X), "b": Shift(stateless, 5)}).streams


def test_twice_in_one_output_is_not_shared() -> None:
    assert not share({"a": Union((ONE, OTHER)), "b": Filter(SPANS, X)}).streams


def test_early_results_and_windows_of_endless_events_are_not_shared() -> None:
    early = WindowAggregate(SPANS, ("k",), COUNT, LENGTH, early=5)
    assert not share({"a": Filter(early, K), "b": Shift(early, 5)}).streams
    endless = Distinct(OPEN)
    windowed = WindowAggregate(endless, (), COUNT, LENGTH)
    assert not share({"a": windowed, "b": Shift(endless, 5)}).streams


def test_outputs_that_a_store_knows_keep_their_form() -> None:
    alone = share({"a": ONE, "b": OTHER}, {"a": ["s"]})
    assert not alone.streams
    assert alone.outputs["a"].identity == ONE.identity
    still = share({"a": ONE}, {"a": [NAME], "b": [NAME], NAME: ["s"]})
    assert list(still.streams) == [NAME]
    later = share({"a": ONE, "b": OTHER, "c": Shift(COMMON, 9)}, {"a": [NAME], "b": [NAME], NAME: ["s"]})
    assert list(later.streams) == [NAME]
    assert later.outputs["c"].identity == Shift(COMMON, 9).identity  # what its readers are done with is gone


# -- in an app ---------------------------------------------------------------------------------------------


def program(store: Path, *outputs: str, **options: bool) -> tuple[wc.App, wc.SourceStream]:
    app = wc.App("test", store, **options)  # type: ignore[arg-type]
    app.statistics = wc.Statistics(rates={"s": 10_000_000}, keys={"k": 3})  # so that sharing pays off
    source = app.stream("s", {"t": "bigint", "k": str, "x": int}, "t", slack=0)
    counts = source.group_by("k").tumbling(10).agg(n=wc.count(), most=wc.max("x"))
    if "many" in outputs:
        counts.filter(wc.col("n") > 1).select("k", "n").into("many")
    if "best" in outputs:
        counts.select("k", "most").into("best")
    if "all" in outputs:
        counts.into("all")
    return app, source


def rows(handle: Handle, name: str) -> list[tuple[object, ...]]:
    return sorted(handle.frame(name).iter_rows())


EVENTS = [{"t": t, "k": "ab"[t % 2], "x": t * 7 % 10} for t in range(40)]


@pytest.mark.parametrize("outputs", [("many", "best"), ("many", "best", "all"), ("all",)])
def test_an_app_gives_the_same_with_and_without(tmp_path: Path, outputs: tuple[str, ...]) -> None:
    found = []
    for number, optimized in enumerate((True, False)):
        app, source = program(tmp_path / str(number), *outputs, optimize=optimized)
        source.push(EVENTS[:25])
        app.run(mode="offline")
        source.push(EVENTS[25:])
        source.end()
        handle = app.run(mode="offline")
        found.append({name: rows(handle, name) for name in outputs})
        names = [vertex.name for vertex in handle.status().vertices]
        assert any(name.startswith("shared-") for name in names) == (optimized and outputs == ("many", "best"))
    assert found[0] == found[1]
    assert all(found[0].values())


def test_outputs_may_come_and_go(tmp_path: Path) -> None:
    app, source = program(tmp_path, "many", "best")
    source.push(EVENTS[:25])
    app.run(mode="offline")
    app, source = program(tmp_path, "many", "best", "all")
    app.run(mode="offline")
    app, source = program(tmp_path, "many", "all")
    source.push(EVENTS[25:])
    source.end()
    handle = app.run(mode="offline")
    assert sum(row[-1] for row in rows(handle, "many")) == 40  # type: ignore[misc]


def test_a_changed_query_is_still_refused(tmp_path: Path) -> None:
    app, source = program(tmp_path, "all")
    source.push(EVENTS)
    app.run(mode="offline")
    app = wc.App("test", tmp_path)
    source = app.stream("s", {"t": "bigint", "k": str, "x": int}, "t", slack=0)
    source.group_by("k").tumbling(20).agg(n=wc.count(), most=wc.max("x")).into("all")
    with pytest.raises(ConfigError, match=r"PLAN\.CHANGED"):
        app.run(mode="offline")


def test_explain_shows_the_plan_as_written(tmp_path: Path) -> None:
    app, _ = program(tmp_path, "many", "best")
    before = app.explain("logical")
    app.run(mode="offline")
    assert app.explain("logical") == before
    assert before.count("aggregate count(*) as n, max(x) as most by k") == 2
    assert app.explain("optimized").count("aggregate count(*) as n, max(x) as most by k") == 1, "it is shared"
