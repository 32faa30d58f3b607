"""A step whose tasks are threads of one worker gives what the same tasks give one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.optimizer.parallelism import Parallelism, Tasks
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.log import StreamReader
from waterclock.runtime.spark import threads
from waterclock.runtime.task import Program, Report, Step, execute, read_stage

ROWS = 2_000
Rows = list[tuple[int, int, int]]


class ThreadRunner(InProcessRunner):
    """What the worker of Spark does, in this process; remembers what was asked for."""

    cores = threads = 2

    def __init__(self) -> None:
        self.asked: list[tuple[Step, Step | None]] = []

    def run(self, program: Program, step: Step, following: Step | None = None) -> list[Report]:
        self.asked.append((step, following))
        return threads.run(program.plan.name, program, step, following, 2)


def build(app: wc.App) -> None:
    columns = {"k": int, "t": "bigint", "until": "bigint"}
    left, right = (app.stream(name, columns, time="t", end="until", slack=50) for name in ("left", "right"))
    met = left.select("k").join(right.select("k", other=wc.col("until")), on="k")
    met.group_by("k").tumbling(300).agg(n=wc.count(), last=wc.max("other")).into("out")
    for number, source in enumerate((left, right)):
        source.push([{"k": n * (7 + number) % 90, "t": n, "until": n + 40 + n % 60} for n in range(ROWS)])
        source.end()


def answer(store: Path) -> Rows:
    catalog = Catalog.open(store)
    rows = StreamReader(catalog, "out").read(0, catalog.streams.get("out").next).sort("_vs", "k").rows()
    catalog.close()
    return rows


@pytest.fixture
def two_tasks() -> object:
    def split(self: Parallelism, *_: object) -> Tasks:
        return Tasks(2, (2,) * (self.plan.stages - 1))

    with (
        mock.patch.object(Parallelism, "tasks", split),
        mock.patch.object(Parallelism, "is_worth_reading_ahead", return_value=True),
    ):
        yield


def run(make_app: Callable[..., wc.App], name: str, runner: InProcessRunner) -> Path:
    app = make_app(name, store=name, epoch_rows=300)
    build(app)
    with mock.patch("waterclock.launch.runner_of", return_value=runner):
        app.run(mode="offline")
    return Path(app.store)


@pytest.mark.usefixtures("two_tasks")
def test_threads_give_the_same(make_app: Callable[..., wc.App]) -> None:
    runner = ThreadRunner()
    found = answer(run(make_app, "threads", runner))
    assert found == answer(run(make_app, "alone", InProcessRunner()))
    assert len(found) > 300
    ahead = [(following, step) for (_, following), (step, _) in zip(runner.asked, runner.asked[1:], strict=False)]
    assert sum(step.has_input_of(following) for following, step in ahead) > 3, "epochs are read ahead"


@pytest.mark.usefixtures("two_tasks")
def test_what_was_read_is_used_once_and_only_for_its_step(make_app: Callable[..., wc.App]) -> None:
    seen = ThreadRunner()
    run(make_app, "seen", seen)
    program = mock.Mock()
    following = next(following for _, following in seen.asked if following is not None)
    other = replace(following, pieces=following.pieces[::-1])
    with mock.patch.object(threads, "start_reading") as start:
        threads._read_ahead("p", program, following, mock.Mock())
        assert threads._taken("p", other) is None, "another input"
        threads._read_ahead("p", program, following, mock.Mock())
        assert threads._taken("q", following) is None, "another program"
        threads._read_ahead("p", program, following, mock.Mock())
        assert threads._taken("p", replace(following, runs={"state": ()})) is start.return_value
        assert threads._taken("p", following) is None, "it was taken"


@pytest.mark.usefixtures("two_tasks")
def test_an_error_while_reading_ahead_is_raised_by_its_own_step(make_app: Callable[..., wc.App]) -> None:
    class Broken(ThreadRunner):
        def run(self, program: Program, step: Step, following: Step | None = None) -> list[Report]:
            def read(program: Program, at: Step, index: int) -> object:
                if at.epoch == 2:
                    raise OSError("no such disk")
                return read_stage(program, at, index)

            with mock.patch("waterclock.runtime.task.read_stage", read):
                return super().run(program, step, following)

    runner = Broken()
    with pytest.raises(wc.RunError, match="no such disk") as raised:
        run(make_app, "broken", runner)
    assert "Epoch 2" in str(raised.value)
    assert runner.asked[-1][0].epoch == 2


def test_one_task_needs_no_threads(make_app: Callable[..., wc.App]) -> None:
    with mock.patch.object(threads, "execute", wraps=execute) as alone:
        run(make_app, "one", ThreadRunner())
    assert alone.call_count > 0
