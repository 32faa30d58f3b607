"""Starts the program, ends it at a crash point or by a signal, and reads what a store holds afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from waterclock.catalog import Catalog
from waterclock.runtime.log import StreamReader
from waterclock.schema import VE, VS

PROGRAM = Path(__file__).with_name("program.py")


@dataclass(frozen=True)
class Outcome:
    """What must be equal however often the run was interrupted."""

    per_user: pl.DataFrame
    totals: pl.DataFrame
    sink: str
    digests: list[tuple[int, int, int, int]]
    """Of every known epoch of the first vertex: number, digest, last event, CTI."""


def start(folder: Path, *options: str, crash: str | None = None) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    environment.pop("WATERCLOCK_CRASH", None)
    if crash is not None:
        environment["WATERCLOCK_CRASH"] = crash
    command = [sys.executable, str(PROGRAM), str(folder / "store"), str(folder / "sink.jsonl"), *options]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def run(folder: Path, *options: str, crash: str | None = None) -> bool:
    """True when the run came to its end, False when it was killed at the crash point."""
    process = start(folder, *options, crash=crash)
    output, _ = process.communicate(timeout=300)
    if process.returncode == -signal.SIGKILL:
        return False
    assert process.returncode == 0, output.decode()
    return True


def run_and_kill_after(folder: Path, seconds: float, *options: str) -> bool:
    """As a power button: SIGKILL from outside at any moment."""
    process = start(folder, *options)
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    killed = process.poll() is None
    process.kill()
    output, _ = process.communicate(timeout=60)
    assert killed or process.returncode == 0, output.decode()
    return not killed


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
