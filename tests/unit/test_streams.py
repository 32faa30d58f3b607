"""Uniqueness, Validity and Reliability of streams, with writers racing; growing files, damage, compaction, trimming."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from waterclock import launch
from waterclock.catalog import Catalog, Intent, Range
from waterclock.connect.base import Chunk
from waterclock.errors import StoreError
from waterclock.runtime import keeper
from waterclock.runtime.log import StreamLog, StreamReader
from waterclock.runtime.store import Store
from waterclock.schema import Schema
from waterclock.storage import Damaged, GrowingFile, encode, read
from waterclock.streams import Declaration, Segment
from waterclock.time import BEGINNING

pytestmark = pytest.mark.usefixtures("each_database")

NUMBERS = Declaration("numbers", Schema.of({"n": "bigint", "writer": "bigint"}), time="n", slack=10**9)


def opened(root: Path, declaration: Declaration = NUMBERS) -> Store:
    catalog = Catalog.open(root, create=True)
    catalog.streams.create(declaration)
    return Store(catalog, None)


def chunk(numbers: list[int], writer: int = 0) -> Chunk:
    rows = pl.DataFrame({"n": numbers, "writer": [writer] * len(numbers)}, schema={"n": pl.Int64, "writer": pl.Int64})
    return Chunk(None, "", rows)


def write_many(root: Path, writer: int, appends: int) -> None:
    store = opened(root)
    log = StreamLog(store, "numbers")
    for number in range(appends):
        log.append(chunk([number, number + 1], writer))
    store.close()


def test_racing_writers_get_consecutive_numbers(tmp_path: Path) -> None:
    """Two processes of two threads each: every number once, every acknowledged event there, in its writer's order."""
    opened(tmp_path).close()
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=write_many, args=(tmp_path, writer, 60)) for writer in (1, 2)]
    threads = [threading.Thread(target=write_many, args=(tmp_path, writer, 60)) for writer in (3, 4)]
    for worker in (*processes, *threads):
        worker.start()
    for worker in (*processes, *threads):
        worker.join()
    catalog = Catalog.open(tmp_path)
    row = catalog.streams.get("numbers")
    assert row.next == 4 * 60 * 2
    assert row.counters == {"rows": 480}
    segments = catalog.streams.segments("numbers", 0, row.next)
    assert [s.first for s in segments] == [sum(s.rows for s in segments[:i]) for i in range(len(segments))]
    events = StreamReader(catalog, "numbers").read(0, row.next)
    for writer in (1, 2, 3, 4):
        expected = [n for number in range(60) for n in (number, number + 1)]
        assert events.filter(pl.col("writer") == writer)["n"].to_list() == expected


def test_the_first_write_of_a_number_wins(tmp_path: Path) -> None:
    store = opened(tmp_path)
    blob = store.growing("streams/numbers").append(encode(NUMBERS.schema.empty()))
    first = Segment(0, 2, 5, blob, 0, 1)
    assert store.catalog.streams.append("numbers", 0, [first], 5)
    assert not store.catalog.streams.append("numbers", 0, [Segment(0, 3, 9, blob, 0, 1)], 9)
    assert store.catalog.streams.get("numbers").next == 2
    assert store.catalog.streams.get("numbers").cti == 5


def test_a_writer_that_missed_a_move_of_time_checks_again(tmp_path: Path) -> None:
    """Time moved on between two appends of a writer: its next event is late, whatever it knew."""
    late = Declaration("numbers", NUMBERS.schema, time="n", late="drop", slack=10**9)
    store = opened(tmp_path, late)
    one, other = StreamLog(store, "numbers"), StreamLog(store, "numbers")
    one.append(chunk([100]))
    other.advance(500)
    one.append(chunk([400, 600]))
    rows = StreamReader(store.catalog, "numbers").read_next()[1]
    assert rows["n"].to_list() == [100, 600]
    assert store.catalog.streams.get("numbers").counters == {"rows": 2, "late_dropped": 1}


def test_readers_see_only_what_is_committed(tmp_path: Path) -> None:
    store = opened(tmp_path)
    log = StreamLog(store, "numbers")
    log.append(chunk([1, 2, 3]))
    store.growing("streams/numbers").append(encode(chunk([666]).rows))  # type: ignore[arg-type]  # written, never committed
    reader = StreamReader(store.catalog, "numbers")
    assert reader.read_next()[1]["n"].to_list() == [1, 2, 3]
    assert reader.read_next()[1].height == 0
    log.append(chunk([4]))
    first, rows = reader.read_next()
    assert (first, rows["n"].to_list()) == (3, [4])


def test_rewind_and_independent_readers(tmp_path: Path) -> None:
    store = opened(tmp_path)
    log = StreamLog(store, "numbers")
    for number in range(10):
        log.append(chunk([number]))
    one, two = StreamReader(store.catalog, "numbers"), StreamReader(store.catalog, "numbers")
    one.register(7)
    assert one.read_next()[1]["n"].to_list() == [7, 8, 9]
    assert two.read_next(limit=2)[1]["n"].to_list() == [0, 1]
    one.rewind(4)
    assert one.read_next(limit=1)[1]["n"].to_list() == [4]


def test_small_appends_share_a_file(tmp_path: Path) -> None:
    store = opened(tmp_path)
    log = StreamLog(store, "numbers")
    for number in range(200):
        log.append(chunk([number]))
    assert len(list((tmp_path / "streams" / "numbers").iterdir())) == 1


def test_a_full_growing_file_is_followed_by_another(tmp_path: Path) -> None:
    growing = GrowingFile(tmp_path, "x", limit=1000)
    frame = pl.DataFrame({"a": [1]})
    blobs = [growing.append(encode(frame)) for _ in range(9)]
    assert len({blob.path for blob in blobs}) > 1
    assert all(read(tmp_path, blob).equals(frame) for blob in blobs)


@pytest.mark.parametrize("harm", ["cut", "flip", "remove"])
def test_damage_is_found(tmp_path: Path, harm: str) -> None:
    growing = GrowingFile(tmp_path, "x")
    blob = growing.append(encode(pl.DataFrame({"a": list(range(100))})))
    path = tmp_path / blob.path
    data = bytearray(path.read_bytes())
    if harm == "cut":
        path.write_bytes(data[:-10])
    elif harm == "flip":
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    else:
        path.unlink()
    with pytest.raises(Damaged):
        read(tmp_path, blob)


def test_compaction_keeps_every_row_under_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "GROUP", 4)
    store = opened(tmp_path)
    log = StreamLog(store, "numbers")
    for number in range(70):
        log.append(chunk([number, number]))
        if number % 9 == 0:
            log.advance(number - 10**8)
    before = StreamReader(store.catalog, "numbers").read(0, 140)
    maintenance = keeper.Keeper(store, [], orphan_age=0.0)
    for _ in range(40):
        maintenance.tidy()
    segments = store.catalog.streams.segments("numbers", 0, 140)
    assert len(segments) < 12
    assert {s.blob.format for s in segments if s.blob} >= {"parquet"}
    assert StreamReader(store.catalog, "numbers").read(0, 140).equals(before)
    assert StreamReader(store.catalog, "numbers").read(33, 77).equals(before[33:77])
    maintenance.sweep()
    assert len(list((tmp_path / "streams" / "numbers").iterdir())) <= len(segments) + 1


def test_compacted_streams_open_with_polars_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "GROUP", 4)
    store = opened(tmp_path)
    log = StreamLog(store, "numbers")
    for number in range(8):
        log.append(chunk([number]))
    keeper.Keeper(store, []).tidy()
    keeper.Keeper(store, []).tidy()
    assert sorted(pl.read_parquet(tmp_path / "streams/numbers/*.parquet")["n"].to_list()) == list(range(8))


def test_large_segments_wait_until_no_epoch_is_under_way(
    make_app: Callable[..., wc.App], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("GROUP", 2), ("LARGE", 1)):
        monkeypatch.setattr(keeper, name, value)
    app = make_app()
    events = app.stream("events", {"n": "bigint"}, time="n")
    events.select("n").into("same")
    for number in range(8):
        events.push([{"n": number}])
    app.run(mode="offline").wait()
    catalog = Catalog.open(tmp_path / "store")

    def formats() -> set[str]:
        tidy = keeper.Keeper(Store(catalog, None), ["same"])
        for _ in range(2):  # at the second look nothing has changed
            tidy.tidy()
        return {segment.blob.format for segment in catalog.streams.segments("events", 0, 8) if segment.blob}

    snapshot, standing = catalog.epochs.snapshot("same"), catalog.epochs.standing("same")
    inputs = {"events": Range(8, 8, *[snapshot.ctis["events"]] * 2)}
    assert catalog.epochs.record("same", Intent(snapshot.epoch + 1, inputs, 1, ()), standing.generation) is not None
    assert formats() == {"arrow"}, "the epoch lasts longer than the time between two looks"
    monkeypatch.setattr(keeper, "MOST_LARGE", 0)
    assert formats() == {"parquet"}, "there are too many to wait"


def test_trim_forgets_and_says_so(tmp_path: Path) -> None:
    store = opened(tmp_path)
    log = StreamLog(store, "numbers")
    for number in range(10):
        log.append(chunk([number]))
    assert store.catalog.streams.trim("numbers", 6) == 6
    reader = StreamReader(store.catalog, "numbers")
    with pytest.raises(StoreError, match="Event 2 of 'numbers' was removed by retention; the first one left is 6"):
        reader.register(2)
    reader.register(6)
    assert reader.read_next()[1]["n"].to_list() == [6, 7, 8, 9]


def test_retention_waits_for_every_reader(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    app = make_app()
    events = app.stream("events", {"n": "bigint"}, time="n", retention=5, late="drop")
    events.tumbling(10).agg(n=wc.count()).into("counts")
    for number in range(50):
        events.push([{"n": number}])
    catalog = Catalog.open(tmp_path / "store")
    launch.declare(app._declared, catalog, app._declared.plans(catalog))
    keeper.Keeper(Store(catalog, None), []).tidy()
    assert catalog.streams.get("events").first == 0, "nobody has read them yet"
    app.run(mode="offline")
    keeper.Keeper(Store(catalog, None), ["counts"]).tidy()
    assert catalog.streams.get("events").first == 44, "5 µs behind the CTI, and all of it was read"


def test_time_marks_do_not_pile_up(tmp_path: Path) -> None:
    store = opened(tmp_path)
    log = StreamLog(store, "numbers")
    log.append(chunk([1]))
    for number in range(300):
        log.advance(number)
        log.append(chunk([number]))
    for _ in range(30):
        keeper.Keeper(store, []).tidy()
    segments, rows = store.catalog.streams.counts()
    assert rows == 301
    assert segments < 60
    assert store.catalog.streams.get("numbers").cti == 299
    assert BEGINNING < 299
