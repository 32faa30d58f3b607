"""An app that goes on computes in the driver until Spark has started."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import waterclock as wc
from waterclock import launch
from waterclock.catalog import Catalog
from waterclock.errors import RunError
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.runner import Runner
from waterclock.runtime.spark.starting import StartingRunner
from waterclock.runtime.task import Program, Report, Step

MakeApp = Callable[..., wc.App]


class Started(InProcessRunner):
    def __init__(self) -> None:
        self.epochs: list[int] = []

    def run(self, program: Program, step: Step, following: Step | None = None) -> list[Report]:
        self.epochs.append(step.epoch)
        return super().run(program, step)


def declare(make_app: MakeApp) -> tuple[wc.App, wc.SourceStream]:
    app = make_app()
    events = app.stream("events", {"key": str, "ts": "timestamp"}, time="ts")
    events.group_by("key").tumbling("10s").agg(n=wc.count()).into("counts")
    return app, events


def push(events: wc.SourceStream, first: int, end: int) -> None:
    events.push([{"key": f"k{n % 3}", "ts": n * 1_000_000} for n in range(first, end)])


def wait_for(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def asked_of(app: wc.App, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a run of it would begin before Spark is there."""
    asked: list[bool] = []

    def runner_of(_: object, mode: str, at_once: bool) -> Runner:
        asked.append(at_once)
        return InProcessRunner()

    with monkeypatch.context() as patch:
        patch.setattr(launch, "runner_of", runner_of)
        app.run(mode="drain").wait(30)
    return asked[0]


def test_epochs_do_not_wait_for_spark(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started, spark = threading.Event(), Started()

    def start() -> Runner:
        assert started.wait(30)
        return spark

    monkeypatch.setattr(launch, "runner_of", lambda *_: StartingRunner(start))
    app, events = declare(make_app)
    catalog = Catalog.open(tmp_path / "store", create=True)
    with app.run(mode="live"):
        push(events, 0, 25)
        wait_for(lambda: catalog.streams.get("counts").next == 6)
        assert not spark.epochs
        started.set()
        push(events, 25, 50)
        wait_for(lambda: catalog.streams.get("counts").next == 12)
        push(events, 50, 75)
        wait_for(lambda: catalog.streams.get("counts").next == 21)
        assert spark.epochs


def test_what_keeps_spark_from_starting_is_said(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    def start() -> Runner:
        raise RunError("RUN.SPARK_FAILED", reason="no such master")

    monkeypatch.setattr(launch, "runner_of", lambda *_: StartingRunner(start))
    app, events = declare(make_app)
    push(events, 0, 25)
    with pytest.raises(wc.RunError, match="no such master"):
        app.run(mode="drain").wait(30)


def test_a_first_run_waits_and_a_second_does_not(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app, events = declare(make_app)
    push(events, 0, 25)
    assert [asked_of(app, monkeypatch) for _ in range(2)] == [False, True]


def test_what_users_wrote_never_runs_in_the_driver(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    events = app.stream("events", {"key": str, "ts": "timestamp"}, time="ts")
    is_first = wc.function(returns="boolean")(lambda key: key == "k0")
    events.filter(is_first(wc.col("key"))).into("some")
    push(events, 0, 25)
    assert [asked_of(app, monkeypatch) for _ in range(2)] == [False, False]


def test_much_lost_state_is_rebuilt_on_spark(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    app, events = declare(make_app)
    push(events, 0, 25)
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    catalog.transact(lambda: catalog.epochs.lose("counts", ((0, 2**64),), [], []))
    assert asked_of(app, monkeypatch)
    catalog.transact(lambda: catalog.epochs.lose("counts", ((0, 2**64),), [], []))
    monkeypatch.setattr(launch, "ALONE", 0)
    assert not asked_of(app, monkeypatch)
