"""Files as a source: every format, in order, each once, in place or copied."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.connect.files import FileReader, files
from waterclock.runtime.log import StreamLog, StreamReader
from waterclock.schema import Schema
from waterclock.streams import Declaration
from waterclock.time import BEGINNING

MakeApp = Callable[..., wc.App]
SCHEMA = {"user": str, "n": int, "x": float, "ok": bool, "day": "date", "ts": "timestamp"}
NOW = 1_800_000_000_000_000


def rows(start: int, count: int = 5) -> pl.DataFrame:
    numbers = pl.int_range(start, start + count, eager=True)
    return pl.DataFrame(
        {
            "user": [f"u{i % 3}" for i in numbers],
            "n": numbers,
            "x": numbers * 0.5,
            "ok": numbers % 2 == 0,
            "day": (numbers.cast(pl.Int32) + 20000).cast(pl.Date),
            "ts": (numbers * 1_000_000 + 1_700_000_000_000_000).cast(pl.Datetime("us", "UTC")),
        }
    )


WRITE: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "jsonl": lambda frame, path: path.write_text(
        frame.with_columns(pl.col("ts").dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ")).write_ndjson()
    ),
    "csv": lambda frame, path: frame.write_csv(path),
    "parquet": lambda frame, path: frame.write_parquet(path),
    "arrow": lambda frame, path: frame.write_ipc(path),
}


def taken(store: Path, stream: str = "in") -> pl.DataFrame:
    catalog = Catalog.open(store)
    try:
        row = catalog.streams.get(stream)
        return StreamReader(catalog, stream).read(row.first, row.next).drop("_vs", "_ve")
    finally:
        catalog.close()


def run(make_app: MakeApp, source: object, **options: object) -> wc.Handle:
    app = make_app()
    stream = app.stream("in", SCHEMA, time="ts", source=source, **options)  # type: ignore[arg-type]
    stream.group_by("user").tumbling("2s").agg(n=wc.count(), s=wc.sum("n")).into("out")
    return app.run(mode="offline")


def reader(source: object, position: object = None, **columns: object) -> FileReader:
    declaration = Declaration("in", Schema.of(columns or SCHEMA), "ts")
    return source.open(declaration, position)  # type: ignore[attr-defined, no-any-return]


def drained(source: object, position: object = None, **columns: object) -> tuple[list[pl.DataFrame], object]:
    reading = reader(source, position, **columns)
    found: list[pl.DataFrame] = []
    while (chunk := reading.poll(BEGINNING, NOW)) is not None:
        assert not chunk.rejected
        assert chunk.rows is not None
        found.append(chunk.rows)
        position = json.loads(json.dumps(chunk.position))
    return found, position


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "arrow"])
@pytest.mark.parametrize("copy", [False, True])
def test_every_format_in_order_of_name(make_app: MakeApp, tmp_path: Path, suffix: str, copy: bool) -> None:
    (tmp_path / "in").mkdir()
    for start in (10, 0, 5):
        WRITE[suffix](rows(start), tmp_path / "in" / f"{start:03d}.{suffix}")
    for ignored in (".hidden", "_SUCCESS", f"x.{suffix}.tmp"):
        (tmp_path / "in" / ignored).write_text("nothing")
    handle = run(make_app, wc.files(tmp_path / "in", copy=copy))
    assert taken(tmp_path / "store").equals(rows(0, 15))
    assert handle.status().counters["in"]["rows"] == 15
    assert taken(tmp_path / "store", "out")["n"].sum() == 15


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_in_place_gives_the_same_as_a_copy(make_app: MakeApp, tmp_path: Path, suffix: str) -> None:
    WRITE[suffix](rows(0, 100), tmp_path / f"a.{suffix}")
    for store, copy in (("placed", False), ("copied", True)):
        run(lambda store=store: make_app(store=store), wc.files(tmp_path / f"a.{suffix}", copy=copy))
    assert not list((tmp_path / "placed/streams").glob("in/*"))
    assert list((tmp_path / "copied/streams").glob("in/*"))
    for stream in ("in", "out"):
        assert taken(tmp_path / "placed", stream).equals(taken(tmp_path / "copied", stream))


def test_files_in_place_are_taken_together_and_time_moves_with_each(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one is late behind the others' time: it is told apart row by row, as if each had come alone."""
    for number, start in enumerate((0, 5, 10, 3)):
        rows(start).write_parquet(tmp_path / f"{number}.parquet")
    commits: list[int] = []
    commit = StreamLog._commit
    monkeypatch.setattr(StreamLog, "_commit", lambda *given: commits.append(len(given[1])) or commit(*given))
    handle = run(make_app, wc.files(tmp_path / "*.parquet"), late="drop")
    assert commits[:2] == [3, 0]
    assert taken(tmp_path / "store").equals(rows(0, 15))
    assert handle.status().counters["in"] == {"rows": 15, "late_dropped": 5}
    catalog = Catalog.open(tmp_path / "store")
    segments = catalog.streams.segments("in", 0, 15)
    assert [segment.cti - 1_700_000_000_000_000 for segment in segments] == [4_000_000, 9_000_000, 14_000_000]
    catalog.close()


def test_files_before_one_that_cannot_be_read_are_taken(make_app: MakeApp, tmp_path: Path) -> None:
    for number in range(3):
        rows(5 * number).write_parquet(tmp_path / f"{number}.parquet")
    (tmp_path / "2.parquet").write_bytes(b"PAR1 is not enough")
    with pytest.raises(wc.DataError, match=r"DATA\.UNREADABLE.*2\.parquet"):
        run(make_app, wc.files(tmp_path / "*.parquet"))
    assert taken(tmp_path / "store").equals(rows(0, 10))


def test_only_what_statistics_prove_is_read_in_place(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"

    def chunk(frame: pl.DataFrame, cti: int = BEGINNING, now: int = NOW, **write: object) -> object:
        frame.write_parquet(path, **write)  # type: ignore[arg-type]
        found = reader(files(path)).poll(cti, now)
        assert found is not None
        assert (found.rows is None) != (found.external is None)
        return found.external

    good = rows(0)
    external = chunk(good)
    assert external is not None
    assert (external.rows, external.least_vs, external.greatest_vs) == (5, 1_700_000_000_000_000, 1_700_000_004_000_000)  # type: ignore[attr-defined]
    assert chunk(good, statistics=False) is None
    assert chunk(good, cti=1_700_000_000_000_001) is None
    assert chunk(good, now=1_600_000_000_000_000) is None
    assert chunk(good.with_columns(pl.col("ts").cast(pl.Datetime("ms", "UTC")))) is None
    assert chunk(good.with_columns(pl.col("n").cast(pl.Int32))) is None
    assert chunk(good.with_columns(pl.when(pl.col("n") > 1).then("ts").alias("ts"))) is None
    assert chunk(good.clear()) is None


def test_a_file_that_changes_after_it_was_read_in_place(make_app: MakeApp, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows(0).write_parquet(path)
    run(make_app, wc.files(path))
    rows(1).write_parquet(path)
    with pytest.raises(wc.DataError, match=r"DATA\.FILE_CHANGED.*a\.parquet"):
        taken(tmp_path / "store")


def test_watch_takes_what_comes_and_each_file_once(make_app: MakeApp, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    source = wc.files(folder, watch=True)
    run(make_app, source)
    folder.mkdir()
    for start in (0, 5, 10):
        WRITE["jsonl"](rows(start), folder / f"{start:03d}.jsonl")
        run(make_app, source)
        run(make_app, source)
        assert taken(tmp_path / "store").equals(rows(0, start + 5))


def test_watch_looks_again_in_the_same_reader(tmp_path: Path) -> None:
    reading = reader(files(f"{tmp_path}/*.csv", watch=True))
    assert reading.poll(BEGINNING, NOW) is None
    assert not reading.finished
    rows(0).write_csv(tmp_path / "a.csv")
    time.sleep(0.06)
    chunk = reading.poll(BEGINNING, NOW)
    assert chunk is not None
    assert chunk.rows is not None
    assert chunk.rows.equals(rows(0))
    assert reading.poll(BEGINNING, NOW) is None


def test_a_file_that_sorts_before_is_not_lost_silently(tmp_path: Path) -> None:
    source = files(tmp_path, watch=True)
    for name in ("b", "c"):
        rows(0).write_csv(tmp_path / f"{name}.csv")
    reading = reader(source)
    first = reading.poll(BEGINNING, NOW)
    second = reading.poll(BEGINNING, NOW)
    assert first is not None
    assert second is not None
    os.chmod(tmp_path / "b.csv", 0o600)
    assert reader(source, second.position).poll(BEGINNING, NOW) is None
    rows(0).write_csv(tmp_path / "a.csv")
    time.sleep(0.06)
    with pytest.raises(wc.DataError, match=r"DATA\.FILE_ORDER.*a\.csv came after c\.csv"):
        reading.poll(BEGINNING, NOW)
    with pytest.raises(wc.DataError, match=r"DATA\.FILE_ORDER"):
        reader(source, second.position)
    (tmp_path / "b.csv").unlink()
    with pytest.raises(wc.DataError, match=r"DATA\.FILE_ORDER.*a\.csv"):
        reader(source, second.position)
    (tmp_path / "a.csv").unlink()
    assert reader(source, second.position).poll(BEGINNING, NOW) is None


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
@pytest.mark.parametrize("block", [1, 100, 333, 10_000])
def test_blocks_cover_a_file_exactly_and_go_on_from_any_of_them(tmp_path: Path, suffix: str, block: int) -> None:
    path = tmp_path / f"a.{suffix}"
    WRITE[suffix](rows(0, 30), path)
    source = files(path, block=block)
    found, _ = drained(source)
    assert pl.concat(found).equals(rows(0, 30))
    reading = reader(source)
    chunk = reading.poll(BEGINNING, NOW)
    assert chunk is not None
    assert chunk.rows is not None
    rest, _ = drained(source, chunk.position)
    assert pl.concat([chunk.rows, *rest]).equals(rows(0, 30))


def test_a_quoted_line_end_is_never_cut(tmp_path: Path) -> None:
    lines = [f'"a\n{i}",{i}\n' for i in range(50)]
    (tmp_path / "a.csv").write_text("user,ts\n" + "".join(lines))
    for block in (10, 25, 100):
        found, _ = drained(files(tmp_path / "a.csv", block=block), user=str, ts=int)
        assert pl.concat(found)["user"].to_list() == [f"a\n{i}" for i in range(50)]


def test_times_in_json_lines(tmp_path: Path) -> None:
    texts = [
        '"2023-11-14T22:13:20Z"', '"2023-11-14T22:13:20"', '"2023-11-14 22:13:20.000000"',
        '"2023-11-15T00:13:20+02:00"', "1700000000000000", '"2023-11-14T22:13:20.000000999Z"',
    ]  # fmt: skip
    for some in ([text] for text in texts), [texts], [texts[::-1]]:
        for group in some:
            (tmp_path / "a.jsonl").write_text("\n".join(f'{{"ts": {text}}}' for text in group))
            found, _ = drained(files(tmp_path / "a.jsonl"), ts="timestamp")
            assert pl.concat(found)["ts"].to_physical().to_list() == [1_700_000_000_000_000] * len(group)


def test_missing_keys_blank_lines_marks_and_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"ts":1}\r\n\r\n  \n{"ts":2,"user":"b"}')
    found, _ = drained(files(tmp_path), user=str, ts=int)
    assert found[0].rows() == [(None, 1), ("b", 2)]
    (tmp_path / "a.jsonl").unlink()
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbfts,user\r\n1,\r\n\r\n2,"b"\r\n\n')
    found, _ = drained(files(tmp_path), user=str, ts=int)
    assert found[0].rows() == [(None, 1), ("b", 2)]


def test_nothing_matches(tmp_path: Path) -> None:
    with pytest.raises(wc.DataError, match=r"DATA\.NO_FILES.*\*\.csv"):
        reader(files(f"{tmp_path}/*.csv"))


def test_options_are_checked(tmp_path: Path) -> None:
    with pytest.raises(wc.ConfigError, match="Choose one of: jsonl, csv, parquet, arrow"):
        files(tmp_path, format="xml")
    (tmp_path / "a.txt").write_text('{"ts":1}')
    with pytest.raises(wc.DataError, match=r"a\.txt: its format does not follow from '\.txt'"):
        drained(files(tmp_path), ts=int)
    found, _ = drained(files(tmp_path, format="jsonl"), ts=int)
    assert found[0].rows() == [(1,)]


def test_a_file_that_is_gone_or_shorter_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    WRITE["jsonl"](rows(0, 30), path)
    source = files(path, block=500)
    chunk = reader(source).poll(BEGINNING, NOW)
    assert chunk is not None
    path.write_text("{}")
    with pytest.raises(wc.DataError, match=r"DATA\.UNREADABLE.*shrank"):
        reader(source, chunk.position).poll(BEGINNING, NOW)
    path.unlink()
    with pytest.raises(wc.DataError, match=r"DATA\.UNREADABLE.*it is gone"):
        reader(source, chunk.position)


def test_a_glob_over_directories(tmp_path: Path) -> None:
    for day in ("02", "01"):
        (tmp_path / day).mkdir()
        WRITE["csv"](rows(int(day)), tmp_path / day / "x.csv")
    found, _ = drained(files(f"{tmp_path}/*/x.csv"))
    assert [frame["n"][0] for frame in found] == [1, 2]
