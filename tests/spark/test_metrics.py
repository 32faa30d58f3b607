"""Figures of an app on Spark: rows and seconds of its tasks, tasks that were tried again, no jobs for looking."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.runtime.metrics.gather import apps

pytestmark = pytest.mark.spark
MakeApp = Callable[..., wc.App]
ROWS = 4000
T0 = 1_760_000_000_000_000


def build(app: wc.App) -> wc.SourceStream:
    source = app.stream("rows", {"k": "bigint", "ts": "timestamp"}, time="ts")
    source.group_by("k").tumbling("1s").agg(n=wc.count()).into("out")
    return source


def feed(source: wc.SourceStream) -> None:
    n = pl.int_range(ROWS, eager=True)
    source.push(pl.DataFrame({"k": n % 50, "ts": (T0 + n * 1000).cast(pl.Datetime("us"))}))
    source.end()


def test_rows_and_seconds_of_every_task(many_tasks: None, make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app(epoch_rows=1000, tasks=2)
    feed(build(app))
    handle = app.run(mode="drain")
    handle.wait()
    (vertex,) = handle.status().vertices
    assert (vertex.rows_in, vertex.recent.task_retries, vertex.retries) == (ROWS, 0, 0)
    assert vertex.recent.epoch_seconds is not None
    assert vertex.recent.latency is not None
    read, keyed = vertex.recent.stages
    assert (read.stage, read.tasks, read.rows) == (0, 2, 1000)
    assert (keyed.stage, keyed.tasks) == (1, 2)
    assert 0 < keyed.rows <= 1000
    assert all(task.seconds > 0 for stage in (read, keyed) for task in stage.slowest)
    assert all(0 < stage.median <= vertex.recent.epoch_seconds.most for stage in (read, keyed))
    catalog = Catalog.open(tmp_path / "store")
    (outside,) = apps(catalog, time.time())
    catalog.close()
    assert outside.vertices[0].recent == vertex.recent


def test_a_task_that_stays_slow_is_told(many_tasks: None, make_app: MakeApp) -> None:
    """The task with one key naps in every epoch; what it takes cannot be told from its rows."""

    @wc.function(returns="bigint")
    def naps(keys):  # type: ignore[no-untyped-def]
        if (keys == 7).any():
            time.sleep(0.2)
        return keys

    app = make_app(tasks=2)
    source = app.stream("rows", {"k": "bigint", "ts": "timestamp"}, time="ts")
    counts = source.group_by("k").tumbling("100ms").agg(n=wc.count())
    counts.select(k=naps(wc.col("k")), n="n").into("out")
    with app.run() as handle:
        for number in range(8):
            n = pl.int_range(500 * number, 500 * (number + 1), eager=True)
            source.push(pl.DataFrame({"k": n % 50, "ts": (T0 + n * 1000).cast(pl.Datetime("us"))}))
            deadline = time.monotonic() + 30
            while handle.status().vertices[0].backlog and time.monotonic() < deadline:
                time.sleep(0.02)
        deadline = time.monotonic() + 30
        while not (alerts := handle.status().alerts) and time.monotonic() < deadline:
            time.sleep(0.05)
        (found,) = [each for stage in handle.status().vertices[0].recent.stages for each in stage.stragglers]
    assert (found.stage, found.tasks, found.cause) == (1, 2, "slow")
    assert found.ratio > 1.4
    assert [(each.rule, f"task {found.task} of 2" in each.subject) for each in alerts] == [("straggler", True)]


def test_tasks_that_are_tried_again_are_counted(make_app: MakeApp) -> None:
    app = make_app(epoch_rows=1000, tasks=1)
    app.spark |= {"spark.executorEnv.WATERCLOCK_CRASH": "task.running:3"}
    feed(build(app))
    handle = app.run(mode="drain")
    handle.wait()
    (vertex,) = handle.status().vertices
    assert vertex.rows_in == ROWS
    assert vertex.recent.task_retries > 0
    assert vertex.failures == 0
