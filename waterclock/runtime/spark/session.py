"""The Spark context of this process: settings that short Python jobs need, started once and kept warm."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import is_remote

from waterclock.errors import RunError
from waterclock.runtime.spark.failure import reason
from waterclock.runtime.spark.java import java_version


@dataclass(frozen=True)
class Started:
    context: SparkContext
    master: str
    spark: dict[str, str]
    ending: threading.Event
    """Set before it is stopped on purpose."""

    def stop(self) -> None:
        self.ending.set()
        self.context.stop()


_lock = threading.Lock()
_folder: str | None = None
_started: Started | None = None


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
        # In huge pages, for rows are looked up all over large frames; and large frames kept as small ones are.
        "spark.executorEnv._RJEM_MALLOC_CONF": "thp:always,oversize_threshold:0,"
        "dirty_decay_ms:5000,muzzy_decay_ms:5000",
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
        if _started is not None and _alive(_started.context):
            if (_started.master, _started.spark) == (master, wanted):
                return _started.context
            _started.stop()
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
        ending = threading.Event()
        _started = Started(_created(conf, ending), master, wanted, ending)
        return _started.context


def _created(conf: SparkConf, ending: threading.Event) -> SparkContext:
    try:
        with warnings.catch_warnings():
            # PySpark loads pandas with its first call into the JVM. Nothing here gives it a data frame of pandas.
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            return SparkContext(conf=conf, gateway=_jvm(conf, ending))
    except (Py4JError, PySparkException, ValueError, OSError) as error:  # the last: the JVM died in its start
        raise RunError("RUN.SPARK_FAILED", reason=reason(error)) from error


def _jvm(conf: SparkConf, ending: threading.Event) -> Any:
    reading, writing = os.pipe()
    try:
        gateway = launch_gateway(conf, {"stderr": writing})  # type: ignore[no-untyped-call]
    finally:
        os.close(writing)
        threading.Thread(target=_forward, args=(reading, ending), name="spark errors", daemon=True).start()
    return gateway


def cores_of_executor(context: SparkContext) -> int:
    """As far as it is known: all cores of a local master, one where a cluster was not told."""
    master = context.master or ""
    if master.startswith("local") and not master.startswith("local-cluster"):
        return context.defaultParallelism
    return int(context.getConf().get("spark.executor.cores", "1") or 1)


def stop() -> None:
    """Ends the context that this module started. One that is still starting ends with the process."""
    global _started
    if not _lock.acquire(blocking=False):
        return
    try:
        if _started is not None and _alive(_started.context):
            _started.stop()
        _started = None
    finally:
        _lock.release()


def _forward(reading: int, ending: threading.Event) -> None:
    """What the JVM and its workers write, less a warning that every user would ask about.

    Workers whose JVM closes their sockets complain of it: not a word of what they say while it is stopped.
    """
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            if b"Using incubator modules" not in line and not ending.is_set():
                os.write(2, line)


def _end_jvm() -> None:
    gateway = SparkContext._gateway
    if gateway is None or SparkContext._active_spark_context is not None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()  # the JVM ends when its input does
    gateway.proc.wait(timeout=30)
    SparkContext._gateway = None
    SparkContext._jvm = None


def gone(context: SparkContext) -> str:
    """Why it can run nothing any more; empty if it can, as far as this process knows without asking the JVM."""
    if context._jsc is None:
        return "its context was stopped"
    process = getattr(context._gateway, "proc", None)  # none where another process started the JVM
    ended = process.poll() if process is not None else None
    if ended is None:
        return ""
    return f"its JVM was killed by signal {-ended}" if ended < 0 else f"its JVM ended with exit code {ended}"


def _alive(context: SparkContext) -> bool:
    if gone(context):
        if context._jsc is not None:  # its JVM was killed: PySpark would ask it to stop
            context._jsc = None
            context.stop()
        return False
    assert context._jsc is not None
    return not context._jsc.sc().isStopped()


atexit.register(stop)
