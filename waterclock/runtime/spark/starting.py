"""Steps run in the driver until Spark is there: an app that goes on after a failure does not wait for a JVM."""

from __future__ import annotations

from collections.abc import Callable

from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.runner import Runner
from waterclock.runtime.spark.interrupt import in_thread
from waterclock.runtime.task import Program, Report, Step


class StartingRunner:
    def __init__(self, start: Callable[[], Runner]) -> None:
        self._here = InProcessRunner()
        self._spark = in_thread(start)

    @property
    def _now(self) -> Runner:
        """Spark as soon as it has started; raises what kept it from that."""
        return self._spark.result() if self._spark.done() else self._here

    @property
    def cores(self) -> int:
        return self._now.cores

    @property
    def threads(self) -> int:
        return self._now.threads

    def run(self, program: Program, step: Step, following: Step | None = None) -> list[Report]:
        return self._now.run(program, step, following)

    def check(self) -> None:
        self._now.check()

    def cancel(self) -> None:
        if self._spark.done() and self._spark.exception() is None:
            self._spark.result().cancel()

    def close(self) -> None:
        self._spark.add_done_callback(lambda spark: spark.result().close() if spark.exception() is None else None)
