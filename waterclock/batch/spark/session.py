"""Runs a compiled query on Spark SQL: views over the history, one Arrow table per output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import polars as pl
import pyarrow as pa
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from waterclock.batch.aggregates import OVERFLOW
from waterclock.batch.history import History
from waterclock.batch.query import Query
from waterclock.batch.spark.functions import register
from waterclock.batch.user import user_error
from waterclock.errors import DataError, RunError, UserError
from waterclock.plan.nodes import Node
from waterclock.runtime.spark import session as spark_session
from waterclock.runtime.spark.interrupt import interruptible

WORTH_A_TASK = 20_000
ROWS_PER_PARTITION = 500_000

_OF_THE_CONTEXT = {
    # SQL is compiled to long loops: they need the optimising compiler, which short Python jobs do without.
    "spark.driver.extraJavaOptions": " ".join(
        option for option in spark_session.settings()["spark.driver.extraJavaOptions"].split() if "log4j2" in option
    ),
    "spark.shuffle.compress": "true",
    "spark.driver.maxResultSize": "0",
    "spark.sql.catalogImplementation": "in-memory",
}
"""Used when no context runs yet. One that runs is taken as it is."""

_OF_THE_SESSION = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.crossJoin.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
"""What the texts are written for."""


@contextmanager
def session(app: str, master: str, spark: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session of its own, on the context that runs or on a new one. What it kept is gone afterwards."""
    running = SparkContext._active_spark_context
    if running is None:
        running = spark_session.context(app, master, {**_OF_THE_CONTEXT, **spark})
    own = SparkSession(running).newSession()
    wanted = {key: value for key, value in spark.items() if key.startswith("spark.sql.")}
    for key, value in {**wanted, **_OF_THE_SESSION}.items():
        own.conf.set(key, value)
    try:
        yield own
    finally:
        own.catalog.clearCache()
        for table in own.catalog.listTables():
            own.catalog.dropTempView(table.name)


def answers(
    app: str, master: str, spark: Mapping[str, str], query: Query, histories: Mapping[str, History],
    outputs: Mapping[str, Node],
) -> dict[str, pl.DataFrame]:  # fmt: skip
    """The result of every output, in a session for them alone."""

    def work() -> dict[str, pl.DataFrame]:
        with session(app, master, spark) as own:
            return answer(own, query, histories, outputs)

    return interruptible(work)


def answer(
    own: SparkSession, query: Query, histories: Mapping[str, History], outputs: Mapping[str, Node]
) -> dict[str, pl.DataFrame]:
    """The result of every output, in order of start, end and payload."""
    rows = sum(history.rows for history in histories.values())
    cores = own.sparkContext.defaultParallelism
    partitions = max(1, min(cores, rows // WORTH_A_TASK), min(2000, rows // ROWS_PER_PARTITION))
    own.conf.set("spark.sql.shuffle.partitions", str(partitions))
    register(own, list(outputs.values()))
    for stream, name in query.streams.items():
        _open(own, name, histories[stream])
    return answered(own, query, outputs)


def answered(own: SparkSession, query: Query, outputs: Mapping[str, Node]) -> dict[str, pl.DataFrame]:
    """The same where the views of the streams are there."""
    for view in query.views:
        made = own.sql(view.sql)
        if view.kept:
            try:
                made = made.localCheckpoint()
            except PySparkException as error:
                raise _failure(", ".join(outputs), error) from error
        made.createOrReplaceTempView(view.name)
    return {name: _collected(own, name, query.results[name].name, node) for name, node in outputs.items()}


def _open(own: SparkSession, view: str, history: History) -> None:
    for kind, files in (("copied", history.copied), ("in_place", history.in_place)):
        if files:
            own.read.parquet(*files).createOrReplaceTempView(f"{view}_{kind}")
    own.sql(history.sql(f"{view}_copied", f"{view}_in_place")).createOrReplaceTempView(view)


def _collected(own: SparkSession, output: str, view: str, node: Node) -> pl.DataFrame:
    try:
        table: pa.Table = own.table(view).toArrow()
    except PySparkException as error:
        raise _failure(output, error) from error
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    wanted = node.schema.frame_schema()
    frame = found.select(pl.col(name).cast(kind) for name, kind in wanted.items())
    return frame.sort([name for name, kind in wanted.items() if not kind.is_nested()])


def _failure(output: str, error: PySparkException) -> DataError | RunError | UserError:
    reason = str(error)
    of_user = user_error(reason)
    if of_user is not None:
        return of_user
    if OVERFLOW in reason:
        return DataError("DATA.OVERFLOW", what=reason.split(OVERFLOW)[1].split(" SQLSTATE")[0].splitlines()[0])
    return RunError("RUN.BATCH_FAILED", output=output, reason=reason.splitlines()[0])
