"""The Spark context of this process: settings that short Python jobs need, started once and kept warm."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import is_remote

from waterclock.errors import RunError
from waterclock.runtime.spark.java import java_version

_lock = threading.Lock()
_folder: str | None = None
_started: tuple[SparkContext, str, dict[str, str]] | None = None


def settings() -> dict[str, str]:
    """What differs from Spark's defaults, and why."""
    return {
        # Without TCP_NODELAY a task on TCP costs 40 ms more (SPARK-51667).
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": _socket_folder(),
        # Blocks are Arrow; they go through local sockets and the page cache, where packing costs more than it saves.
        "spark.rdd.compress": "false",
        "spark.shuffle.compress": "false",
        # An epoch is shorter than the default wait for a better placed slot.
        "spark.locality.wait": "0",
        "spark.scheduler.mode": "FAIR",
        "spark.python.worker.reuse": "true",
        "spark.executorEnv.PYTHONHASHSEED": "0",
        # Frames of one epoch are as large as those of the last: memory is kept instead of being given back and faulted
        # in again, which took a third of the time of large epochs.
        "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(1 << 30),
        "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(512 << 20),
        "spark.executorEnv._RJEM_MALLOC_CONF": "dirty_decay_ms:5000,muzzy_decay_ms:5000",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.master.rest.enabled": "false",
        "spark.task.reaper.enabled": "true",
        # The JVM only schedules and moves bytes: the quick compiler alone, and one collector thread, leave the cores to
        # the kernels.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
    }


def _socket_folder() -> str:
    """Short, for a socket's path has about 100 bytes, and ours alone."""
    global _folder
    if _folder is None:
        _folder = tempfile.mkdtemp(prefix="wc-", dir="/tmp")
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    return _folder


def context(app: str, master: str, spark: Mapping[str, str]) -> SparkContext:
    """The running context, or a new one. Another master or other settings replace it."""
    global _started
    with _lock:
        wanted = dict(spark)
        if _started is not None and _alive(_started[0]):
            if _started[1:] == (master, wanted):
                return _started[0]
            _started[0].stop()
        _end_jvm()  # settings of the first context stay in the JVM as system properties
        if os.environ.get("SPARK_REMOTE") or is_remote():
            raise RunError("RUN.SPARK_CONNECT")
        foreign = SparkContext._active_spark_context
        if foreign is not None and _alive(foreign):
            return foreign  # the user's own: a notebook, a cluster's shell
        java_version()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf = SparkConf().setMaster(master).setAppName(app)
        for key, value in {**settings(), **wanted}.items():
            conf.set(key, value)
        with _without_noise():
            created = SparkContext(conf=conf)
        _started = (created, master, wanted)
        return created


def cores_of_executor(context: SparkContext) -> int:
    """As far as it is known: all cores of a local master, one where a cluster was not told."""
    master = context.master or ""
    if master.startswith("local") and not master.startswith("local-cluster"):
        return context.defaultParallelism
    return int(context.getConf().get("spark.executor.cores", "1") or 1)


def stop() -> None:
    """Ends the context that this module started."""
    global _started
    with _lock:
        if _started is not None and _alive(_started[0]):
            _started[0].stop()
        _started = None


@contextmanager
def _without_noise() -> Iterator[None]:
    """The JVM started in here writes its errors as ever, less one warning that every user would ask about."""
    reading, writing = os.pipe()
    errors = os.dup(2)
    os.dup2(writing, 2)
    os.close(writing)
    threading.Thread(target=_forward, args=(reading, errors), name="spark errors", daemon=True).start()
    try:
        yield
    finally:
        os.dup2(errors, 2)


def _forward(reading: int, errors: int) -> None:
    with os.fdopen(reading, "rb") as lines, os.fdopen(errors, "wb", buffering=0) as out:
        for line in lines:
            if b"Using incubator modules" not in line:
                out.write(line)


def _end_jvm() -> None:
    gateway = SparkContext._gateway
    if gateway is None or SparkContext._active_spark_context is not None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()  # the JVM ends when its input does
    gateway.proc.wait(timeout=30)
    SparkContext._gateway = None
    SparkContext._jvm = None


def _alive(context: SparkContext) -> bool:
    return context._jsc is not None and not context._jsc.sc().isStopped()


atexit.register(stop)
