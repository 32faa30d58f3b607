"""Starts the program, ends it at a crash point or by a signal, and reads what a store holds afterwards."""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import polars as pl

from waterclock.catalog import Catalog
from waterclock.runtime.log import StreamReader
from waterclock.schema import VE, VS

LOG = "program.log"
DONE = "program.done"
FORKS = multiprocessing.get_context("forkserver")
"""Programs are forks of a process that has imported everything: what is killed early costs little."""
FORKS.set_forkserver_preload(["tests.recovery.program"])


@dataclass(frozen=True)
class Outcome:
    """What must be equal however often the run was interrupted."""

    per_user: pl.DataFrame
    totals: pl.DataFrame
    sink: str
    digests: list[tuple[int, int, int, int]]
    """Of every known epoch of the first vertex: number, digest, last event, CTI."""


def _child(log: Path, crash: str | None, arguments: list[str]) -> None:
    from tests.recovery import program  # its settings are not for the tests themselves

    program.child(log, crash, arguments)
    log.with_name(DONE).touch()


def start(folder: Path, *options: str, crash: str | None = None) -> BaseProcess:
    arguments = [str(folder / "store"), str(folder / "sink.jsonl"), *options]
    if "WATERCLOCK_CATALOG" in os.environ:  # which the server of forks does not see
        arguments += ["--catalog", os.environ["WATERCLOCK_CATALOG"]]
    for name in (LOG, DONE):
        (folder / name).unlink(missing_ok=True)
    process = FORKS.Process(target=_child, args=(folder / LOG, crash, arguments))
    process.start()
    return process


def run(folder: Path, *options: str, crash: str | None = None) -> bool:
    """True when the run came to its end, False when it was killed at the crash point."""
    process = start(folder, *options, crash=crash)
    process.join(300)
    return ended(folder, process)


def run_and_kill_after(folder: Path, seconds: float, *options: str) -> bool:
    """As a power button: SIGKILL from outside at any moment."""
    process = start(folder, *options)
    process.join(seconds)
    process.kill()
    process.join(60)
    return ended(folder, process)


def ended(folder: Path, process: BaseProcess) -> bool:
    """Whether it came to its end. Exit codes are not asked: a server of forks may not know that of one killed early."""
    assert not process.is_alive()
    done, log = (folder / DONE).exists(), folder / LOG
    said = log.read_text() if log.exists() else ""
    assert done or "Traceback" not in said, said
    return done


def outcome(folder: Path) -> Outcome:
    catalog = Catalog.open(folder / "store")
    frames = []
    for name in ("per_user", "totals"):
        row = catalog.streams.get(name)
        frames.append(StreamReader(catalog, name).read(row.first, row.next))
    digests = [(epoch, s.digest, s.output_end, s.cti) for epoch, s in catalog.epochs.history("per_user")]
    catalog.close()
    return Outcome(frames[0], frames[1], (folder / "sink.jsonl").read_text(), digests)


def bag(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort(VS, VE, *[name for name in frame.columns if name not in (VS, VE)])


def same(left: Outcome, right: Outcome) -> None:
    """Equal rows in every stream and sink, nothing lost and nothing repeated.

    A crash can change how input is cut into epochs, and so the order of rows between epochs, but never the rows.
    """
    assert bag(left.per_user).equals(bag(right.per_user)), (left.per_user, right.per_user)
    assert bag(left.totals).equals(bag(right.totals)), (left.totals, right.totals)
    assert sorted(left.sink.splitlines()) == sorted(right.sink.splitlines())
