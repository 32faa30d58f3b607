"""What Spark's workers call, called here: no Java is needed for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import types as T
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import LongType, StringType, StructField, StructType

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.catalog.writers import Writers
from waterclock.errors import ConfigError, DataError, StoreError, WaterclockError
from waterclock.runtime import keeper
from waterclock.runtime.garbage import holds
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.store import INCOMING, Store
from waterclock.schema import TYPES, Schema
from waterclock.spark import WaterclockSource, read, write
from waterclock.streams import Declaration

MakeApp = Callable[..., wc.App]
SPARK_TYPES = {
    "boolean": T.BooleanType(), "int": T.IntegerType(), "bigint": T.LongType(), "float": T.FloatType(),
    "double": T.DoubleType(),
    "string": T.StringType(), "binary": T.BinaryType(), "date": T.DateType(), "timestamp": T.TimestampType(),
    "array<string>": T.ArrayType(T.StringType()),
    "struct<a:int,b:array<timestamp>>": StructType(
        [StructField("a", T.IntegerType()), StructField("b", T.ArrayType(T.TimestampType()))]
    ),
}  # fmt: skip
NOW = datetime(2026, 1, 5, tzinfo=UTC)


def source(store: Path, stream: str, **options: str) -> WaterclockSource:
    return WaterclockSource(CaseInsensitiveDict({"store": str(store), "stream": stream, **options}))


def schema_of(made: WaterclockSource) -> StructType:
    """As Spark reads the text."""
    fields = []
    for part in made.schema().split(", `"):
        name, kind = part.lstrip("`").split("` ")
        fields.append(StructField(name, SPARK_TYPES[kind]))
    return StructType(fields)


def batch(made: WaterclockSource) -> pl.DataFrame:
    """All rows."""
    schema = schema_of(made)
    reader = made.reader(schema)
    found = [batch for part in reader.partitions() for batch in reader.read(part)]
    if not found:
        return pl.DataFrame(schema=schema.fieldNames())
    frame = pl.from_arrow(pa.Table.from_batches(found))
    assert isinstance(frame, pl.DataFrame)
    return frame


def numbers(make_app: MakeApp, rows: int = 100, pushes: int = 5, **options: Any) -> wc.SourceStream:
    stream = make_app().stream("numbers", {"n": int, "t": int}, time="t", **options)
    for some in pl.DataFrame({"n": range(rows), "t": range(rows)}).iter_slices(rows // pushes):
        stream.push(some)
    return stream


# -- reading -----------------------------------------------------------------------------------------------


def test_all_types_and_lifetimes(make_app: MakeApp, tmp_path: Path) -> None:
    kinds = {f"c{number}": kind for number, kind in enumerate(SPARK_TYPES)}
    rows = pl.DataFrame(
        {
            "c0": [True, None], "c1": [1, None], "c2": [2, None], "c3": [0.5, None], "c4": [0.1, None],
            "c5": ["日本", None], "c6": [b"\x00\xff", None], "c7": [date(2026, 1, 5), None], "c8": [NOW, None],
            "c9": [["a", None], None], "c10": [{"a": 1, "b": [NOW]}, None], "s": [NOW, NOW],
            "e": [None, NOW.replace(day=6)],
        },
        schema_overrides={"c1": pl.Int32, "c3": pl.Float32, "c10": TYPES["struct<a:int,b:array<timestamp>>"]},
    )  # fmt: skip
    stream = make_app().stream("all", {**kinds, "s": "timestamp", "e": "timestamp"}, time="s", end="e")
    stream.push(rows)
    found = batch(source(tmp_path / "store", "all"))
    assert found.columns[:2] == ["valid_from", "valid_to"]
    assert found["valid_from"].to_list() == [NOW, NOW]
    assert found["valid_to"].to_list() == [None, NOW.replace(day=6)]
    same = found.select(pl.col(name).cast(kind) for name, kind in stream.declaration.schema.polars().items())
    assert same.equals(rows.select(same.columns).cast(dict(same.schema)))


def test_columns_and_their_errors(make_app: MakeApp, tmp_path: Path) -> None:
    numbers(make_app)
    assert schema_of(source(tmp_path / "store", "numbers", columns="n, valid_from")).fieldNames() == ["n", "valid_from"]
    assert batch(source(tmp_path / "store", "numbers", columns="n")).columns == ["n"]
    with pytest.raises(ConfigError, match=r"SCHEMA.UNKNOWN_COLUMN(.|\n)*Columns there: valid_from, valid_to, n, t"):
        source(tmp_path / "store", "numbers", columns="m").schema()
    with pytest.raises(ConfigError, match=r"'n' of 'numbers' is bigint"):
        source(tmp_path / "store", "numbers").reader(StructType([StructField("n", StringType())]))


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"stream": "x"}, ConfigError, r"store=None(.|\n)*option\('store'"),
        ({"store": "here"}, ConfigError, r"stream=None(.|\n)*option\('stream'"),
        ({"store": "nowhere", "stream": "x"}, StoreError, "STORE.NOT_THERE"),
        ({"store": ".", "stream": "x"}, StoreError, "STORE.NOT_A_STORE"),
        ({"store": "store", "stream": "number"}, StoreError, "STORE.NO_STREAM(.|\n)*Did you mean 'numbers'"),
        ({"store": "store", "stream": "numbers", "maxRow": "3"}, ConfigError, "Did you mean 'maxRows'"),
        ({"store": "store", "stream": "numbers", "maxRows": "0"}, ConfigError, "at least 1"),
        ({"store": "store", "stream": "numbers", "maxRows": "many"}, ConfigError, "at least 1"),
        ({"store": "store", "stream": "numbers", "starting": "first"}, ConfigError, "earliest, latest"),
        ({"store": "store", "stream": "numbers", "where": "m > 5"}, ConfigError, "SQL.UNKNOWN_COLUMN"),
        ({"store": "store", "stream": "numbers", "where": "n >"}, ConfigError, "SQL.SYNTAX"),
        ({"store": "store", "stream": "numbers", "from": "noon"}, ConfigError, "TIME.BAD_INSTANT"),
        ({"store": "store", "stream": "numbers", "from": "2026-01-06", "to": "2026-01-05"}, ConfigError, "overlaps"),
    ],
)  # fmt: skip
def test_wrong_options(
    options: dict[str, str], error: type[WaterclockError], match: str, make_app: MakeApp, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    numbers(make_app)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=match):
        WaterclockSource(CaseInsensitiveDict(options)).schema()  # by .load(), before a query has started


def test_time_is_pushed_down_to_segments(make_app: MakeApp, tmp_path: Path) -> None:
    stream = make_app().stream("lives", {"n": int, "t": int}, time="t", duration=10)
    for at in range(0, 100, 20):
        stream.push([{"n": at + i, "t": at + i} for i in range(20)])
    made = source(
        tmp_path / "store", "lives", **{"from": "1970-01-01T00:00:00.000035Z", "to": "1970-01-01T00:00:00.000045Z"}
    )
    found = batch(made)
    assert found["n"].to_list() == list(range(26, 45))
    assert sum(len(part.pieces) for part in made.reader(schema_of(made)).partitions()) == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("share", [7, 1000])
def test_parts_are_bounded_and_whole(
    share: int, make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "MOST_ROWS", share)
    numbers(make_app)
    made = source(tmp_path / "store", "numbers")
    parts = made.reader(schema_of(made)).partitions()
    assert [sum(piece.rows for piece in part.pieces) for part in parts] == [7] * 14 + [2] if share == 7 else [100]  # type: ignore[attr-defined]
    assert batch(made)["n"].to_list() == list(range(100))


def test_a_segment_that_was_merged_meanwhile_is_found_again(make_app: MakeApp, tmp_path: Path) -> None:
    numbers(make_app, 96, 32)
    made = source(tmp_path / "store", "numbers")
    reader = made.reader(schema_of(made))
    parts = reader.partitions()
    catalog = Catalog.open(tmp_path / "store")
    before = {segment.blob for segment in catalog.streams.segments("numbers", 0, 96)}
    Keeper(Store(catalog, None), []).tidy()
    after = {segment.blob for segment in catalog.streams.segments("numbers", 0, 96)}
    assert len(after) < len(before)
    for blob in before - after:
        assert blob is not None
        (tmp_path / "store" / blob.path).unlink(missing_ok=True)
    catalog.close()
    found = [row for part in parts for batch in reader.read(part) for row in batch["n"].to_pylist()]
    assert found == list(range(96))


def test_what_is_damaged_is_said(make_app: MakeApp, tmp_path: Path) -> None:
    numbers(make_app)
    for path in (tmp_path / "store" / "streams" / "numbers").glob("*"):
        path.unlink()
    with pytest.raises(StoreError, match=r"STORE\.DAMAGED"):
        batch(source(tmp_path / "store", "numbers"))


def test_a_condition_may_use_columns_that_are_not_read(make_app: MakeApp, tmp_path: Path) -> None:
    numbers(make_app)
    found = batch(source(tmp_path / "store", "numbers", where="t >= 10 AND n % 2 = 0 AND n < 15", columns="n"))
    assert (found.columns, found["n"].to_list()) == (["n"], [10, 12, 14])


def test_tables_and_sides_can_be_read(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    colours = app.table("colours", {"id": int, "name": str}, [{"id": 1, "name": "red"}])
    stream = app.stream("s", {"id": int, "t": int}, time="t", late="divert")
    stream.join(colours, on="id").into("named")
    stream.push([{"id": 1, "t": 5}])
    stream.push([{"id": 1, "t": 2}, {"id": 1, "t": 6}])
    stream.end()
    app.run(mode="offline")
    table = batch(source(tmp_path / "store", "colours"))
    assert table.rows() == [(None, None, 1, "red")]
    assert batch(source(tmp_path / "store", "s.late"))["t"].to_list() == [2]
    assert batch(source(tmp_path / "store", "named"))["name"].to_list() == ["red", "red"]


# -- reading as a stream -----------------------------------------------------------------------------------


def test_offsets_pins_and_limits(make_app: MakeApp, tmp_path: Path) -> None:
    stream = numbers(make_app, retention=5)
    made = source(tmp_path / "store", "numbers", maxRows="30")
    reader = made.streamReader(schema_of(made))
    start = reader.initialOffset()
    assert start["seq"] == 0
    assert reader.getDefaultReadLimit() == ReadMaxRows(30)
    first = reader.latestOffset(start, ReadMaxRows(30))
    assert first["seq"] == 30
    assert reader.latestOffset(first, ReadAllAvailable())["seq"] == 100
    catalog = Catalog.open(tmp_path / "store")
    assert [(pin.name, pin.stream, pin.seq) for pin in catalog.pins.all()] == [(start["pin"], "numbers", 0)]
    reader.commit(first)
    row = catalog.streams.get("numbers")
    assert (holds(catalog, row)[0].who, holds(catalog, row)[0].seq) == (f"pin {start['pin']!r}", 30)
    again = made.streamReader(schema_of(made))  # as after a restart: all that is known is the last offset
    assert again.latestOffset(first, ReadAllAvailable())["seq"] == 100
    assert len(catalog.pins.all()) == 1
    again.prepareForTriggerAvailableNow()
    stream.push([{"n": 100, "t": 100}])
    assert again.latestOffset(first, ReadAllAvailable())["seq"] == 100
    assert reader.latestOffset(first, ReadAllAvailable())["seq"] == 101
    assert reader.reportLatestOffset() == {"seq": 101}
    with pytest.raises(StoreError, match=r"STREAM.SHORTER.*ends at event 101, and this query has read up to 102"):
        reader.latestOffset({**first, "seq": 102}, ReadAllAvailable())
    catalog.close()


def test_a_query_that_was_killed_in_its_first_batch_begins_where_it_began(make_app: MakeApp, tmp_path: Path) -> None:
    stream = numbers(make_app)
    made = source(tmp_path / "store", "numbers", starting="latest")
    reader = made.streamReader(schema_of(made))
    start = reader.initialOffset()
    stream.push([{"n": 100, "t": 100}])
    end = reader.latestOffset(start, ReadAllAvailable())  # which Spark writes down, and the start it does not
    stream.push([{"n": 101, "t": 101}])
    anew = made.streamReader(schema_of(made))
    parts = anew.partitions(anew.initialOffset(), end)
    assert [row for part in parts for batch in anew.read(part) for row in batch["n"].to_pylist()] == [100]
    assert [row for part in reader.partitions(end, end) for row in reader.read(part)] == []


def test_beginning_somewhere(make_app: MakeApp, tmp_path: Path) -> None:
    numbers(make_app)

    def begun(starting: str) -> int:
        made = source(tmp_path / "store", "numbers", starting=starting)
        return int(made.streamReader(schema_of(made)).initialOffset()["seq"])

    assert [begun(starting) for starting in ("earliest", "7", "100", "latest")] == [0, 7, 100, 100]
    with pytest.raises(ConfigError, match="'numbers' has events up to 100"):
        begun("101")
    catalog = Catalog.open(tmp_path / "store")
    catalog.transact(lambda: catalog.streams.trim("numbers", 20))
    catalog.close()
    assert begun("earliest") == 20
    with pytest.raises(StoreError, match=r"STREAM.TRIMMED(.|\n)*the first one left is 20"):
        begun("7")
    made = source(tmp_path / "store", "numbers")
    reader = made.streamReader(schema_of(made))
    offset = {"begun": 0, "pin": "spark-1"}
    with pytest.raises(StoreError, match=r"STREAM\.TRIMMED"):
        reader.partitions({"seq": 10, **offset}, {"seq": 30, **offset})


# -- writing -----------------------------------------------------------------------------------------------

NUMBERS = StructType([StructField("t", LongType()), StructField("n", LongType())])


@pytest.fixture
def query(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, int], None]]:
    """Lets what follows be in a task of a streaming query."""

    def within(name: str, batch: int) -> None:
        context = TaskContext._getOrCreate()
        context._localProperties = {write.QUERY: name, write.BATCH: str(batch)}
        TaskContext._setTaskContext(context)

    yield within
    TaskContext._setTaskContext(None)


def rows(*ns: int) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"t": pa.array(ns, pa.int64()), "n": pa.array(ns, pa.int64())})


def read_all(store: Path, stream: str = "numbers") -> list[int]:
    return batch(source(store, stream))["n"].to_list()


@pytest.mark.parametrize("inline", [0, 1 << 20, 100])
def test_a_batch_counts_once(inline: int, make_app: MakeApp, tmp_path: Path, query: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(write, "INLINE", inline)
    numbers(make_app, 10, 1)
    store = tmp_path / "store"
    made = source(store, "numbers")

    def task(*ns: int) -> write.Taken:
        return made.streamWriter(NUMBERS, False).write(rows(*ns))

    query("q", 0)
    few, many = (12, 13), tuple(range(14, 40))
    task(10, 11)  # an attempt that was lost
    made.streamWriter(NUMBERS, False).commit([task(10, 11), task(*few), task(*many)], 0)
    assert read_all(store) == list(range(40))
    made.streamWriter(NUMBERS, False).commit([task(10, 11), task(*few), task(*many)], 0)  # the driver died before
    assert read_all(store) == list(range(40))
    query("q", 1)
    made.streamWriter(NUMBERS, False).abort([task(40), None], 1)
    made.streamWriter(NUMBERS, False).commit([task(40), task()], 1)
    query("other", 0)
    made.streamWriter(NUMBERS, False).commit([task(41)], 0)
    assert read_all(store) == list(range(42))
    made.streamWriter(NUMBERS, False).commit([], 2)
    assert list((store / INCOMING).glob("*")) == []


def test_two_drivers_commit_one_batch(make_app: MakeApp, tmp_path: Path, query: Any, monkeypatch: Any) -> None:
    """Both have looked before either has committed."""
    monkeypatch.setattr(Writers, "last", lambda *_: -1)
    numbers(make_app, 10, 1, late="drop")
    query("q", 0)
    writer = source(tmp_path / "store", "numbers").streamWriter(NUMBERS, False)
    mine, theirs = writer.write(rows(10, 11)), writer.write(rows(10, 11))
    writer.commit([theirs], 0)
    writer.commit([mine], 0)
    assert read_all(tmp_path / "store") == list(range(12))


@pytest.mark.parametrize("inline", [0, 1 << 20])
def test_the_tasks_of_a_batch_are_one_chunk(
    inline: int, make_app: MakeApp, tmp_path: Path, query: Any, monkeypatch: Any
) -> None:
    """None is late because of another, however they are cut; what is late is told apart row by row."""
    monkeypatch.setattr(write, "INLINE", inline)
    app = make_app()
    app.stream("numbers", {"n": int, "t": int}, time="t", late="divert").push([{"n": 5, "t": 5}])
    made = source(tmp_path / "store", "numbers")
    writer = made.streamWriter(NUMBERS, False)
    query("q", 0)
    writer.commit([writer.write(rows(20, 21)), writer.write(rows(6, 7))], 0)
    assert read_all(tmp_path / "store") == [5, 20, 21, 6, 7]
    query("q", 1)
    writer.commit([writer.write(rows(3, 30)), writer.write(rows(21, 2))], 1)
    assert read_all(tmp_path / "store") == [5, 20, 21, 6, 7, 30, 21]
    assert read_all(tmp_path / "store", "numbers.late") == [3, 2]
    catalog = Catalog.open(tmp_path / "store")
    row = catalog.streams.get("numbers")
    assert (row.cti, row.counters) == (30, {"rows": 7, "late_diverted": 2})
    catalog.close()


@pytest.mark.parametrize("inline", [0, 1 << 20])
def test_a_batch_that_the_border_refuses(
    inline: int, make_app: MakeApp, tmp_path: Path, query: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(write, "INLINE", inline)
    numbers(make_app, 10, 1)
    writer = source(tmp_path / "store", "numbers").streamWriter(NUMBERS, False)
    query("q", 7)
    with pytest.raises(DataError, match=r"DATA.LATE\] batch 7 of the Spark query q: row 1: an event starts"):
        writer.commit([writer.write(rows(10)), writer.write(rows(3))], 7)
    assert read_all(tmp_path / "store") == list(range(10))


def test_a_file_is_swept_when_nobody_can_want_it(
    make_app: MakeApp, tmp_path: Path, query: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(write, "INLINE", 0)
    numbers(make_app, 10, 1)
    store = tmp_path / "store"
    writer = source(store, "numbers").streamWriter(NUMBERS, False)
    query("q", 0)
    message = writer.write(rows(10))

    def tidy() -> None:
        catalog = Catalog.open(store)
        swept = Keeper(Store(catalog, None), [], orphan_age=0)
        swept.sweep()
        swept.sweep()
        catalog.close()

    tidy()
    assert len(list((store / INCOMING).glob("*"))) == 1
    writer.commit([message], 0)
    tidy()
    assert read_all(store) == list(range(11))
    query("q", 1)
    message = writer.write(rows(11))
    monkeypatch.setattr(keeper, "ABANDONED", 0.0)
    tidy()
    assert list((store / INCOMING).glob("*")) == []
    with pytest.raises(StoreError, match="swept before it was committed"):
        writer.commit([message], 1)
    assert read_all(store) == list(range(11))


def test_a_job_is_all_or_nothing(make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "INLINE", 0)
    numbers(make_app, 10, 1)
    made = source(tmp_path / "store", "numbers")
    writer = made.writer(NUMBERS, False)
    writer.abort([writer.write(rows(10)), None])
    assert list((tmp_path / "store" / INCOMING).glob("*")) == []
    writer.commit([writer.write(rows(10)), writer.write(rows(11))])
    assert read_all(tmp_path / "store") == list(range(12))
    with pytest.raises(ConfigError, match="A stream only grows"):
        made.writer(NUMBERS, True)


def test_columns_that_differ_are_named(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    stream = app.stream("numbers", {"n": int, "t": int}, time="t")
    stream.tumbling(10).agg(c=wc.count()).into("counts")
    stream.push([{"n": 1, "t": 1}])
    app.run(mode="offline")
    wrong = StructType([StructField("n", StringType()), StructField("time", LongType())])
    with pytest.raises(
        DataError, match=r"'n' is string, not bigint; 't' is missing; 'time' is not one of them"
    ) as raised:
        source(tmp_path / "store", "numbers").streamWriter(wrong, False)
    assert raised.value.code == "DATA.COLUMNS_DIFFER"
    with pytest.raises(ConfigError, match="'counts' is written by an app"):
        source(tmp_path / "store", "counts").streamWriter(wrong, False)


@pytest.mark.usefixtures("each_database")
def test_tokens_and_pins_in_each_database(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path / "store", create=True)
    catalog.streams.create(Declaration("s", Schema.of({"t": int}), "t"))
    assert [catalog.writers.take("q", "s", batch) for batch in (0, 0, 1, 0, 3, 2)] == [
        True,
        False,
        True,
        False,
        True,
        False,
    ]
    assert (catalog.writers.last("q", "s"), catalog.writers.last("q", "other")) == (3, -1)
    for seq in (0, 7, 3):
        catalog.pins.move("p", "s", seq)
    assert [(pin.name, pin.seq) for pin in catalog.pins.all()] == [("p", 7)]
    catalog.close()
