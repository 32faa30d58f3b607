"""``waterclock doctor``: what this machine lacks, and what to do about it."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import click
import psutil

from waterclock.catalog import Catalog
from waterclock.cli import show
from waterclock.errors import WaterclockError
from waterclock.runtime.spark.java import java_version

GIB = 1 << 30
SLOW_SYNC = 0.050


@dataclass(frozen=True)
class Finding:
    level: str
    """ok, warn or fail"""
    found: str
    advice: str = ""


def python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    return Finding("ok", found) if sys.version_info >= (3, 11) else Finding("fail", found, "Use Python 3.11 or newer.")


def java() -> Finding:
    try:
        path, major = java_version()
    except WaterclockError as error:
        return Finding("fail", error.message, error.hint)
    return Finding("ok", f"{major} ({path})")


def versions() -> Finding:
    return Finding("ok", ", ".join(f"{name} {version(name)}" for name in ("polars", "pyspark", "pyarrow", "numpy")))


def spark_remote() -> Finding:
    remote = os.environ.get("SPARK_REMOTE")
    if remote:
        return Finding("fail", f"SPARK_REMOTE={remote}", "Unset it: Spark Connect cannot run jobs on Spark's core API.")
    return Finding("ok", "not set")


def unix_sockets() -> Finding:
    """Spark talks to its Python workers through these; their paths may have about 100 characters."""
    folder = tempfile.mkdtemp(prefix="wc-", dir="/tmp")
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/{'x' * 40}.sock")
        return Finding("ok", "usable in /tmp")
    except OSError as error:
        return Finding("fail", f"not usable in /tmp: {error.strerror}", "Make /tmp a local, writable file system.")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cores() -> Finding:
    number = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Finding("ok", str(number)) if number > 1 else Finding("warn", "1", "Spark and its workers will take turns.")


def memory() -> Finding:
    free = psutil.virtual_memory().available
    found = f"{show.size(free)} available"
    if free < GIB:
        return Finding("fail", found, "Spark needs about 1 GiB; mode='offline' needs much less.")
    return Finding("ok", found) if free >= 2 * GIB else Finding("warn", found, "Keep spark.driver.memory at 1g.")


def disk(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    found = f"{show.size(free)} free at {folder}"
    if free < GIB // 4:
        return Finding("fail", found, "Free some space, or put the store elsewhere with --store.")
    return Finding("ok", found) if free >= 2 * GIB else Finding("warn", found, "Set a retention on large streams.")


def sync_time(folder: Path) -> Finding:
    """The time that every acknowledged push waits for."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            times = []
            for _ in range(9):
                file.write(b"x" * 4096)
                file.flush()
                started = time.perf_counter()
                os.fsync(file.fileno())
                times.append(time.perf_counter() - started)
    except OSError as error:
        return Finding("fail", f"{folder}: {error.strerror}", "Name a directory that can be written with --store.")
    median = sorted(times)[4]
    if median > SLOW_SYNC:
        return Finding("warn", show.seconds(median), "A local SSD makes every push and every durable epoch faster.")
    return Finding("ok", show.seconds(median) if median >= 0.001 else f"{median * 1000:.2f} ms")


def catalog(store: Path) -> Finding:
    """Whether it can be reached, and the time that every commit waits for."""
    try:
        opened = Catalog.open(store)
    except WaterclockError as error:
        return Finding("fail", error.message, error.hint)
    try:
        times = []
        for _ in range(9):
            started = time.perf_counter()
            opened.sync()
            times.append(time.perf_counter() - started)
        median, (server, synced) = sorted(times)[4], opened.server()
    except WaterclockError as error:
        return Finding("fail", error.message, error.hint)
    finally:
        opened.close()
    found = f"{server}, a commit takes {median * 1000:.1f} ms"
    if not synced:
        return Finding("warn", f"{found}, fsync=off", "Set fsync=on there: a power cut would lose acknowledged rows.")
    if median > SLOW_SYNC:
        return Finding("warn", found, "A server that is nearer, or has a faster disk, makes every epoch faster.")
    return Finding("ok", found)


def spark_job() -> Finding:
    """A context and a job of one task per core."""
    from waterclock.runtime.spark import session  # starts a JVM

    started = time.perf_counter()
    try:
        context = session.context("doctor", "local[*,4]", {})
        up = time.perf_counter()
        context.parallelize(range(context.defaultParallelism), context.defaultParallelism).map(abs).sum()
        first = time.perf_counter()
        context.parallelize([1], 1).map(abs).sum()
        again = time.perf_counter()
    except WaterclockError as error:
        return Finding("fail", error.message, error.hint)
    except Exception as error:
        return Finding("fail", f"{type(error).__name__}: {error}".splitlines()[0], "See the messages above.")
    finally:
        session.stop()
    return Finding(
        "ok",
        f"start {show.seconds(up - started)}, first job {show.seconds(first - up)}, next {show.seconds(again - first)}",
    )


@click.command()
@show.store_option
@click.option("--spark", is_flag=True, help="Also start Spark and run a small job (some seconds).")
def doctor(store: str, spark: bool) -> None:
    """Check this machine. Exits with 1 if something is missing.

    \b
    waterclock doctor
    waterclock doctor --store /data/store --spark
    """
    folder = _nearest(Path(store).absolute())
    checks: dict[str, Callable[[], Finding]] = {
        "Python": python,
        "Java": java,
        "libraries": versions,
        "Spark Connect": spark_remote,
        "unix sockets": unix_sockets,
        "cores": cores,
        "memory": memory,
        "disk": lambda: disk(folder),
        "fsync": lambda: sync_time(folder),
    }
    if Catalog.is_in(store):
        checks["catalog"] = lambda: catalog(Path(store))
    if spark:
        checks["Spark job"] = spark_job
    found = {name: check() for name, check in checks.items()}
    click.echo(show.table(["", "check", "found"], [[f.level, name, f.found] for name, f in found.items()]))
    for name, finding in found.items():
        if finding.advice:
            click.echo(f"{finding.level}: {name}: {finding.advice}")
    if any(finding.level == "fail" for finding in found.values()):
        click.get_current_context().exit(1)
    click.echo("This machine is ready." if spark else "This machine looks ready (--spark tries a real job).")


def _nearest(folder: Path) -> Path:
    """The directory itself, or the one in which it would be made."""
    while not folder.is_dir():
        folder = folder.parent
    return folder
