"""A step as one Spark job: Arrow blocks through Spark's shuffle between stages, one task and no shuffle when small."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import RDD

from waterclock.errors import RunError
from waterclock.runtime.spark import session, worker
from waterclock.runtime.spark.onetask import OneTask
from waterclock.runtime.spark.ship import shipped
from waterclock.runtime.task import Program, Report, Step


class SparkRunner:
    def __init__(self, app: str, master: str, spark: Mapping[str, str]) -> None:
        self._context = session.context(app, master, spark)
        self._app = app
        self._tag = f"waterclock-{app}-{uuid.uuid4().hex[:8]}"
        self._threads = threading.local()
        self._bases: dict[int, RDD[int]] = {}
        self._programs: dict[int, tuple[Program, str, bytes]] = {}
        self._lock = threading.Lock()
        self.cores = self._context.defaultParallelism
        self._one_task = OneTask(self._context)
        self._warm()

    def run(self, program: Program, step: Step) -> list[Report]:
        self._mark_thread()
        sent = self._pickled(program)
        readers, parts = len(step.pieces), step.parts
        try:
            if readers == 1 and parts == 1:
                items = self._one_task.run(partial(worker.whole, *sent, step))
            else:
                items = self._staged(program, step, sent, readers, parts).collect()
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
        for kind, value in items:
            if kind == "error":
                raise value
        return [value for kind, value in items if kind == "report"]

    def _staged(self, program: Program, step: Step, sent: tuple[str, bytes], readers: int, parts: int) -> RDD[Any]:
        job: RDD[Any] = self._base(readers).mapPartitionsWithIndex(partial(worker.first, *sent, step))
        for stage in range(1, program.plan.stages):
            job = job.partitionBy(parts, worker.part_of)
            job = job.mapPartitionsWithIndex(partial(worker.later, *sent, step, stage), preservesPartitioning=True)
        return job.values()

    def cancel(self) -> None:
        try:
            self._context.cancelJobsWithTag(self._tag)
        except (Py4JError, AttributeError, OSError):
            pass  # Spark is gone, and its jobs with it

    def close(self) -> None:
        """The context stays for the next app of this process; it ends with the process."""
        self._bases.clear()

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

    def _base(self, size: int) -> RDD[int]:
        """One base for all epochs: making one costs more than a small job."""
        with self._lock:
            if size not in self._bases:
                self._bases[size] = self._context.parallelize(range(size), size)
            return self._bases[size]

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
