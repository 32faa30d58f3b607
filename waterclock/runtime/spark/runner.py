"""A step on Spark: one job of one task when it is small, otherwise a job that reads and a job for the stages behind.

Reading needs no state, so the input of the next epoch can be read while this one is computed.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import RDD

from waterclock.errors import RunError
from waterclock.runtime.exchange import Packed
from waterclock.runtime.runner import Read
from waterclock.runtime.spark import session, worker
from waterclock.runtime.spark.onestage import OneStage
from waterclock.runtime.spark.ship import shipped
from waterclock.runtime.task import Program, Report, Step

Stage = Callable[[int, Iterable[Any]], Iterator[Any]]


class SparkRunner:
    reads_ahead = True

    def __init__(self, app: str, master: str, spark: Mapping[str, str]) -> None:
        self._context = session.context(app, master, spark)
        self._app = app
        self._tag = f"waterclock-{app}-{uuid.uuid4().hex[:8]}"
        self._threads = threading.local()
        self._programs: dict[int, tuple[Program, str, bytes]] = {}
        self._lock = threading.Lock()
        self.cores = self._context.defaultParallelism
        self._one_stage = OneStage(self._context)
        self._warm()

    def run(self, program: Program, step: Step, read: Read | None = None) -> list[Report]:
        sent = self._pickled(program)
        if read is None and len(step.pieces) == 1 and step.parts == 1:
            items = self._items(program, step, 1, partial(worker.whole, *sent, step))
            return [report for _, (_, report) in items]
        read = read or self.read(program, step)
        if program.plan.stages == 1:
            return read.reports
        later = [partial(worker.later, *sent, step, stage) for stage in range(2, program.plan.stages)]
        items = self._items(program, step, step.parts, partial(worker.keys, *sent, step, read.blocks), *later)
        return read.reports + [report for _, (_, report) in items]

    def read(self, program: Program, step: Step) -> Read:
        blocks: dict[int, list[Packed]] = {part: [] for part in range(step.parts)}
        reports: list[Report] = []
        reading = partial(worker.read, *self._pickled(program), step)
        for part, (kind, value) in self._items(program, step, len(step.pieces), reading):
            if kind == "block":
                blocks[part].append(value)
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
                for stage in stages[1:]:
                    # Never with preservesPartitioning, for which PySpark would leave out the next exchange.
                    job = job.partitionBy(step.parts, worker.part_of)
                    job = job.mapPartitionsWithIndex(stage)
                items = job.collect()
        except Py4JJavaError as error:
            raise RunError(
                "RUN.STEP_FAILED", epoch=step.epoch, vertex=program.plan.name, reason=_reason(error)
            ) from error
        except Py4JError as error:
            raise RunError(
                "RUN.STEP_FAILED",
                epoch=step.epoch,
                vertex=program.plan.name,
                reason="Spark stopped answering.",
            ) from error
        for _, (kind, value) in items:
            if kind == "error":
                raise value
        return items

    def cancel(self) -> None:
        try:
            self._context.cancelJobsWithTag(self._tag)
        except (Py4JError, AttributeError, OSError):
            pass  # Spark is gone, and its jobs with it

    def close(self) -> None:
        """The context stays for the next app of this process; it ends with the process."""

    def _warm(self) -> None:
        """Starts the workers and their imports before the first epoch has to wait for them."""
        wide = self._context.parallelize(range(self.cores), self.cores)
        for _ in range(2):
            wide.mapPartitionsWithIndex(worker.warm).collect()

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


def _reason(error: Py4JJavaError) -> str:
    """What a user can act on: the last line of the Python traceback inside Spark's message, or what Spark says."""
    text = str(error.java_exception.getMessage() if error.java_exception else error)
    text = text.split("\nDriver stacktrace:")[0]
    raised = re.findall(r"^([A-Za-z_][\w.]*(?:Error|Exception)\b.*)$", text, re.MULTILINE)
    python = [line for line in raised if not line.startswith(("org.", "java.", "scala.", "pyspark.", "py4j."))]
    if python:
        return str(python[-1]).strip()
    last = text.split("most recent failure:")[-1].strip().splitlines()
    return last[0].split("Exception: ")[-1] if last else "Spark gave no reason"
