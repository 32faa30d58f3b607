"""Shared by all benchmarks: child processes, percentiles, the machine, tables."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.data import ROOT

REPOSITORY = Path(__file__).parent.parent
MASTER = "local[2,4]"
CHILD_TIMEOUT = 1200.0
BALLAST = 1.05
"""Times the machine's memory: what is free is filled, too."""

# -- figures -----------------------------------------------------------------------------------------------


def percentile(values: Sequence[float], q: float) -> float:
    """Nearest rank: a value that was measured, never one in between."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(q / 100 * len(ordered)) - 1)]


def spread(values: Sequence[float], digits: int = 0, scale: float = 1.0) -> str:
    """``median (least..greatest)`` of several runs."""
    if not values:
        return "void"
    scaled = [value * scale for value in values]
    middle = f"{statistics.median(scaled):,.{digits}f}"
    return middle if len(scaled) == 1 else f"{middle} ({min(scaled):,.{digits}f}..{max(scaled):,.{digits}f})"


def ratio(over: Sequence[float], under: Sequence[float]) -> str:
    """Of the medians."""
    if not over or not under or not statistics.median(under):
        return "-"
    return f"{statistics.median(over) / statistics.median(under):.2f}x"


# -- tables ------------------------------------------------------------------------------------------------


@dataclass
class Table:
    headers: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def markdown(self) -> str:
        lines = [self.headers, ["---"] * len(self.headers), *self.rows]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

    def text(self) -> str:
        lines = [self.headers, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.headers))]
        shown = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([shown[0], "  ".join("-" * w for w in widths), *shown[1:]])


@dataclass
class Section:
    """What one benchmark says: its table, and the lines of the summary."""

    name: str
    title: str
    table: Table
    settings: list[str]
    notes: list[str]
    summary: list[list[str]]
    """measure, Waterclock, Structured Streaming, ratio"""
    figure: str | None = None
    """A drawing's place, as seen from the results."""


SUMMARY = ["measure", "Waterclock", "Structured Streaming", "Waterclock's advantage"]


def report(sections: Sequence[Section], head: Sequence[str], remarks: Sequence[str]) -> str:
    """The whole of RESULTS.md."""
    summary = Table(SUMMARY, [line for section in sections for line in section.summary])
    parts = ["# Benchmark results", "\n".join(f"* {line}" for line in head)]
    if remarks:
        parts.append("\n".join(f"**{line}**" for line in remarks))
    parts += ["## Summary", "Medians of runs, least..greatest in brackets.", summary.markdown()]
    for section in sections:
        parts += [f"## {section.title}", section.table.markdown()]
        if section.figure is not None:
            parts.append(f"![{section.title}]({section.figure})")
        for caption, lines in (("Settings", section.settings), ("What is and is not included", section.notes)):
            if lines:
                parts += [f"{caption}:", "\n".join(f"* {line}" for line in lines)]
    return "\n\n".join(parts) + "\n"


# -- the machine -------------------------------------------------------------------------------------------


def machine() -> list[str]:
    import psutil

    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    memory = psutil.virtual_memory().total / 2**30
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("pyspark", "polars", "pyarrow"))
    return [
        f"date: {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC",
        f"machine: {os.cpu_count()} cores ({model}), {memory:.1f} GiB of memory, {platform.system()} "
        f"{platform.release()}",
        f"load average before the start: {os.getloadavg()[0]:.2f}",
        "before every run of an engine memory is filled with page cache: a new page of a virtual "
        "machine can cost more than the work on it",
        f"versions: waterclock {importlib.metadata.version('waterclock')} ({_revision()}), {versions}, "
        f"Python {platform.python_version()}, Java {_java()}",
    ]


def _revision() -> str:
    def git(*args: str) -> str:
        done = subprocess.run(["git", *args], cwd=REPOSITORY, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    revision = git("rev-parse", "--short", "HEAD") or "no git"
    return revision + (" with changes" if git("status", "--porcelain", "--", "waterclock") else "")


def _java() -> str:
    try:
        shown = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return "not found"
    return shown.split('"')[1] if '"' in shown else "unknown"


# -- child processes ---------------------------------------------------------------------------------------


class ChildFailed(Exception):
    pass


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for one run, on the disk of the data, for both engines alike."""
    ROOT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="run-", dir=ROOT, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def start(module: str, given: dict[str, Any], log: Path, own_group: bool = False) -> subprocess.Popen[str]:
    """A child that talks over its standard input and output; its errors go to ``log``."""
    environment = {name: value for name, value in os.environ.items() if name != "WATERCLOCK_STORE"}
    environment["PYTHONUNBUFFERED"] = "1"
    with log.open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(given)], cwd=REPOSITORY, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=own_group,
        )  # fmt: skip


def arguments() -> dict[str, Any]:
    """The child's side of ``start``."""
    given = json.loads(sys.argv[1])
    assert isinstance(given, dict)
    return given


def say(kind: str, **values: Any) -> None:
    """One message to the parent, a line of JSON."""
    print(json.dumps({"kind": kind, **values}), flush=True)


def hear(child: subprocess.Popen[str], kind: str) -> dict[str, Any]:
    """The child's next message of this kind; other lines (Spark's) are passed over."""
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith('{"kind": '):
            message: dict[str, Any] = json.loads(line)
            if message["kind"] == kind:
                return message
    raise ChildFailed(f"{child.args!r} ended with {child.wait()} before it said {kind!r}")


class Settled:
    wanted = False
    """Set for figures that count; filling memory takes a minute."""


def settle(reads: Iterable[Path]) -> None:
    """Fills free memory with the page cache of a file of holes, as on a machine that has run for a while.

    On a virtual machine whose host takes back free pages, each new one costs the engines ten microseconds otherwise.
    What is in these folders is read last, so that it stays in the page cache.
    """
    import psutil

    ROOT.mkdir(parents=True, exist_ok=True)
    ballast = ROOT / "ballast"
    size = int(psutil.virtual_memory().total * BALLAST)
    with ballast.open("ab") as file:
        file.truncate(size)
    part = bytearray(8 << 20)
    for path in (ballast, *(path for folder in reads for path in folder.rglob("*") if path.is_file())):
        with path.open("rb", buffering=0) as file:
            while file.readinto(part):
                pass
    os.sync()


Beside = Callable[[int], AbstractContextManager[object]]


def run(
    module: str, given: dict[str, Any], folder: Path, beside: Beside | None = None, reads: Iterable[Path] = ()
) -> dict[str, Any]:
    """One engine in its own process: gives its ``result`` message. The process and its JVM are gone afterwards.

    ``beside`` is open while the process runs; it is given its id. ``reads`` are the folders of its input.
    """
    log = folder / "log.txt"
    if Settled.wanted:
        settle(reads)
    child = start(module, given, log, own_group=True)
    try:
        with beside(child.pid) if beside else nullcontext():
            output, _ = child.communicate(timeout=CHILD_TIMEOUT)
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)  # this child's own group: its JVM, workers and helpers
        child.wait()
        raise
    results = [line for line in output.splitlines() if line.startswith('{"kind": "result"')]
    if child.returncode or not results:
        raise ChildFailed(f"{module} {given} ended with {child.returncode}:\n{log.read_text()[-4000:]}")
    result: dict[str, Any] = json.loads(results[-1])
    return result


# -- Structured Streaming's session ------------------------------------------------------------------------

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
PROVIDERS = {"rocksdb": ROCKSDB, "in-memory": IN_MEMORY}
SPARK_SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.streaming.minBatchesToRetain": "100000",
    "spark.locality.wait": "0",
}
"""Chosen by reason, not by a search over settings; only the state store is tried both ways."""


def spark_session(state: str, more: Mapping[str, str] | None = None) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(MASTER).appName("bench")
    provider = {"spark.sql.streaming.stateStore.providerClass": PROVIDERS[state]}
    for name, value in {**SPARK_SETTINGS, **provider, **(more or {})}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def end_spark(session: Any) -> None:
    """With its JVM, which RocksDB's threads can keep alive for minutes."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    session.stop()
    gateway.proc.kill()


def written(folder: Path) -> dict[int, float]:
    """When each numbered file of a checkpoint's log was written: the commit times, seen from outside the engine."""
    found = [path for path in folder.iterdir() if path.name.isdigit()] if folder.exists() else []
    return {int(path.name): path.stat().st_mtime for path in found}
