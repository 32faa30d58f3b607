"""The same figures as a page, as JSON and for Prometheus; from this process and from another."""

from __future__ import annotations

import json
import logging
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import waterclock as wc
from tests.unit.metrics.exposition import Exposition, parse
from tests.unit.metrics.test_alerts import FINE, SINK, STREAM, VERTEX
from waterclock.catalog import Catalog
from waterclock.cli.main import main
from waterclock.cli.status import page
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.metrics import observed as observing
from waterclock.runtime.metrics.alerts import check
from waterclock.runtime.metrics.figures import (
    SnapshotStatus,
    Spread,
    Stage,
    Straggler,
    StreamRecent,
    Task,
    VertexRecent,
)
from waterclock.runtime.metrics.gather import apps
from waterclock.runtime.metrics.prometheus import METRICS, text
from waterclock.runtime.metrics.watch import Watch
from waterclock.runtime.metrics.windows import Progress
from waterclock.runtime.recovery import roll_back
from waterclock.runtime.store import Store

Make = Callable[..., wc.App]
T0 = 1_760_000_000_000_000
STAGE = Stage(
    1, 4, 11_000, 0.1, (Task(3, 10_000, 0.5), Task(0, 300, 0.1)), (Straggler(1, 3, 4, 5.0, "skew", 10_000, 0.5),)
)
RECENT = VertexRecent(
    1250.0, 11, 1.5, Spread(0.05, 0.1, 0.5), 0.004, 10, 2.5, Spread(0.06, 0.2, 0.6), 500, 9000, 1, None, (STAGE,)
)
BUSY = replace(
    FINE,
    snapshots=SnapshotStatus(2, 1, 1, 12.0, 0.5),
    streams=(
        replace(
            STREAM, cti=T0, lag=2.5, recent=StreamRecent(1200.0, 1000, 3, 1), backlogs={"out": 40},
            counters={"rows": 1000, "late_dropped": 3, "bad_skipped": 1, "quarantined": 2},
        ),
    ),
    vertices=(
        replace(
            VERTEX, cti=T0 - 5_000_000, cti_in=T0, held_by="open windows or waiting rows of its own", epoch=12,
            backlog=40, state_rows=7, state_bytes=2048, state_runs=3, retries=1, rollbacks=2, failures=1,
            recent=RECENT,
        ),
    ),
    sinks=(replace(SINK, delivered_epoch=9, waiting=3),),
    restarts=2,
    sync_seconds=0.004,
)  # fmt: skip
BUSY = replace(BUSY, alerts=check(BUSY, wc.Alerts(), (), 1_760_000_000.0))


# -- pure --------------------------------------------------------------------------------------------------------

PAGE = """\
app: running for 1h 0m, started 3 times, last sync 4 ms, 50.0 GiB free, run by process 7 on here

ALERT straggler since 2025-10-09 08:53:20 (12.0 s): vertex out, stage 1, task 3 of 4
  skew: 5.0 times the median of its stage (10,000 of 11,000 rows, 0.500 s against 0.100 s) (value 5, threshold 1.4)
  Few keys have many rows, which running the task twice would not mend: add a column to the key, or aggregate before.

ALERT bad since 2025-10-09 08:53:20 (12.0 s): stream clicks
  1 bad or quarantined rows in ten minutes (value 1, threshold 1)
  Divert them (on_bad='divert', ahead='quarantine'), read them in that side stream, and mend what sends them.

global snapshots: 2 complete, the newest begun 12.0 s ago; 1 on the way, the oldest begun 500 ms ago; 1 abandoned

stream   rows  rows/s  late  bad  set aside  CTI                  behind  moved      last row   idle  to take
clicks  1,000  1,200      3    1          2  2025-10-09 08:53:20  2.5 s   1.0 s ago  1.0 s ago    no       40

output  epoch  durable  mark       to take  rows in  rows out  left out  rows/s  CTI                  state rows  state    runs
out        12       10  1.0 s ago       40    1,000         5         0  1,250   2025-10-09 08:53:15           7  2.0 KiB     3

output  epoch p50  p95     max     overhead  latency p50  p95     max     retries  task retries  rollbacks  failures
out     50 ms      100 ms  500 ms  4 ms      60 ms        200 ms  600 ms        1             1          2         1

out: its CTI is held back by open windows or waiting rows of its own

output  stage  tasks    rows  median  slowest task  its rows  its time  straggles by
out         1      4  11,000  100 ms             3    10,000  500 ms    skew (task 3, 5.0×)

sink  delivered epoch  rows  waiting  retries  failures
out                 9     5        3        0         0"""  # noqa: E501


def test_the_page() -> None:
    assert page([BUSY], {"app": "process 7 on here"}, 1_760_000_012.0) == PAGE
    assert page([], {}, 0.0) == "No app has run on this store yet."


def test_json_holds_all_of_it() -> None:
    found = json.loads(json.dumps(BUSY.to_dict()))
    assert found["healthy"] is True
    assert found["vertices"][0]["recent"]["stages"][0]["stragglers"][0]["cause"] == "skew"
    assert found["streams"][0]["backlogs"] == {"out": 40}
    assert found["alerts"][0]["rule"] == "straggler"


def test_prometheus() -> None:
    found = parse(text([BUSY]))
    vertex, stream = {"app": "app", "vertex": "out"}, {"app": "app", "stream": "clicks"}
    assert found.get("waterclock_up", app="app") == 1
    assert found.get("waterclock_restarts_total", app="app") == 2
    assert found.get("waterclock_source_rows_total", **stream) == 1000
    assert found.get("waterclock_late_rows_total", policy="dropped", **stream) == 3
    assert found.get("waterclock_source_errors_total", kind="skipped", **stream) == 1
    assert found.get("waterclock_quarantined_rows_total", **stream) == 2
    assert found.get("waterclock_source_backlog_rows", vertex="out", **stream) == 40
    assert found.get("waterclock_source_event_time_lag_seconds", **stream) == 2.5
    assert found.get("waterclock_source_cti_timestamp_seconds", **stream) == T0 / 1e6
    assert found.get("waterclock_epochs_total", **vertex) == 13
    assert found.get("waterclock_epoch_duration_seconds", quantile="0.95", **vertex) == 0.1
    assert found.get("waterclock_epoch_duration_seconds_sum", **vertex) == 1.5
    assert found.get("waterclock_epoch_duration_seconds_count", **vertex) == 11
    assert found.get("waterclock_commit_latency_seconds", quantile="1", **vertex) == 0.6
    assert found.get("waterclock_checkpoint_pending_epochs", **vertex) == 2
    assert found.get("waterclock_straggler_ratio", stage="1", task="3", cause="skew", **vertex) == 5.0
    assert found.get("waterclock_task_seconds", stage="1", quantile="1", **vertex) == 0.5
    assert found.get("waterclock_sink_waiting_epochs", app="app", sink="out") == 3
    assert found.get("waterclock_alert", app="app", rule="bad", subject="stream clicks") == 1


def test_every_metric_is_there_with_its_labels() -> None:
    found = parse(text([BUSY]))
    assert set(found.kinds) == {metric.name for metric in METRICS}
    for metric in METRICS:
        assert metric.name.startswith("waterclock_")
        labels = {name for sample in found.named(metric.name) for name, _ in sample}
        assert labels == set(metric.labels), metric.name


def test_label_values_are_escaped_and_apps_share_a_metric() -> None:
    odd = 'a "b"\\c\nd'
    found = parse(text([replace(BUSY, app=odd), BUSY]))
    assert {dict(labels)["app"] for labels in found.named("waterclock_up")} == {odd, "app"}


def test_what_is_unknown_is_left_out() -> None:
    unknown = replace(FINE, seconds=None, streams=(replace(STREAM, lag=None, cti_age=None),))
    found = parse(text([unknown]))
    assert not found.named("waterclock_source_event_time_lag_seconds")
    assert "waterclock_epoch_duration_seconds" not in found.kinds
    assert text([]) == ""


# -- the file for others -----------------------------------------------------------------------------------------


def test_what_was_observed_is_read_as_it_was_written(tmp_path: Path) -> None:
    seen = observing.Observed(
        "app", "running", 5.0, None, ("clicks",), 0.004, {"clicks": StreamRecent(1.5, 10, 2, 3)}, {"out": RECENT},
        wc.Alerts(late=0.5, silent=None, lag="2m"), BUSY.alerts,
    )  # fmt: skip
    observing.save(tmp_path, seen)
    assert observing.load(tmp_path, "app") == seen
    assert observing.load(tmp_path, "other") == observing.Observed("other")
    assert [path.name for path in (tmp_path / "metrics").iterdir()] == ["app.json"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"app": "app"}'])
def test_a_file_of_another_version_is_no_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "app.json").write_text(content)
    assert observing.load(tmp_path, "app") == observing.Observed("app")


# -- a store, and a clock of our own -----------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


class Syncing:
    sync_seconds = 0.003


@pytest.fixture
def watched(make_app: Make, tmp_path: Path) -> tuple[wc.SourceStream, Watch, Clock, Path]:
    app = make_app()
    source = app.stream("clicks", {"ts": "timestamp"}, time="ts", late="drop", on_bad="skip", max_ahead=None)
    source.tumbling("5s").agg(n=wc.count()).into("out")
    source.push([{"ts": T0}])
    app.run(mode="offline")
    clock = Clock()
    progress = {"out": Progress()}
    catalog = Catalog.open(tmp_path / "store")
    watch = Watch(catalog, "test", ("clicks",), progress, Syncing(), wc.Alerts(lag="10s", late=0.2), clock)
    return source, watch, clock, tmp_path / "store" / "metrics" / "test.json"


Watched = tuple[wc.SourceStream, Watch, Clock, Path]


def test_rates_come_from_looks(watched: Watched) -> None:
    source, watch, clock, _ = watched
    watch.look("running")
    for second in range(20):
        source.push([{"ts": T0 + second}] * 50)
        clock.now += 1
        status = watch.look("running")
    assert status.streams[0].recent.rows_per_second == 50.0
    assert status.streams[0].rows == 1001


def test_alerts_begin_and_end_in_the_log_and_the_file(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    source, watch, clock, file = watched
    watch.look("running")
    source.push([{"ts": T0 - 1}] * 50 + [{"ts": T0}] * 150)
    began = clock.now = clock.now + 1
    for _ in range(5):
        late = next(alert for alert in watch.look("running").alerts if alert.rule == "late")
        clock.now += 1
    assert (late.since, late.value, late.threshold) == (began, 0.25, 0.2)
    assert [alert["rule"] for alert in json.loads(file.read_text())["alerts"]] == ["late"]
    clock.now += 700
    watch.look("running")
    assert [alert["rule"] for alert in json.loads(file.read_text())["alerts"] if alert["rule"] == "late"] == []
    told = [message for message in caplog.messages if "late" in message]
    assert len(told) == 2
    assert told[0].startswith("test: alert late: stream clicks: 50 of the last 200 rows were late. Raise slack=")
    assert "ended after 70" in told[1]


def test_a_backlog_that_grows_is_seen(watched: Watched) -> None:
    source, watch, clock, _ = watched
    for _ in range(13):
        source.push([{"ts": T0}] * 100)
        clock.now += 1
        status = watch.look("running")
    (alert,) = [alert for alert in status.alerts if alert.rule == "lag"]
    assert alert.subject == "vertex out"
    assert alert.value == 1300


def test_what_does_not_change_is_not_written(watched: Watched) -> None:
    _, watch, clock, file = watched
    for _ in range(12):
        watch.look("running")
        clock.now += 1
    before = file.stat()
    for _ in range(50):
        watch.look("running")
        clock.now += 1
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_full_disk_does_not_stop_the_looking(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    _, watch, _, file = watched
    file.unlink()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(observing, "save", full)
    assert watch.look("running").state == "running"
    monkeypatch.undo()
    watch.look("running")
    assert file.exists()


# -- a running app, seen from another process --------------------------------------------------------------------


@pytest.fixture
def on_this_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Live mode without Java."""
    monkeypatch.setattr("waterclock.launch.runner_of", lambda *_: InProcessRunner())


def command(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "waterclock.cli.main", *map(str, arguments)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout


def served(url: str) -> Exposition:
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        return parse(answer.read().decode())


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


EXACT = (
    "waterclock_up", "waterclock_restarts_total", "waterclock_source_rows_total", "waterclock_late_rows_total",
    "waterclock_source_errors_total", "waterclock_quarantined_rows_total", "waterclock_source_backlog_rows",
    "waterclock_source_cti_timestamp_seconds", "waterclock_epochs_total", "waterclock_rows_in_total",
    "waterclock_rows_out_total", "waterclock_backlog_rows", "waterclock_watermark_timestamp_seconds",
    "waterclock_state_rows", "waterclock_checkpoint_epoch", "waterclock_checkpoint_pending_epochs",
    "waterclock_sink_rows_total", "waterclock_sink_epoch", "waterclock_sink_waiting_epochs", "waterclock_alert",
    "waterclock_epoch_duration_seconds_count", "waterclock_commit_latency_seconds_count",
)  # fmt: skip


def test_endpoint_and_another_process_agree_with_the_input(on_this_desk: None, make_app: Make, tmp_path: Path) -> None:
    app = make_app(metrics_port=0)
    source = app.stream(
        "clicks", {"user": str, "ts": "timestamp"}, time="ts", late="drop", on_bad="skip", ahead="quarantine"
    )
    source.group_by("user").tumbling("5s").agg(n=wc.count()).to(wc.jsonl(tmp_path / "out.jsonl"), "out")
    with app.run() as handle:
        assert handle.metrics_url is not None
        written = tmp_path / "store" / "metrics" / "test.json"
        until(written.exists)  # what was there before the first look is not recent
        rows = [{"user": f"u{n % 4}", "ts": T0 + n * 100_000} for n in range(100)]  # 10 s: windows [0, 5) and [5, 10)
        source.push(rows)
        source.push([{"user": "late", "ts": T0}] * 2 + [{"user": "u0", "ts": T0 + 9_950_000}])
        source.push([{"user": "bad", "ts": None}] * 3)
        source.push([{"user": "ahead", "ts": "2999-01-01"}])
        until(lambda: handle.status().vertices[0].rows_in == 101)
        until(lambda: handle.status().sinks[0].waiting == 0 and handle.status().vertices[0].undurable == 0)
        until(lambda: json.loads(written.read_text())["streams"].get("clicks", {}).get("bad") == 4)
        until(lambda: json.loads(written.read_text())["vertices"]["out"]["arrivals"] >= 2)
        ours, theirs = served(handle.metrics_url), parse(command("metrics", "--store", tmp_path / "store"))
        (found,) = json.loads(command("status", "--store", tmp_path / "store", "--json"))
        shown = command("status", "--store", tmp_path / "store")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(handle.metrics_url + "/else", timeout=10)
    for name in EXACT:
        assert ours.named(name) == theirs.named(name), name
    stream, vertex = {"app": "test", "stream": "clicks"}, {"app": "test", "vertex": "out"}
    assert ours.get("waterclock_source_rows_total", **stream) == 101
    assert ours.get("waterclock_late_rows_total", policy="dropped", **stream) == 2
    assert ours.get("waterclock_source_errors_total", kind="skipped", **stream) == 3
    assert ours.get("waterclock_quarantined_rows_total", **stream) == 1
    assert ours.get("waterclock_rows_in_total", **vertex) == 101
    assert ours.get("waterclock_rows_out_total", **vertex) == 4
    assert ours.get("waterclock_sink_rows_total", app="test", sink="out") == 4
    assert ours.get("waterclock_alert", app="test", rule="bad", subject="stream clicks") == 1
    assert 0 < ours.get("waterclock_commit_latency_seconds", quantile="1", **vertex) < 10
    assert found["state"] == "running"
    assert found["streams"][0]["counters"] == {"rows": 101, "late_dropped": 2, "bad_skipped": 3, "quarantined": 1}
    assert found["vertices"][0]["rows_out"] == 4
    assert [alert["rule"] for alert in found["alerts"]] == ["late", "bad"]
    assert "ALERT bad since" in shown
    assert "test: running for" in shown
    with pytest.raises(urllib.error.URLError):
        served(handle.metrics_url)


def test_after_the_end_and_after_death(on_this_desk: None, make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    source = app.stream("clicks", {"ts": "timestamp"}, time="ts")
    source.tumbling("5s").agg(n=wc.count()).into("out")
    source.push([{"ts": T0}])
    with app.run() as handle:
        until(lambda: handle.status().vertices[0].rows_in == 1)
    catalog = Catalog.open(tmp_path / "store")
    (status,) = apps(catalog, time.time() + 60)
    assert (status.state, status.restarts, status.vertices[0].rows_in) == ("stopped", 0, 1)
    assert status.seconds is not None
    assert status.seconds < 30, "the time that it ran"
    observing.save(catalog.root, replace(observing.load(catalog.root, "test"), state="running", ended=None))
    (status,) = apps(catalog, time.time())
    assert (status.state, status.healthy) == ("dead", False)
    app.run(mode="offline")
    (status,) = apps(catalog, time.time())
    assert (status.state, status.restarts) == ("stopped", 1)
    catalog.close()


def test_times_are_exact_and_kept_in_the_catalog(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    source = app.stream("clicks", {"ts": "timestamp"}, time="ts", slack=None)
    source.push([{"ts": T0}])
    catalog = Catalog.open(tmp_path / "store")
    first = catalog.streams.get("clicks")
    assert first.arrived == first.stalled is not None
    assert first.moved is None
    source.push([{"ts": T0}])
    second = catalog.streams.get("clicks")
    assert second.arrived is not None
    assert second.arrived > first.arrived  # type: ignore[operator]
    assert second.stalled == first.stalled
    source.advance(T0)
    third = catalog.streams.get("clicks")
    assert (third.arrived, third.stalled) == (second.arrived, None)
    assert third.moved is not None
    assert third.moved >= second.arrived
    segments = catalog.streams.segments("clicks", 0, 2)
    assert [segment.arrived for segment in segments] == [first.arrived, second.arrived]
    catalog.close()


def test_rollbacks_and_what_is_executed_again_are_counted(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    source = app.stream("clicks", {"ts": "timestamp"}, time="ts")
    source.into("out")
    source.push([{"ts": T0}])
    app.run(mode="offline")
    with sqlite3.connect(
        tmp_path / "store" / "catalog.sqlite"
    ) as connection:  # as if the power had gone before the sync
        connection.execute("UPDATE vertices SET durable_epoch = -1, stored_epoch = -1")
    catalog = Catalog.open(tmp_path / "store")
    roll_back(Store(catalog, None), "out")
    app.run(mode="offline")
    (status,) = apps(catalog, time.time())
    (vertex,) = status.vertices
    assert (vertex.rollbacks, vertex.retries, vertex.failures, vertex.rows_out) == (1, 1, 0, 1)
    catalog.close()


def test_watching_draws_the_page_again(make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    app.stream("clicks", {"ts": "timestamp"}, time="ts").into("out")
    app.run(mode="offline")
    pauses = iter([None])

    def pause(_: float) -> None:
        if next(pauses, "over") == "over":
            raise KeyboardInterrupt

    monkeypatch.setattr("waterclock.cli.status.time.sleep", pause)
    result = CliRunner().invoke(main, ["status", "--watch", "--store", str(tmp_path / "store")])
    assert result.exit_code == 130
    assert result.stdout.count("test: stopped after") == 2


def test_an_epoch_that_keeps_failing(make_app: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    app = make_app()
    source = app.stream("rows", {"n": "bigint", "ts": "timestamp"}, time="ts")
    source.tumbling("5s").agg(x=wc.sum("n")).into("out")
    source.push([{"n": 2**62, "ts": T0}] * 5)  # their sum does not fit
    source.end()
    for _ in range(3):
        with pytest.raises(wc.DataError, match=r"DATA\.OVERFLOW"):
            app.run(mode="offline")
    (found,) = json.loads(command("status", "--store", tmp_path / "store", "--json"))
    (alert,) = found["alerts"]
    assert (found["state"], found["healthy"], found["restarts"]) == ("failed", False, 2)
    assert (alert["rule"], alert["subject"], alert["value"]) == ("failing", "vertex out", 3)
    assert alert["since"] < time.time()
    (vertex,) = found["vertices"]
    assert (vertex["failures"], vertex["failing"], vertex["retries"], vertex["rollbacks"]) == (3, 3, 2, 0)
    assert sum("alert failing: vertex out: epoch" in message for message in caplog.messages) == 2


def test_a_sink_that_keeps_failing(make_app: Make, tmp_path: Path) -> None:
    good = threading.Event()

    def broken(epoch: int, rows: object) -> None:
        if not good.is_set():
            raise ValueError("no")

    app = make_app()
    source = app.stream("clicks", {"ts": "timestamp"}, time="ts")
    source.to(wc.callback(broken), "out")
    source.push([{"ts": T0}])
    for _ in range(2):
        with pytest.raises(wc.RunError, match=r"RUN\.SINK_FAILED"):
            app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    (status,) = apps(catalog, time.time())
    (alert,) = status.alerts
    assert (alert.rule, alert.subject, alert.value) == ("failing", "sink out", 2)
    (sink,) = status.sinks
    assert (sink.rows, sink.waiting, sink.retries, sink.failures) == (0, status.vertices[0].epoch + 1, 1, 2)
    good.set()
    app.run(mode="offline")
    (status,) = apps(catalog, time.time())
    (sink,) = status.sinks
    assert (sink.rows, sink.waiting, sink.retries, sink.failures, sink.failing) == (1, 0, 2, 2, 0)
    assert status.alerts == ()
    catalog.close()


def test_a_port_that_is_taken(make_app: Make) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        app = make_app(metrics_port=taken.getsockname()[1])
        source = app.stream("clicks", {"ts": "timestamp"}, time="ts")
        source.into("out")
        with pytest.raises(wc.ConfigError, match=r"CONFIG\.BAD_OPTION.*metrics_port"):
            app.run(mode="offline")
    app.metrics_port = None
    app.run(mode="offline")


def test_the_port_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import waterclock as wc\n"
        "app = wc.App('a')\n"
        "rows = app.stream('rows', {'n': int}, time='n')\n"
        "rows.into('out')\n"
        "rows.push([{'n': 1}])\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "waterclock.cli.main", "run", str(file), "--store", str(tmp_path / "store"),
         "--mode", "offline", "--metrics-port", "0", "--quiet"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stderr.startswith("metrics at http://127.0.0.1:")
    assert done.stderr.count("\n") == 1


def test_an_idle_app_stays_idle(on_this_desk: None, make_app: Make, tmp_path: Path) -> None:
    """No epoch, nothing written, hardly any time of the looks."""
    app = make_app()
    source = app.stream("clicks", {"ts": "timestamp"}, time="ts")
    source.tumbling("5s").agg(n=wc.count()).into("out")
    source.push([{"ts": T0}])
    with app.run() as handle:
        until(lambda: handle.status().vertices[0].undurable == 0 and handle.status().vertices[0].epoch >= 0)
        watch, file = handle._engine.parts.watch, tmp_path / "store" / "metrics" / "test.json"
        for window in (watch._streams["clicks"].rate, watch._vertices["out"].rate):
            window.span = 0.1  # rates have calmed down
        time.sleep(2.5)
        before = (handle.status().vertices[0].epoch, file.stat().st_mtime_ns)
        time.sleep(2.5)
        assert (handle.status().vertices[0].epoch, file.stat().st_mtime_ns) == before
        began = time.thread_time()
        for _ in range(20):
            watch.look("running")
        assert (time.thread_time() - began) / 20 < 0.02, "of a second"


def test_alerts_are_shown_where_nobody_set_up_logging() -> None:
    code = (
        "from waterclock.runtime.metrics.watch import tell\n"
        "from waterclock.runtime.metrics.figures import Alert\n"
        "tell('app', (), (Alert('bad', 'stream s', 0.0, 1.0, 1.0, 'one', 'Mend it.'),), 1.0, running=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "app: alert bad: stream s: one. Mend it.\n"
    assert logging.getLogger("waterclock").level == logging.NOTSET
