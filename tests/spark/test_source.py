"""``format("waterclock")`` on local Spark: read, readStream, write and writeStream, and kill -9 of either side."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import waterclock as wc
import waterclock.spark
from tests.conftest import SPARK
from waterclock.catalog import Catalog
from waterclock.cli.main import main
from waterclock.runtime.log import StreamReader
from waterclock.runtime.spark import session
from waterclock.spark import read

pytestmark = pytest.mark.spark
MakeApp = Callable[..., wc.App]
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    settings = {**SPARK, "spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "America/New_York"}
    own = SparkSession(session.context("source", "local[2,4]", settings))
    waterclock.spark.register(own)
    yield own
    for query in own.streams.active:
        query.stop()


def load(spark: SparkSession, store: Path, stream: str, **options: str) -> DataFrame:
    return spark.read.format("waterclock").options(store=str(store), stream=stream, **options).load()


def frame(found: DataFrame) -> pl.DataFrame:
    made = pl.from_arrow(found.toArrow())
    assert isinstance(made, pl.DataFrame)
    return made


def readings(make_app: MakeApp, rows: int = 1000) -> wc.SourceStream:
    """Of every type, with nulls."""
    rng = random.Random(7)

    def some(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    schema = {
        "flag": "boolean", "small": "int", "big": "bigint", "ratio": "float", "price": "double", "name": "string",
        "raw": "binary", "day": "date", "seen": "timestamp", "tags": "array<string>",
        "place": "struct<x:int,at:array<timestamp>>", "t": "timestamp", "until": "timestamp",
    }  # fmt: skip
    stream = make_app().stream("readings", schema, time="t", end="until", slack="1h")
    frames = []
    for number in range(rows):
        at = NOON + timedelta(seconds=number // 3)
        frames.append(
            {
                "flag": some(rng.random() < 0.5), "small": some(rng.randrange(-5, 5)), "big": some(rng.randrange(100)),
                "ratio": some(rng.choice([0.5, -0.0, 0.0])), "price": some(rng.choice([1.5, float("nan"), -2.0])),
                "name": some(rng.choice(["", "a", "ab", "b", "ä", "日本"])), "raw": some(bytes([number % 256])),
                "day": some(date(2026, 1, 1 + number % 28)), "seen": some(at - timedelta(hours=number)),
                "tags": some(["x", None, str(number)]), "place": some({"x": number, "at": [at]}),
                "t": at, "until": rng.choice([None, at + timedelta(seconds=90)]),
            }
        )  # fmt: skip
    for at in range(0, rows, 100):
        stream.push(pl.DataFrame(frames[at : at + 100], schema=stream.declaration.schema.polars()))
    return stream


def stored(store: Path, stream: str) -> pl.DataFrame:
    catalog = Catalog.open(store)
    try:
        return StreamReader(catalog, stream).read(0, catalog.streams.get(stream).next)
    finally:
        catalog.close()


def collect(store: Path) -> None:
    """Merges what is small, and trims what nothing holds."""
    assert CliRunner().invoke(main, ["gc", "--store", str(store)]).exit_code == 0


# -- reading -----------------------------------------------------------------------------------------------


def test_a_read_equals_the_stream(spark: SparkSession, make_app: MakeApp, tmp_path: Path) -> None:
    readings(make_app)
    found = frame(load(spark, tmp_path / "store", "readings"))
    expected = stored(tmp_path / "store", "readings")
    columns = expected.columns[2:]
    assert found.columns == ["valid_from", "valid_to", *columns]
    assert found.select(pl.col(name).cast(expected.schema[name]) for name in columns).equals(expected.select(columns))
    assert found["valid_from"].to_list() == found["t"].to_list()
    assert found["valid_to"].to_list() == found["until"].to_list()


CONDITIONS = [
    "big > 50", "big >= 50 AND small < 0", "big IN (1, 2, 97)", "NOT big IN (1, 2)", "big <> 7", "NOT (big <=> 7)",
    "big = 7 OR small = 1", "flag", "NOT flag", "flag IS NULL", "small IS NOT NULL AND name LIKE 'a%'", "name > 'a'",
    "name LIKE '%本%'", "price > 1.5", "price <> 1.5", "ratio = 0", "day >= DATE '2026-01-20'", "big % 2 = 0",
    "seen > TIMESTAMP '2026-01-01T05:00:00Z'", "size(tags) = 3", "tags IS NULL",
]  # fmt: skip


def test_a_condition_gives_what_filtering_afterwards_gives(
    spark: SparkSession, make_app: MakeApp, tmp_path: Path
) -> None:
    readings(make_app, 600)
    whole = load(spark, tmp_path / "store", "readings").localCheckpoint()
    for condition in CONDITIONS:
        found = load(spark, tmp_path / "store", "readings", where=condition)
        assert frame(found).equals(frame(whole.where(condition))), condition


def test_queries_on_one_data_frame_do_not_disturb_each_other(
    spark: SparkSession, make_app: MakeApp, tmp_path: Path
) -> None:
    readings(make_app, 600)
    made = load(spark, tmp_path / "store", "readings")
    small, large = made.where("big < 10").selectExpr("big AS a"), made.where("big >= 90").selectExpr("big AS b")
    number = [small.count(), large.count(), made.count()]
    big = frame(made)["big"]
    assert number == [(big < 10).sum(), (big >= 90).sum(), 600]
    assert small.unionByName(large.selectExpr("b AS a")).union(made.select("big")).count() == sum(number)


def test_time_columns_and_a_schema(spark: SparkSession, make_app: MakeApp, tmp_path: Path) -> None:
    readings(make_app, 600)
    whole = frame(load(spark, tmp_path / "store", "readings"))
    span = {"from": "2026-01-05T12:02:00Z", "to": "2026-01-05T12:02:30Z"}
    found = frame(load(spark, tmp_path / "store", "readings", columns="t, big", **span))
    start, end = NOON + timedelta(minutes=2), NOON + timedelta(minutes=2, seconds=30)
    lives = (pl.col("valid_from") < end) & (pl.col("valid_to").is_null() | (pl.col("valid_to") > start))
    assert found.equals(whole.filter(lives).select("t", "big"))
    made = spark.read.format("waterclock").schema("big bigint").option("store", str(tmp_path / "store"))
    assert frame(made.option("stream", "readings").load())["big"].to_list() == whole["big"].to_list()


def test_many_rows_are_several_tasks(spark: SparkSession, make_app: MakeApp, tmp_path: Path) -> None:
    stream = make_app().stream("many", {"n": int, "t": int}, time="t")
    rows = 3 * read.MOST_ROWS
    stream.push(pl.select(n=pl.int_range(rows), t=pl.int_range(rows)))
    found = load(spark, tmp_path / "store", "many", columns="n")
    assert found.rdd.getNumPartitions() == 3
    assert found.agg(F.sum("n"), F.count("n")).collect() == [(rows * (rows - 1) // 2, rows)]


def test_errors_reach_the_user(spark: SparkSession, make_app: MakeApp, tmp_path: Path) -> None:
    stream = make_app().stream("clicks", {"user": str, "t": int}, time="t")
    stream.push([{"user": "ann", "t": 1}])
    store = tmp_path / "store"
    with pytest.raises(PySparkException) as raised:
        load(spark, store, "click")
    assert "[STORE.NO_STREAM]" in str(raised.value)
    assert "Did you mean 'clicks'" in str(raised.value)
    wrong = spark.sql("SELECT 1 AS user, 'x' AS when").write.format("waterclock").mode("append")
    with pytest.raises(PySparkException) as raised:
        wrong.options(store=str(store), stream="clicks").save()
    assert "'user' is int, not string; 't' is missing; 'when' is not one of them" in str(raised.value)
    late = spark.sql("SELECT 'bob' AS user, 0L AS t").write.format("waterclock").mode("append")
    with pytest.raises(PySparkException) as raised:
        late.options(store=str(store), stream="clicks").save()
    assert "DATA.LATE" in str(raised.value)
    assert stored(store, "clicks").height == 1


# -- as a stream -------------------------------------------------------------------------------------------


def test_read_stream_while_an_app_writes(spark: SparkSession, make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    clicks = app.stream("clicks", {"user": str, "t": int}, time="t", retention=1)
    clicks.filter(wc.col("user") != "c").into("of_ab", retention=1)
    clicks.push([{"user": "a", "t": 0}])
    app.run(mode="offline")

    def drained(maximum: str) -> list[int]:
        made = spark.readStream.format("waterclock").options(
            store=str(tmp_path / "store"), stream="of_ab", maxRows=maximum
        )
        out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
        writing = made.load().writeStream.format("parquet").option("path", out).option("checkpointLocation", checkpoint)
        query = writing.trigger(availableNow=True).start()
        query.awaitTermination(60)
        taken = [progress["numInputRows"] for progress in query.recentProgress]
        assert max(taken, default=0) <= int(maximum)
        return sorted(pl.read_parquet(tmp_path / "out" / "*.parquet")["t"].to_list())

    assert drained("100") == [0]
    expected = [0]
    for turn in range(1, 4):
        for number in range(20 * turn, 20 * turn + 20):
            clicks.push([{"user": "abc"[number % 3], "t": number}])
            expected += [number] if number % 3 != 2 else []
        app.run(mode="offline")
        collect(tmp_path / "store")
        catalog = Catalog.open(tmp_path / "store")
        (pin,) = catalog.pins.all()
        assert catalog.streams.get("of_ab").first <= pin.seq < catalog.streams.get("of_ab").next
        assert catalog.streams.get("clicks").first > 0
        catalog.close()
        assert drained("5") == expected


def test_write_stream_and_write(spark: SparkSession, make_app: MakeApp, tmp_path: Path) -> None:
    stream = make_app().stream("numbers", {"value": int, "timestamp": "timestamp"}, time="timestamp", late="drop")
    stream.push([])
    options = {"store": str(tmp_path / "store"), "stream": "numbers"}
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).option("numPartitions", 2)
    writing = (
        source.option("startTimestamp", 1_767_600_000_000).load().writeStream.format("waterclock").options(**options)
    )
    query = writing.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    while not query.lastProgress or query.lastProgress["batchId"] < 3:
        assert query.isActive, query.exception()
        time.sleep(0.1)
    query.stop()
    found = stored(tmp_path / "store", "numbers")
    assert sorted(found["value"].to_list()) == list(range(found.height))
    more = spark.range(1000, 1100, numPartitions=3).selectExpr(
        "id AS value", "timestamp'2026-01-06T00:00:00Z' AS timestamp"
    )
    more.write.format("waterclock").mode("append").options(**options).save()
    after = stored(tmp_path / "store", "numbers")
    assert after["value"].to_list() == [*found["value"], *range(1000, 1100)]
    assert after["timestamp"][-1] == datetime(2026, 1, 6, tzinfo=UTC)


# -- kill -9 -----------------------------------------------------------------------------------------------

START = """
import sys
from pyspark.sql import SparkSession
import waterclock.spark
from waterclock.runtime.spark import session
folder = sys.argv[1]
spark = SparkSession(session.context("child", "local[2,4]", {"spark.driver.memory": "1g"}))
waterclock.spark.register(spark)
"""
READER = """
rows = spark.readStream.format("waterclock").options(store=folder + "/store", stream="numbers", maxRows="80").load()
query = (
    rows.repartition(2).writeStream.format("parquet").option("path", folder + "/out")
    .option("checkpointLocation", folder + "/checkpoint").start()
)
query.awaitTermination()
"""
WRITER = """
rows = (
    spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 40000).option("numPartitions", 2)
    .option("startTimestamp", 1767600000000).load()
)
while True:
    query = (
        rows.writeStream.format("waterclock").options(store=folder + "/store", stream="numbers")
        .option("checkpointLocation", folder + "/checkpoint").start()
    )
    try:
        query.awaitTermination()
    except Exception as error:
        print("ended:", str(error)[:500], flush=True)
"""
APP = """
import sys, time
import waterclock as wc
app = wc.App("app", sys.argv[1] + "/store")
numbers = app.stream("numbers", {"value": int, "timestamp": "timestamp"}, time="timestamp", retention="1s")
numbers.filter(wc.col("value") % 2 == 0).into("even")
while True:
    app.run(mode="offline")
    print("run", flush=True)
    time.sleep(0.3)
"""


class Child:
    """A program in a process group of its own, with its JVM and workers: all of it is killed."""

    def __init__(self, text: str, folder: Path, **env: str) -> None:
        paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        own = os.environ | {"PYTHONPATH": paths} | env
        self._log = folder / f"log{len(list(folder.glob('log*')))}"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", text, str(folder)], env=own, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def said(self) -> str:
        return self._log.read_text()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def until(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 300
        while not done():
            assert self._process.poll() is None, self.said[-3000:]
            assert time.monotonic() < deadline, self.said[-3000:]
            time.sleep(0.2)


def progress(folder: Path) -> int:
    """Batches that Spark has committed."""
    return len([path for path in (folder / "checkpoint" / "commits").glob("*") if path.name.isdigit()])


def test_a_reading_query_is_killed(make_app: MakeApp, tmp_path: Path) -> None:
    """While rows are pushed, merged and trimmed: nothing is lost, nothing comes twice."""
    rng = random.Random(3)
    stream = make_app().stream("numbers", {"n": int, "t": int}, time="t", retention=1)
    app = make_app()
    app.stream("numbers", {"n": int, "t": int}, time="t", retention=1).filter(wc.col("n") < 0).into("none")
    pushed = 0

    def push() -> None:
        nonlocal pushed
        for _ in range(20):
            stream.push([{"n": n, "t": n} for n in range(pushed, pushed + 5)])
            pushed += 5
        app.run(mode="offline")

    push()
    for _ in range(2):
        child, before = Child(START + READER, tmp_path), progress(tmp_path)
        try:
            child.until(lambda before=before: progress(tmp_path) > before)  # type: ignore[misc]
            push()
            collect(tmp_path / "store")  # the query holds what it has not taken
            time.sleep(rng.random())
        finally:
            child.kill()
        push()
        collect(tmp_path / "store")
    child = Child(START + READER, tmp_path)
    try:
        child.until(lambda: taken(tmp_path) == list(range(pushed)))
    finally:
        child.kill()
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.streams.get("numbers").first > 0
    assert len(catalog.pins.all()) == 1
    catalog.close()


def taken(folder: Path) -> list[int]:
    """What Spark's file sink has committed."""
    logs = (folder / "out" / "_spark_metadata").glob("[0-9]*")
    lines = {line for log in logs for line in log.read_text().splitlines()[1:]}  # some are there again, merged
    paths = [json.loads(line)["path"].removeprefix("file://") for line in lines]
    return sorted(pl.read_parquet(paths)["n"].to_list()) if paths else []


def test_a_writing_query_and_the_app_that_reads_it_are_killed(tmp_path: Path) -> None:
    """Workers in the middle of a commit, the query with its driver, the app: every row counts once."""
    rng = random.Random(5)
    app = Child(APP, tmp_path)
    app.until(lambda: "run" in app.said)
    for crash in ("ingest.before_commit:2", "ingest.after_commit:2", ""):
        child, before = Child(START + WRITER, tmp_path, WATERCLOCK_CRASH=crash), progress(tmp_path)
        try:
            child.until(lambda before=before: progress(tmp_path) >= before + 2)  # type: ignore[misc]
            app.kill()
            app = Child(APP, tmp_path)
            app.until(lambda app=app: "run" in app.said)  # type: ignore[misc]
            time.sleep(rng.random())
        finally:
            child.kill()
        assert ("ended:" in child.said) == bool(crash), child.said
    app.kill()
    end = APP.split("while True")[0] + 'numbers.end()\napp.run(mode="offline")\n'
    subprocess.run([sys.executable, "-c", end, str(tmp_path)], check=True, timeout=300)
    even = stored(tmp_path / "store", "even")["value"]
    catalog = Catalog.open(tmp_path / "store")
    row = catalog.streams.get("numbers")
    catalog.close()
    assert row.counters == {"rows": row.next}
    assert row.next >= 40_000 * progress(tmp_path)
    assert even.sort().equals(pl.int_range(0, row.next, 2, eager=True).alias("value"))
