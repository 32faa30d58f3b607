"""``format("waterclock")`` where tasks run in other processes, and one of them is killed with SIGKILL half way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import psutil
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import waterclock as wc
from tests.spark.test_source import progress, stored

pytestmark = pytest.mark.cluster
ROWS = 1_200_000
"""Two tasks to read."""


@pytest.fixture
def options(make_app: Callable[..., wc.App], tmp_path: Path) -> dict[str, str]:
    stream = make_app().stream("numbers", {"n": int, "t": int}, time="t")
    stream.push(pl.select(n=pl.int_range(ROWS), t=pl.int_range(ROWS)))
    return {"store": str(tmp_path / "store"), "stream": "numbers"}


def killed_once(rows: DataFrame, mark: Path) -> DataFrame:
    """The same rows; the first task that has given some takes its executor down."""

    def given(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if batch.num_rows and not mark.exists():
                mark.touch()
                next(each for each in psutil.Process().parents() if each.name() == "java").kill()

    return rows.mapInArrow(given, rows.schema)


def test_read_and_write(spark: SparkSession, options: dict[str, str], tmp_path: Path) -> None:
    found = spark.read.format("waterclock").options(**options).load()
    assert found.rdd.getNumPartitions() == 2
    more = found.selectExpr(f"n + {ROWS} AS n", f"t + {ROWS} AS t")
    more.write.format("waterclock").mode("append").options(**options).save()
    assert stored(tmp_path / "store", "numbers")["n"].sort().equals(pl.int_range(2 * ROWS, eager=True).alias("n"))
    assert not list((tmp_path / "store" / "incoming").iterdir())


def test_follow_and_write(
    spark: SparkSession, options: dict[str, str], tmp_path: Path, make_app: Callable[..., wc.App]
) -> None:
    """A query from one stream to another loses an executor, is stopped while it works, and started again."""
    make_app().stream("copy", {"n": int, "t": int}, time="t").push([])
    rows = spark.readStream.format("waterclock").options(**options, maxRows=str(ROWS // 3)).load().select("n", "t")
    copying = killed_once(rows.repartition(2), tmp_path / "killed").writeStream.format("waterclock")
    copying = copying.options(**options | {"stream": "copy"}).option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = copying.start()
    while progress(tmp_path) < 1:
        assert query.isActive, query.exception()
        time.sleep(0.1)
    query.stop()
    assert (tmp_path / "killed").exists()
    query = copying.trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    assert progress(tmp_path) == 3
    assert stored(tmp_path / "store", "copy")["n"].sort().equals(pl.int_range(ROWS, eager=True).alias("n"))
