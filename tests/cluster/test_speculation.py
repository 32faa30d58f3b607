"""A task that hangs on one machine is done by another one: a master and two workers, with addresses of their own.

``local-cluster`` will not do: Spark never speculates on the host that runs the task, and its workers share one.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.optimizer import parallelism
from waterclock.runtime.log import StreamReader
from waterclock.runtime.spark import session

pytestmark = pytest.mark.cluster
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a cluster of two workers with one core each."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(name: str, host: str, *words: str) -> Path:
        log = tmp_path / f"{name}.log"
        command = [str(SPARK_CLASS), f"org.apache.spark.deploy.{words[0]}", "--host", host, "--webui-port", "0"]
        env = os.environ | {"SPARK_NO_DAEMONIZE": "1", "SPARK_DAEMON_MEMORY": "256m"}
        with log.open("wb") as output:
            processes.append(subprocess.Popen([*command, *words[1:]], stdout=output, stderr=output, env=env))
        return log

    try:
        url = _said(start("master", "127.0.0.1", "master.Master", "--port", "0"), r"Starting Spark master at (\S+)")
        for number in (2, 3):
            work = tmp_path / f"work{number}"
            arguments = ("--cores", "1", "--memory", "1g", "--work-dir", str(work), url)
            log = start(f"worker{number}", f"127.0.0.{number}", "worker.Worker", *arguments)
            _said(log, r"(Successfully registered) with master")
        yield url
    finally:
        session.stop()
        for process in processes:
            process.kill()
            process.wait()


def _said(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + 60
    while not (found := re.search(pattern, log.read_text())):
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    return found[1]


def test_a_task_that_hangs_is_done_elsewhere(
    make_app: Callable[..., wc.App], master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallelism, "SHARE", 60)
    hanging, release = str(tmp_path / "hanging"), str(tmp_path / "release")

    @wc.function(returns="bigint")
    def hangs_once(value):  # type: ignore[no-untyped-def]
        import os
        import time

        try:
            os.close(os.open(hanging, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return value
        while not os.path.exists(release):
            time.sleep(0.05)
        return value

    app = make_app(speculation=True, epoch_rows=200)
    app.master = master
    app.spark = {"spark.driver.memory": "1g", "spark.executor.memory": "900m", "spark.driver.host": "127.0.0.1"}
    source = app.stream("numbers", {"key": int, "value": int, "ts": "bigint"}, time="ts", slack=0)
    doubled = source.select("key", value=hangs_once(wc.col("value")))
    doubled.group_by("key").tumbling(100).agg(n=wc.count(), total=wc.sum("value")).into("sums")
    source.push([{"key": n % 7, "value": n, "ts": n} for n in range(200)])
    source.end()
    handle = app.run(mode="drain")
    try:
        assert handle.wait(120), "nobody did the work of the task that hangs"
        assert os.path.exists(hanging)
    finally:
        Path(release).touch()
    sums: Counter[tuple[int, int]] = Counter()
    for n in range(200):
        sums[n // 100 * 100, n % 7] += n
    catalog = Catalog.open(tmp_path / "store")
    rows = StreamReader(catalog, "sums").read(0, catalog.streams.get("sums").next)
    catalog.close()
    assert sorted(rows.select("_vs", "key", "total").rows()) == sorted((*key, total) for key, total in sums.items())
