"""Stages on Spark: exchanges that are left out, and stages with different numbers of tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import waterclock as wc
from tests.spark.test_large_blocks import EPOCH, feed
from waterclock.optimizer.parallelism import Parallelism, Tasks
from waterclock.reference import Event, bag_difference, evaluate
from waterclock.runtime.spark.runner import SparkRunner
from waterclock.schema import VE, VS

pytestmark = pytest.mark.spark

ROWS = 900
SECOND = 1_000_000


def rows(seed: int) -> pl.DataFrame:
    n = pl.int_range(ROWS, eager=True)
    key = pl.when(n % 31 == 0).then(None).otherwise(n * seed % 40)
    return pl.select(key=key, t=n * 100_000, value=n * seed % 17)


def streams(app: wc.App) -> list[wc.SourceStream]:
    columns = {"key": int, "t": "bigint", "value": int}
    found = [app.stream(name, columns, "t", duration="3s", max_ahead=None) for name in ("left", "right")]
    for source, seed in zip(found, (7, 11), strict=True):
        source.push(rows(seed))
        source.end()
    return found


def same_key(app: wc.App) -> wc.Stream:
    """A window, a join with a window of the other stream, and a window of windows: three keyed nodes and one more."""
    left, right = streams(app)
    counts = left.group_by("key").tumbling("2s").agg(n=wc.count(), most=wc.max("value"))
    others = right.group_by("key").hopping("4s", "2s").agg(m=wc.count())
    pairs = counts.filter(wc.col("n") > 1).select("n", user="key").join(
        others.select("m", user="key"), on="user", how="inner"
    )  # fmt: skip
    return pairs.group_by("user").tumbling("10s").agg(pairs=wc.count(), n=wc.sum("n"), m=wc.max("m"))


def many_keys(app: wc.App) -> wc.Stream:
    """Three exchanges, and a leg from the streams straight into the last stage, where the join stays."""
    left, right = streams(app)
    counts = left.group_by("key", "value").tumbling("2s").agg(n=wc.count())
    per_value = counts.group_by("value").tumbling("4s").agg(n=wc.sum("n"))
    sizes = per_value.group_by("n").tumbling("4s").agg(values=wc.count())
    return right.join(sizes.select("n", "values"), left_on="value", right_on="n", how="left")


def expected(app: wc.App, query: wc.Stream) -> list[Event]:
    taken = {}
    for name, seed in (("left", 7), ("right", 11)):
        taken[name] = [(row["t"], row["t"] + 3 * SECOND, row) for row in rows(seed).iter_rows(named=True)]
    return evaluate(query._plan, taken)


def found(handle: wc.Handle) -> list[Event]:
    return [(row.pop(VS), row.pop(VE), row) for row in handle.frame("out").iter_rows(named=True)]


@pytest.mark.usefixtures("many_tasks")
def test_three_nodes_of_one_key_are_one_exchange(
    make_app: Callable[..., wc.App], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[tuple[int, int]] = []
    items = SparkRunner._items

    def seen(self: Any, program: Any, step: Any, tasks: int, *stages: Any) -> Any:
        jobs.append((tasks, len(stages)))
        return items(self, program, step, tasks, *stages)

    monkeypatch.setattr(SparkRunner, "_items", seen)
    app = make_app(tasks=3, epoch_rows=600)
    query = same_key(app)
    query.into("out")
    plan = app._outputs["out"][0]
    assert len(plan.nodes) == 4
    assert plan.stages == 2
    handle = app.run(mode="drain")
    handle.wait()
    wanted = expected(app, query)
    assert len(wanted) > 50
    assert not bag_difference(found(handle), wanted)
    assert (3, 1) in jobs
    assert all(stages == 1 for _, stages in jobs)  # rows are read in one job and stepped in another: no shuffle between


@pytest.mark.parametrize("parts", [(3, 1, 2), (1, 3, 2), (2, 3, 1), (1, 1, 3)])
def test_stages_of_different_numbers_of_tasks(
    parts: tuple[int, ...], make_app: Callable[..., wc.App], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks for a later stage pass through stages of fewer tasks and of more."""
    app = make_app(epoch_rows=600)
    query = many_keys(app)
    query.into("out")
    monkeypatch.setattr(Parallelism, "tasks", lambda *_: Tasks(2, parts))
    handle = app.run(mode="drain")
    handle.wait()
    assert app._outputs["out"][0].stages == 1 + len(parts)
    assert not bag_difference(found(handle), expected(app, query))


@pytest.mark.usefixtures("many_tasks")
def test_large_rows_stay_in_their_task_and_become_state(make_app: Callable[..., wc.App]) -> None:
    """The left rows of the second join are made in the task that keeps them; its right rows come through files."""
    answers = []
    for name, mode in (("desk", "offline"), ("spark", "drain")):
        app = make_app(name, store=name, tasks=3, epoch_rows=EPOCH)
        columns = {"key": int, "ts": "bigint", "until": "bigint", "text": str}
        left, right = (app.stream(side, columns, "ts", end="until", slack=1000, max_ahead=None) for side in "lr")
        pairs = left.select("key", "text").join(right.select("key", other="text"), on="key")
        again = pairs.join(right.shift("500ms").select("key", third="text"), on="key", how="left")
        again.into("out")
        plan = app._outputs["out"][0]
        assert (len(plan.nodes), plan.stages) == (2, 2)
        feed([left, right])
        for source in (left, right):
            source.end()
        handle = app.run(mode=mode)
        handle.wait()
        frame = handle.frame("out")
        answers.append(frame.sort(VS, VE, "key", "text", "other", "third"))
    assert answers[0].height > EPOCH
    assert answers[1].equals(answers[0])
