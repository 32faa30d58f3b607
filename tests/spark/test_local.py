"""On local Spark: the same answer as in this process, with tasks dying and retried; no job runs when idle."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from tests.conftest import SPARK
from waterclock import launch
from waterclock.catalog import Catalog
from waterclock.runtime.log import StreamReader
from waterclock.runtime.spark import session
from waterclock.schema import VE, VS

pytestmark = pytest.mark.spark


def events(rows: int) -> pl.DataFrame:
    n = pl.int_range(rows, eager=True)
    return pl.DataFrame(
        {
            "key": ("k" + (n * 7919 % 101).cast(pl.String)),
            "value": n * 31 % 1000 - 500,
            "ts": n * 1000 - n * 17 % 5000,
            "until": n * 1000 + 1 + n * 13 % 9000,
        }
    )


def build(app: wc.App) -> wc.SourceStream:
    source = app.stream(
        "events",
        {"key": str, "value": int, "ts": "bigint", "until": "bigint"},
        time="ts",
        end="until",
        slack=10_000,
        max_ahead=None,
    )
    high = source.filter(wc.col("value") > 0).select("key", "value")
    low = source.filter(wc.col("value") < -100).select("key", value=-wc.col("value"))
    per_key = high.union(low).group_by("key").hopping("2s", "500ms", result="window")
    per_key.agg(n=wc.count(), s=wc.sum("value"), least=wc.min("value"), mean=wc.avg("value")).into("per_key")
    app.read("per_key").tumbling("4s").agg(keys=wc.count(), n=wc.sum("n")).into("totals")
    high.union(low).filter(wc.col("value") > 490).into("extreme")
    return source


def feed(source: wc.SourceStream, rows: int = 4000, chunk: int = 250) -> None:
    frame = events(rows)
    for start in range(0, rows, chunk):
        source.push(frame[start : start + chunk])
    source.end()


def outputs(store: Path) -> dict[str, pl.DataFrame]:
    catalog = Catalog.open(store)
    found = {}
    for name in ("per_key", "totals", "extreme"):
        frame = StreamReader(catalog, name).read(0, catalog.streams.get(name).next)
        found[name] = frame.sort(VS, VE, *[c for c in frame.columns if c not in (VS, VE)])
    catalog.close()
    return found


def expected(make_app: Callable[..., wc.App], tmp_path: Path) -> dict[str, pl.DataFrame]:
    app = make_app("desk", store="desk")
    feed(build(app))
    app.run(mode="offline")
    found = outputs(tmp_path / "desk")
    assert found["per_key"].height > 1000
    return found


def equal(left: dict[str, pl.DataFrame], right: dict[str, pl.DataFrame]) -> None:
    for name, frame in left.items():
        assert frame.equals(right[name]), name


@pytest.mark.parametrize("tasks", [1, 2, 3, 7])
def test_equals_offline_for_any_number_of_tasks(
    tasks: int, many_tasks: None, make_app: Callable[..., wc.App], tmp_path: Path
) -> None:
    app = make_app(tasks=tasks, epoch_rows=900)
    feed(build(app))
    handle = app.run(mode="drain")
    handle.wait()
    equal(outputs(tmp_path / "store"), expected(make_app, tmp_path))
    sent = {vertex.name: (vertex.recent.sent_rows, vertex.recent.sent_bytes) for vertex in handle.status().vertices}
    assert sent["extreme"] == (0, 0)  # it has no state, so nothing is exchanged
    assert 0 < sent["per_key"][0] < sent["per_key"][1]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_arrival_does_not_matter(
    seed: int, many_tasks: None, make_app: Callable[..., wc.App], tmp_path: Path
) -> None:
    """Between two CTIs, which here is inside a push."""
    app = make_app(epoch_rows=700)
    source = build(app)
    frame = events(4000)
    for start in range(0, 4000, 250):
        source.push(frame[start : start + 250].sample(fraction=1.0, shuffle=True, seed=seed))
    source.end()
    app.run(mode="drain").wait()
    equal(outputs(tmp_path / "store"), expected(make_app, tmp_path))


def test_workers_that_die_are_retried(many_tasks: None, make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    """Every Python worker is killed at its third task; Spark runs those tasks again elsewhere.

    More often than usual: on a busy machine a task meets one worker after another that other vertices have used up.
    """
    app = make_app(epoch_rows=900)
    app.master = "local[2,20]"
    app.spark |= {"spark.executorEnv.WATERCLOCK_CRASH": "task.running:3"}
    feed(build(app))
    app.run(mode="drain").wait()
    equal(outputs(tmp_path / "store"), expected(make_app, tmp_path))


def test_a_worker_that_always_dies_is_an_error(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    """Shows that the test above does kill: here no attempt survives. The epoch runs at the next start."""
    app = make_app()
    app.spark |= {"spark.executorEnv.WATERCLOCK_CRASH": "task.running:1"}
    feed(build(app))
    with pytest.raises(wc.RunError, match=r"RUN\.STEP_FAILED"):
        app.run(mode="drain").wait()
    app.spark = dict(SPARK)
    app.run(mode="drain").wait()
    equal(outputs(tmp_path / "store"), expected(make_app, tmp_path))


def test_an_idle_app_runs_no_jobs(make_app: Callable[..., wc.App]) -> None:
    """Time still goes on: the window of the only event closes, without a job."""
    app = make_app()
    source = app.stream("ticks", {"ts": "timestamp"}, time="ts", idle="200ms")
    source.tumbling("1s").agg(n=wc.count()).into("counts")
    with app.run() as handle:
        context = session.context(app.name, app.master, app.spark)
        source.push([{"ts": "2026-11-16T00:00:00Z"}])
        deadline = time.monotonic() + 20
        while handle.status().vertices[0].rows_in == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        before = _jobs(context)
        while handle.status().vertices[0].rows_out == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert handle.status().vertices[0].rows_out == 1, "the idle rule closes the last window"
        time.sleep(1)
        assert _jobs(context) == before


def test_an_idle_app_says_that_its_jvm_was_killed_and_runs_again(
    make_app: Callable[..., wc.App], tmp_path: Path
) -> None:
    app = make_app()
    source = build(app)
    handle = app.run()
    gateway = session.context(app.name, app.master, app.spark)._gateway
    assert gateway is not None
    gateway.proc.kill()
    with pytest.raises(wc.RunError, match=r"RUN\.SPARK_LOST.* killed by signal 9"):
        handle.wait(30)
    feed(source)
    app.run(mode="drain").wait()
    equal(outputs(tmp_path / "store"), expected(make_app, tmp_path))


def _jobs(context: object) -> int:
    return int(context._jsc.sc().dagScheduler().nextJobId())  # type: ignore[attr-defined]


def test_stop_drains_and_a_new_run_goes_on(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    app = make_app(epoch_rows=300)
    source = build(app)
    frame = events(4000)
    handle = app.run()
    for start in range(0, 2000, 250):
        source.push(frame[start : start + 250])
    handle.stop(drain=True)
    assert handle.state == "stopped"
    handle = app.run()
    for start in range(2000, 4000, 250):
        source.push(frame[start : start + 250])
    source.end()
    deadline = time.monotonic() + 60
    while any(v.backlog for v in handle.status().vertices) and time.monotonic() < deadline:
        time.sleep(0.05)
    handle.stop()
    app.run(mode="drain").wait()
    equal(outputs(tmp_path / "store"), expected(make_app, tmp_path))


def test_stop_at_once_cancels_the_job_and_loses_nothing(
    many_tasks: None, make_app: Callable[..., wc.App], tmp_path: Path
) -> None:
    app = make_app(epoch_rows=200)
    feed(build(app))
    handle = app.run()
    time.sleep(0.5)
    handle.stop(drain=False)
    assert handle.state == "stopped"
    app.run(mode="drain").wait()
    equal(outputs(tmp_path / "store"), expected(make_app, tmp_path))


def test_an_error_in_a_task_is_one_sentence_and_loses_nothing(
    make_app: Callable[..., wc.App], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app()
    source = build(app)
    feed(source)
    path = next((tmp_path / "store" / "streams" / "events").iterdir())
    data = path.read_bytes()
    path.write_bytes(data[:1000])
    with pytest.raises(wc.StoreError, match=r"STORE\.DAMAGED.*too short"):
        app.run(mode="drain").wait()
    path.write_bytes(data)
    app.run(mode="drain").wait()
    equal(outputs(tmp_path / "store"), expected(make_app, tmp_path))


def test_large_outputs_get_files_of_their_own(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    app = make_app(epoch_rows=200_000, tasks=2)
    source = app.stream("rows", {"n": "bigint", "text": str}, time="n", max_ahead=None)
    source.filter(wc.col("n") % 2 == 0).into("even")
    n = pl.int_range(400_000, eager=True)
    source.push(pl.DataFrame({"n": n, "text": "event number " + n.cast(pl.String)}))
    source.end()
    app.run(mode="drain").wait()
    catalog = Catalog.open(tmp_path / "store")
    even = StreamReader(catalog, "even").read(0, catalog.streams.get("even").next)
    assert even["n"].to_list() == list(range(0, 400_000, 2)), "in the order of the input"
    assert list((tmp_path / "store/streams/even").glob("e*-*.arrow"))


def test_settings_of_the_context(make_app: Callable[..., wc.App]) -> None:
    context = session.context("test", "local[2,4]", SPARK)
    assert context.getConf().get("spark.python.unix.domain.socket.enabled") == "true"
    assert os.environ["PYSPARK_PYTHON"]


def test_a_drain_of_a_source_without_an_end(make_app: Callable[..., wc.App], monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes what was due when it began, though more is due all the time."""
    began = 1_700_000_000_000_000
    monkeypatch.setattr(launch, "wall_clock", lambda: began)
    app = make_app()
    source = wc.generate(lambda events: events.select("ts"), rate=1000, start=began - 2_000_000, batch=100)
    app.stream("ticks", {"ts": "timestamp"}, time="ts", source=source).into("copy")
    handle = app.run(mode="drain")
    assert handle.wait(60)
    assert handle.status().counters["ticks"]["rows"] == 2000
    monkeypatch.setattr(launch, "wall_clock", lambda: began + 1_000_000)
    assert app.run(mode="batch").frame("copy").height == 3000
