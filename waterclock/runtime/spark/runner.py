"""A step on Spark: one job of one task when one executor can do it, otherwise a job that reads and one for the rest.

Reading needs no state, so the input of the next epoch can be read while this one is computed.
"""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from py4j.protocol import Py4JError
from pyspark import RDD
from pyspark.errors import PySparkException

from waterclock.errors import RunError
from waterclock.runtime.exchange import Packed
from waterclock.runtime.spark import session, worker
from waterclock.runtime.spark.failure import reason
from waterclock.runtime.spark.onestage import OneStage
from waterclock.runtime.spark.ship import shipped
from waterclock.runtime.task import Program, Report, Step

_OF_ANOTHER_PYTHON = ("ModuleNotFoundError", "ImportError", "PYTHON_VERSION_MISMATCH", "Cannot run program")

Stage = Callable[[int, Iterable[Any]], Iterator[Any]]


@dataclass(frozen=True)
class Read:
    """What stage 0 of a step gave."""

    reports: list[Report]
    blocks: list[tuple[int, Packed]]
    """With the task that each is for."""


class SparkRunner:
    def __init__(self, app: str, master: str, spark: Mapping[str, str], vertices: int = 1) -> None:
        self._context = session.context(app, master, spark)
        self._app = app
        self._tag = f"waterclock-{app}-{uuid.uuid4().hex[:8]}"
        self._threads = threading.local()
        self._programs: dict[int, tuple[Program, str, bytes]] = {}
        self._lock = threading.Lock()
        self._ahead: dict[str, tuple[Step, Future[Read]]] = {}
        """By vertex: the step whose input is read by a job of its own."""
        self._reader = ThreadPoolExecutor(thread_name_prefix="reading ahead")
        self.cores = self._context.defaultParallelism
        self.threads = session.cores_of_executor(self._context)
        self._one_stage = OneStage(self._context)
        self._alone = vertices == 1
        self._warm(min(self.cores, vertices) if self.threads == self.cores else self.cores)

    def run(self, program: Program, step: Step, following: Step | None = None) -> list[Report]:
        sent = self._pickled(program)
        known, ahead = self._ahead.pop(program.plan.name, (None, None))
        if max([len(step.pieces), *step.parts]) <= self.threads:
            # With one task at a time Spark has one worker, which can read ahead for itself.
            following = following if self._alone and self.threads == self.cores else None
            items = self._items(program, step, 1, partial(worker.whole, *sent, step, following, self.threads))
            return [report for _, (_, report) in items]
        read = ahead.result() if ahead is not None and step.has_input_of(known) else self._read(program, step)
        if following is not None and program.plan.stages > 1:
            self._ahead[program.plan.name] = following, self._reader.submit(self._read, program, following)
        if program.plan.stages == 1:
            return read.reports
        later = [partial(worker.later, *sent, step, stage) for stage in range(2, program.plan.stages)]
        items = self._items(program, step, step.parts[0], partial(worker.keys, *sent, step, read.blocks), *later)
        return read.reports + [report for _, (_, report) in items]

    def _read(self, program: Program, step: Step) -> Read:
        blocks: list[tuple[int, Packed]] = []
        reports: list[Report] = []
        reading = partial(worker.read, *self._pickled(program), step)
        for part, (kind, value) in self._items(program, step, len(step.pieces), reading):
            if kind == "block":
                blocks.append((part, value))
            else:
                reports.append(value)
        return Read(reports, blocks)

    def _items(self, program: Program, step: Step, tasks: int, *stages: Stage) -> list[tuple[int, worker.Item]]:
        """What the tasks of a job give at the end of its stages, between which there is an exchange."""
        self._mark_thread()
        try:
            if len(stages) == 1:
                items = self._one_stage.run(tasks, stages[0])
            else:
                job: RDD[Any] = self._one_stage.base(tasks).mapPartitionsWithIndex(stages[0])
                for parts, stage in zip(step.parts[1:], stages[1:], strict=True):
                    # Never with preservesPartitioning, for which PySpark would leave out the next exchange.
                    job = job.partitionBy(parts, worker.part_of)
                    job = job.mapPartitionsWithIndex(stage)
                items = job.collect()
        except Py4JError as error:
            raise RunError(
                "RUN.STEP_FAILED", epoch=step.epoch, vertex=program.plan.name, reason=reason(error)
            ) from error
        for _, (kind, value) in items:
            if kind == "error":
                raise value
        return items

    def check(self) -> None:
        why = session.gone(self._context)
        if why:
            raise RunError("RUN.SPARK_LOST", reason=why)

    def cancel(self) -> None:
        try:
            self._context.cancelJobsWithTag(self._tag)
        except (Py4JError, AttributeError, OSError):
            pass  # Spark is gone, and its jobs with it

    def close(self) -> None:
        """The context stays for the next app of this process; it ends with the process."""
        self._reader.shutdown(wait=False)

    def _warm(self, workers: int) -> None:
        """Starts the workers and their imports before the first epoch has to wait for them."""
        try:
            wide = self._context.parallelize([0] * workers, workers)
            for _ in range(2):
                wide.mapPartitionsWithIndex(worker.warm).collect()
        except (Py4JError, PySparkException, OSError) as error:
            why = reason(error)
            if any(sign in why for sign in _OF_ANOTHER_PYTHON):
                python = self._context.pythonExec
                raise RunError("RUN.WORKERS", python=python, reason=why, ours=sys.executable) from error
            raise RunError("RUN.SPARK_FAILED", reason=why) from error

    def _mark_thread(self) -> None:
        # Spark keeps these per thread: set once, not per epoch.
        if not getattr(self._threads, "marked", False):
            self._context.addJobTag(self._tag)
            self._context.setLocalProperty("spark.scheduler.pool", self._app)
            self._threads.marked = True

    def _pickled(self, program: Program) -> tuple[str, bytes]:
        with self._lock:
            known = self._programs.get(id(program))
            if known is None:
                known = (program, uuid.uuid4().hex, shipped(program))
                self._programs[id(program)] = known
            return known[1], known[2]
