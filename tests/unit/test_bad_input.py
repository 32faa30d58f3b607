"""Bad input of every kind: what is said, that nothing is lost, what each policy does. Then unusable stores."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.runtime.log import StreamReader

MakeApp = Callable[..., wc.App]
SCHEMA = {"user": str, "n": int, "x": float, "ok": bool, "day": "date", "ts": "timestamp", "until": "timestamp"}
GOOD = (
    '{"user":"a","n":1,"x":1,"ok":true,"day":"2026-01-01","ts":"2023-11-14T22:13:20Z","until":"2023-11-14T22:13:21Z"}'
)
AHEAD = int((time.time() + 7200) * 1e6)

BAD_LINES = {
    "half an object": ('{"user":"a",', "DATA.MALFORMED", "not JSON: "),
    "two objects": (GOOD + GOOD, "DATA.MALFORMED", "Extra data"),
    "null": ("null", "DATA.MALFORMED", "not a JSON object"),
    "a list": ("[1]", "DATA.MALFORMED", "not a JSON object"),
    "a key twice": ('{"n":1,"n":2}', "DATA.MALFORMED", "'n' is there twice"),
    "NaN": ('{"x":NaN}', "DATA.MALFORMED", "NaN"),
    "not UTF-8": (b'{"user":"\xff"}', "DATA.MALFORMED", "not UTF-8"),
    "deep": ('{"user":' + "[" * 100_000, "DATA.MALFORMED", "not JSON"),
    "int: text": ('{"n":"abc"}', "DATA.WRONG_TYPE", "'n' holds \"abc\", which is not bigint"),
    "int: digits": ('{"n":"12"}', "DATA.WRONG_TYPE", "'n' holds \"12\""),
    "int: fraction": ('{"n":1.5}', "DATA.WRONG_TYPE", "'n' holds 1.5"),
    "int: true": ('{"n":true}', "DATA.WRONG_TYPE", "'n' holds true"),
    "int: too large": ('{"n":9223372036854775808}', "DATA.WRONG_TYPE", "'n' holds 9223372036854775808"),
    "string: number": ('{"user":5}', "DATA.WRONG_TYPE", "'user' holds 5, which is not string"),
    "string: object": ('{"user":{"n":1}}', "DATA.WRONG_TYPE", "'user' holds {"),
    "double: text": ('{"x":"1.5"}', "DATA.WRONG_TYPE", "'x' holds \"1.5\""),
    "double: huge": ('{"x":1e999}', "DATA.WRONG_TYPE", "'x' holds"),
    "boolean: number": ('{"ok":1}', "DATA.WRONG_TYPE", "'ok' holds 1"),
    "date: other": ('{"day":"1/2/2026"}', "DATA.WRONG_TYPE", "which is not date"),
    "date: number": ('{"day":5}', "DATA.WRONG_TYPE", "which is not date"),
    "timestamp: text": ('{"ts":"yesterday"}', "DATA.WRONG_TYPE", "which is not timestamp"),
    "timestamp: day first": ('{"ts":"11/12/2026 00:00"}', "DATA.WRONG_TYPE", "which is not timestamp"),
    "timestamp: fraction": ('{"ts":1.5}', "DATA.WRONG_TYPE", "which is not timestamp"),
    "no time": ('{"user":"a"}', "DATA.NO_TIME", "time column 'ts' is null"),
    "ends before it starts": (
        '{"ts":5,"until":5}',
        "DATA.BAD_LIFETIME",
        "starts at 1970-01-01 00:00:00.000005 and ends",
    ),
    "future": (f'{{"ts":{AHEAD}}}', "DATA.FUTURE", "ahead of the clock, more than max_ahead=1h"),
}


def as_bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def run(make_app: MakeApp, source: object, schema: dict[str, object] | None = None, **options: object) -> wc.Handle:
    app = make_app()
    options = {"end": "until", "source": source} | options
    stream = app.stream("in", schema or SCHEMA, time="ts", **options)  # type: ignore[arg-type]
    stream.select("ts").into("out")
    return app.run(mode="offline")


def read(store: Path, stream: str) -> pl.DataFrame:
    catalog = Catalog.open(store)
    try:
        row = catalog.streams.get(stream)
        return StreamReader(catalog, stream).read(row.first, row.next)
    finally:
        catalog.close()


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    def write(*bad: str | bytes) -> Path:
        path = tmp_path / "in.jsonl"
        path.write_bytes(b"\n".join([as_bytes(GOOD), *(as_bytes(line) for line in bad), as_bytes(GOOD)]))
        return path

    return write


@pytest.mark.parametrize("kind", BAD_LINES)
def test_fail_says_what_is_wrong_and_takes_nothing(
    make_app: MakeApp, lines: Callable[..., Path], tmp_path: Path, kind: str
) -> None:
    line, code, message = BAD_LINES[kind]
    source = wc.files(lines(line))
    with pytest.raises(wc.DataError) as caught:
        run(make_app, source)
    assert caught.value.code == code
    assert message in caught.value.message
    assert caught.value.message.startswith("in.jsonl line 2: ")
    assert read(tmp_path / "store", "in").height == 0
    lines()
    run(make_app, source)
    assert read(tmp_path / "store", "in").height == 2
    assert read(tmp_path / "store", "out").height == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("2.jsonl", '{"ts": 90}\n\nno json\n{"ts": 91}\n{"ts": 5}\n'),
        ("2.csv", 'ts,user\n90,"two\nlines"\n91\n5,b\n'),
    ],
)
def test_a_late_row_is_named_by_its_line(make_app: MakeApp, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "1.csv").write_text("ts,user\n80,a\n")
    with pytest.raises(wc.DataError, match=rf"DATA\.LATE. {name} line 5: an event starts at"):
        run(make_app, wc.files(tmp_path), {"ts": int, "user": str}, end=None, on_bad="skip")


@pytest.mark.parametrize("policy", ["skip", "divert"])
def test_skip_and_divert_keep_the_good_rows(
    make_app: MakeApp, lines: Callable[..., Path], tmp_path: Path, policy: str
) -> None:
    bad_lines = [line for line, code, _ in BAD_LINES.values() if code != "DATA.FUTURE"]  # that one is an event
    path = lines(*bad_lines)
    handle = run(make_app, wc.files(path), on_bad=policy)
    counted = "bad_skipped" if policy == "skip" else "bad_diverted"
    assert handle.status().counters["in"] == {"rows": 2, counted: len(bad_lines)}
    assert read(tmp_path / "store", "out").height == 2
    if policy == "divert":
        bad = read(tmp_path / "store", "in.bad")
        assert bad.columns == ["_vs", "_ve", "where", "reason", "row"]
        assert bad.height == len(bad_lines)
        assert bad["where"][0] == "in.jsonl line 2"
        assert bad["row"][0] == BAD_LINES["half an object"][0]


def test_good_rows_are_the_same_with_and_without_a_bad_line(make_app: MakeApp, tmp_path: Path) -> None:
    good = "\n".join(
        f'{{"user":"ü{i}","n":{i},"x":{i}.1e-3,"ok":null,"day":"2026-01-0{i}","ts":"2023-11-14T22:13:2{i}.5+01:00"}}'
        for i in range(1, 9)
    )
    for store, text in (("clean", good), ("dirty", good + "\n{")):
        (tmp_path / "in.jsonl").write_text(text)
        run(lambda store=store: make_app(store=store), wc.files(tmp_path / "in.jsonl"), on_bad="skip")
    assert read(tmp_path / "clean", "in").equals(read(tmp_path / "dirty", "in"))
    assert read(tmp_path / "clean", "in").height == 8


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("b,x,6", "DATA.WRONG_TYPE", "in.csv line 4: column 'n' holds 'x', which is not bigint"),
        ("b,1.5,6", "DATA.WRONG_TYPE", "in.csv line 4: column 'n' holds '1.5'"),
        ("b,2", "DATA.MALFORMED", "in.csv line 4: 2 fields where the header has 3"),
        ("b,2,3,4", "DATA.MALFORMED", "in.csv line 4: 4 fields where the header has 3"),
        ('"b"x,2,3', "DATA.MALFORMED", "in.csv line 4: not CSV"),
        (b"\xff,2,3", "DATA.MALFORMED", "in.csv line 4: the line is not UTF-8"),
        ("b,2,", "DATA.NO_TIME", "the time column 'ts' is null"),
    ],
)
def test_bad_csv(make_app: MakeApp, tmp_path: Path, line: str | bytes, code: str, message: str) -> None:
    path = tmp_path / "in.csv"
    schema: dict[str, object] = {"user": str, "n": int, "ts": int}
    # The quoted line end makes lines and rows differ.
    path.write_bytes(b'user,n,ts\n"a\n",1,5\n' + as_bytes(line) + b"\nc,3,7\n")
    with pytest.raises(wc.DataError) as caught:
        run(make_app, wc.files(path), schema, end=None)
    assert caught.value.code == code
    assert message in caught.value.message
    handle = run(make_app, wc.files(path), schema, end=None, on_bad="skip")
    assert handle.status().counters["in"] == {"rows": 2, "bad_skipped": 1}
    assert read(tmp_path / "store", "in")["user"].to_list() == ["a\n", "c"]


def write_parquet(path: Path, **columns: object) -> None:
    pl.DataFrame(columns).write_parquet(path)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "arrow"])
def test_unknown_and_missing_columns(make_app: MakeApp, tmp_path: Path, suffix: str) -> None:
    write = {
        "jsonl": lambda frame, path: path.write_text(frame.write_ndjson()),
        "csv": lambda frame, path: frame.write_csv(path),
        "parquet": lambda frame, path: frame.write_parquet(path),
        "arrow": lambda frame, path: frame.write_ipc(path),
    }[suffix]
    path = tmp_path / f"in.{suffix}"
    schema: dict[str, object] = {"user": str, "ts": int}
    write(pl.DataFrame({"usr": ["a"], "ts": [1]}), path)
    with pytest.raises(wc.DataError, match=r"no column 'usr' in the stream 'in'(.|\n)*Did you mean 'user'") as caught:
        run(make_app, wc.files(path), schema, end=None, on_bad="skip")
    assert caught.value.code == "DATA.UNKNOWN_COLUMN"
    write(pl.DataFrame({"ts": [1]}), path)
    if suffix == "jsonl":
        run(make_app, wc.files(path), schema, end=None)
        assert read(tmp_path / "store", "in")["user"].to_list() == [None]
    else:
        with pytest.raises(wc.DataError, match=r"DATA\.MISSING_COLUMN.*'user' is missing"):
            run(make_app, wc.files(path), schema, end=None, on_bad="skip")


def test_a_wrong_type_in_parquet(make_app: MakeApp, tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    write_parquet(path, user=["a", "b"], n=["1", "x"], ts=[1, 2])
    with pytest.raises(wc.DataError, match=r"in\.parquet row 0: column 'n' holds '1'"):
        run(make_app, wc.files(path), {"user": str, "n": int, "ts": int}, end=None)


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [(suffix, "garbage") for suffix in ("jsonl", "csv", "parquet", "arrow")]
    + [(suffix, "truncated") for suffix in ("parquet", "arrow")],  # text has no frame that could break
)
def test_unreadable_files(make_app: MakeApp, tmp_path: Path, suffix: str, kind: str) -> None:
    path = tmp_path / f"in.{suffix}"
    schema: dict[str, object] = {"ts": int}
    good = pl.DataFrame({"ts": [1]})
    write = {"parquet": good.write_parquet, "arrow": good.write_ipc}.get(suffix, lambda path: None)
    write(path)
    whole = path.read_bytes() if path.exists() else b""
    path.write_bytes(whole[:-20] if kind == "truncated" else b"\x00\xff\x00" * 10)
    with pytest.raises(wc.DataError) as caught:
        run(make_app, wc.files(path), schema, end=None)
    if suffix != "jsonl":
        assert caught.value.code == "DATA.UNREADABLE"
        assert str(path) in caught.value.message
        assert "nothing of it was taken" in caught.value.hint
    path.write_bytes(whole or {"jsonl": b'{"ts":1}', "csv": b"ts\n1"}[suffix])
    run(make_app, wc.files(path), schema, end=None)
    assert read(tmp_path / "store", "out")["ts"].to_list() == [1]


def test_a_file_without_permission(make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"ts":1}')

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # root may read everything, so the refusal is made up
    with pytest.raises(wc.DataError, match=r"DATA\.UNREADABLE.*in\.jsonl: Permission denied"):
        run(make_app, wc.files(path), {"ts": int}, end=None)


# -- pushes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "code", "message"),
    [
        ([{"ts": 1, "usr": "a"}], "DATA.UNKNOWN_COLUMN", "no column 'usr'"),
        ({"user": ["a"], "ts": [1]}, "DATA.MISSING_COLUMN", "'n' is missing"),
        ([{"ts": 1}, {"ts": 2, "n": "abc"}], "DATA.WRONG_TYPE", "row 1: column 'n' holds 'abc'"),
        ([{"ts": 1, "n": 1.5}], "DATA.WRONG_TYPE", "row 0: column 'n' holds 1.5"),
        ([{"ts": "tomorrow"}], "DATA.WRONG_TYPE", "row 0: column 'ts' holds 'tomorrow'"),
        ([{"ts": 1, "user": "a"}, {"user": "b"}], "DATA.NO_TIME", "row 1: the time column 'ts' is null"),
        ([{"ts": 2**62}], "DATA.BAD_LIFETIME", "row 0: the lifetime starts at"),
        ([{"ts": AHEAD}], "DATA.FUTURE", "max_ahead=1h"),
        ([{"ts": 1}, "x"], "DATA.BAD_ROWS", "item 1 of the list"),
        ("ts", "DATA.BAD_ROWS", "str for"),
        (5, "DATA.BAD_ROWS", "int for"),
        ({"ts": [1, 2], "user": ["a"], "n": [1]}, "DATA.MALFORMED", "rows: "),
    ],
)
def test_bad_pushes(make_app: MakeApp, rows: object, code: str, message: str) -> None:
    app = make_app()
    stream = app.stream("in", {"user": str, "n": int, "ts": int}, time="ts")
    with pytest.raises(wc.DataError) as caught:
        stream.push(rows)
    assert caught.value.code == code
    assert message in caught.value.message
    assert stream.push([{"ts": 1, "user": "a", "n": 1}]) == 1


def test_times_that_are_written_in_different_ways_in_one_push(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    stream = app.stream("in", {"ts": "timestamp"}, time="ts", on_bad="skip")
    texts = ["2023-11-14T22:13:20Z", "2023-11-14 22:13:20", "2023-11-15T00:13:20.000+02:00", "14/11/2023", "x"]
    assert stream.push({"ts": texts}) == 3
    assert read(tmp_path / "store", "in")["_vs"].to_list() == [1_700_000_000_000_000] * 3


@pytest.mark.parametrize("far", [2**60, 2**62, -(2**62)])
def test_times_that_python_cannot_hold(make_app: MakeApp, far: int) -> None:
    stream = make_app().stream("in", {"ts": "timestamp", "n": int}, time="ts")
    times = pl.Series([far]).cast(pl.Datetime("us", "UTC"))
    with pytest.raises(wc.DataError, match=r"DATA\.(FUTURE|BAD_LIFETIME)"):
        stream.push(pl.DataFrame({"ts": times, "n": [1]}))
    with pytest.raises(wc.DataError, match=r"DATA\.WRONG_TYPE"):
        stream.push(pl.DataFrame({"ts": times, "n": ["x"]}))


# -- late rows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["fail", "drop", "adjust", "divert"])
def test_late_rows(make_app: MakeApp, tmp_path: Path, policy: str) -> None:
    schema: dict[str, object] = {"ts": int, "until": int}
    (tmp_path / "1.csv").write_text("ts,until\n100,110\n")
    (tmp_path / "2.csv").write_text("ts,until\n120,130\n90,105\n50,60\n100,101\n")
    source = wc.files(f"{tmp_path}/*.csv")
    if policy == "fail":
        with pytest.raises(wc.DataError, match=r"DATA\.LATE.*2\.csv line 3: an event starts at .*09, before"):
            run(make_app, source, schema)
        assert read(tmp_path / "store", "in")["ts"].to_list() == [100]
        return
    handle = run(make_app, source, schema, late=policy)
    counters = handle.status().counters["in"]
    found = read(tmp_path / "store", "in").select("_vs", "_ve").rows()
    on_time = [(100, 110), (120, 130), (100, 101)]
    if policy == "adjust":
        assert found == [(100, 110), (120, 130), (100, 105), (100, 101)]
        assert counters == {"rows": 4, "late_adjusted": 1, "late_dropped": 1}
    else:
        assert found == on_time
        assert counters == {"rows": 3, "late_dropped" if policy == "drop" else "late_diverted": 2}
    if policy == "divert":
        assert read(tmp_path / "store", "in.late")["ts"].to_list() == [90, 50]


# -- stores ------------------------------------------------------------------------------------------------


def test_a_store_in_use(make_app: MakeApp, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("ts\n1\n")
    run(make_app, wc.files(tmp_path / "in.csv"), {"ts": int}, end=None)
    other = Catalog.open(tmp_path / "store")
    lease = other.leases.acquire("app test")
    with pytest.raises(wc.StoreError, match=rf"STORE\.IN_USE.*process {os.getpid()} on"):
        run(make_app, wc.files(tmp_path / "in.csv"), {"ts": int}, end=None)
    other.leases.release(lease)
    other.close()
    run(make_app, wc.files(tmp_path / "in.csv"), {"ts": int}, end=None)


def test_a_store_of_a_newer_version(make_app: MakeApp, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("ts\n1\n")
    run(make_app, wc.files(tmp_path / "in.csv"), {"ts": int}, end=None)
    with sqlite3.connect(tmp_path / "store/catalog.sqlite") as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    connection.close()
    with pytest.raises(wc.StoreError, match=r"STORE\.NEWER.*format 99(.|\n)*Upgrade"):
        run(make_app, wc.files(tmp_path / "in.csv"), {"ts": int}, end=None)


def test_not_a_store(tmp_path: Path) -> None:
    with pytest.raises(wc.StoreError, match=r"STORE\.NOT_THERE"):
        Catalog.open(tmp_path / "nowhere")
    with pytest.raises(wc.StoreError, match=r"STORE\.NOT_A_STORE"):
        Catalog.open(tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "store"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", disk], capture_output=True)
    if made.returncode:
        pytest.skip("may not mount")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


FULL_DISK = """
import sys
import waterclock as wc

store, folder, out = sys.argv[1:]
app = wc.App("test", store)
stream = app.stream("in", {"ts": int}, time="ts", source=wc.files(folder))
stream.tumbling(1000).agg(n=wc.count(), s=wc.sum("ts")).to(wc.parquet(out))
print(app.run(mode="offline").status().counters["in"]["rows"])
"""


def test_a_full_disk(tmp_path: Path, small_disk: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for number in range(6):
        times = pl.int_range(number * 50_000, (number + 1) * 50_000, eager=True)
        pl.DataFrame({"ts": times}).write_csv(folder / f"{number}.csv")

    def attempt() -> subprocess.CompletedProcess[str]:
        # In a process of its own: with its end the lease is free, although it could not be given back.
        command = [sys.executable, "-c", FULL_DISK, small_disk, folder, out]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    failed = attempt()
    assert failed.returncode == 1
    assert "[STORE.FULL] No space left while writing" in failed.stderr
    assert "everything committed is safe" in failed.stderr
    subprocess.run(["mount", "-o", "remount,size=100m", small_disk], check=True)
    done = attempt()
    assert done.stdout == "300000\n", done.stderr
    found = pl.read_parquet(out / "*.parquet").sort("valid_from")
    assert found["n"].to_list() == [1000] * 300
    assert found["s"].to_list() == [1000 * 1000 * i + 499_500 for i in range(300)]
