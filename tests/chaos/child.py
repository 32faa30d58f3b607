"""What runs in processes of their own, to be killed: the driver, the one who pushes, garbage collection."""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import psutil
from click.testing import CliRunner

import waterclock as wc
from tests.chaos.programs import PROGRAMS, build
from tests.recovery import program as small  # noqa: F401  # one Polars thread a process
from waterclock import crashpoints, launch
from waterclock.catalog import leases
from waterclock.cli.main import main
from waterclock.errors import WaterclockError
from waterclock.runtime import files, keeper, lease, vertex
from waterclock.runtime.inprocess import InProcessRunner

LEASE = 1.0
ORPHANS = 1.0
"""Far shorter than in real life: everything that waits for them happens in a storm."""


@dataclass(frozen=True)
class Job:
    """What a process is to do, and what is to happen to it."""

    what: str
    program: str
    folder: Path
    end: Path
    """Where it says how it ended."""
    catalog: str | None = None
    master: str | None = None
    """Spark's; without it steps run in the driver."""
    at: str | None = None
    """``place:3``: gets ``signal`` there at the third visit."""
    signal: int = signal.SIGKILL
    jumps: tuple[tuple[float, float], ...] = ()
    """After so many seconds its clock is so many seconds ahead."""
    standby: bool = False
    recovery: int | None = None
    """Seed of how lost state is had again."""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def book(self) -> Path:
        """What was pushed."""
        return self.end.parent / "book"

    @property
    def driver(self) -> str:
        """Its name among the drivers of the app."""
        return f"d{self.end.name}"


def run(job: Job) -> None:
    output = os.open(job.end.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    faulthandler.register(signal.SIGUSR1)  # where it stands, if it hangs
    _small_limits()
    _arm(job)
    _shift_clock(job.jumps)
    if job.master is None:
        launch.runner_of = lambda *_: InProcessRunner()
    said = "ended"
    try:
        JOBS[job.what](job)
    except WaterclockError as error:
        print(f"{error.code}: {error}")
        if error.code == "RUN.INTERNAL":
            traceback.print_exc()
        said = error.code
    job.end.write_text(said)


def _small_limits() -> None:
    """So that files of their own, merges, compaction and trimming all happen in a short run."""
    files.INLINE = 600
    keeper.GROUP = 3
    keeper.Keeper.__init__.__defaults__ = (0.1, ORPHANS)
    vertex.NAMED_WITHIN = ORPHANS / 2
    leases.TTL = lease.TTL = LEASE
    leases.TTL_MICROS = int(LEASE * 1e6)


def _arm(job: Job) -> None:
    os.environ.pop("WATERCLOCK_CRASH", None)
    if job.at is None:
        return
    wanted, visit = job.at.split(":")
    assert wanted in crashpoints.PLACES + crashpoints.RARE
    left = [int(visit)]

    def reach(place: str) -> None:
        if place == wanted:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), job.signal)

    crashpoints.reach = reach


def _shift_clock(jumps: tuple[tuple[float, float], ...]) -> None:
    """All that this process can know of the time of day, the start of the machine too."""
    if not jumps:
        return
    began, seconds, nanos, boot = time.monotonic(), time.time, time.time_ns, psutil._psplatform.boot_time

    def ahead() -> float:
        passed = time.monotonic() - began
        return next((shift for after, shift in reversed(jumps) if passed >= after), 0.0)

    time.time = lambda: seconds() + ahead()
    time.time_ns = lambda: nanos() + int(ahead() * 1e9)
    psutil._psplatform.boot_time = lambda: boot() + ahead()


# -- jobs --------------------------------------------------------------------------------------------------


def _app(job: Job, **options: Any) -> Any:
    spark = {"spark.driver.memory": "1g", "spark.executor.memory": "900m"}
    options = {"catalog": job.catalog, "master": job.master or "local[2,4]", "spark": spark, **job.options, **options}
    often = random.Random(job.recovery).choice((5, 20, None))  # a snapshot makes state durable
    options |= {"lease": int(LEASE * 1e6), "snapshots": wc.Snapshots(epochs=often, keep=2)}
    return build(job.program, job.folder, job.folder / "store", recovery=job.recovery, **options)


def _live(job: Job) -> None:
    """Until it is told to stop."""
    _app(job).run("live", standby=job.standby, driver=job.driver).wait_until_stopped()


def _drain(job: Job) -> None:
    """Everything has arrived: to the end of every stream."""
    app = _app(job, watch=False)
    for name, feed in PROGRAMS[job.program].feeds.items():
        if feed.how == "push":
            app.source(name).end()
    app.run("drain").wait()


def _push(job: Job) -> None:
    """What lies in the queue, in order, each at most once; the book says what was tried and what was taken."""
    app, book = _app(job), os.open(job.book, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    os.write(book, b"begun\n")  # whatever the one before was in, it has given up
    parent = os.getppid()
    while os.getppid() == parent:
        tried = {tuple(line.split()[1:]) for line in job.book.read_text().splitlines()}
        for path in sorted((job.folder / "queue").glob("*.parquet")):
            part, stream = path.stem.split("-")
            if (stream, part) not in tried:
                os.write(book, f"tried {stream} {part}\n".encode())
                app.source(stream).push(pl.read_parquet(path))
                os.write(book, f"taken {stream} {part}\n".encode())
        time.sleep(0.02)


def _collect(job: Job) -> None:
    result = CliRunner().invoke(main, ["gc", "--store", str(job.folder / "store")])
    print(result.output)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception


def _batch(job: Job) -> None:
    """The answer of batch mode over the same store, next to it."""
    app = _app(job, watch=False, sinks=False)
    handle = app.run("batch")
    target = job.folder / "batch"
    target.mkdir(exist_ok=True)
    for name in app._outputs:
        handle.frame(name).write_parquet(target / f"{name}.parquet")


JOBS: dict[str, Callable[[Job], None]] = {
    "live": _live, "drain": _drain, "push": _push, "gc": _collect, "batch": _batch,
}  # fmt: skip
