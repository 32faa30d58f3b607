"""Sinks: what they write, what they do after a crash, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from waterclock.connect.validity import with_times
from waterclock.schema import Schema
from waterclock.time import FOREVER

MakeApp = Callable[..., wc.App]
SCHEMA = Schema.of({"user": str, "n": int})


def events(*values: tuple[int, int, str | None, int]) -> pl.DataFrame:
    return pl.DataFrame(list(values), schema=SCHEMA.frame_schema(), orient="row")


FIRST = events((0, 1_000_000, "a", 1), (1_500_000, FOREVER, None, 2))
SECOND = events((2_000_000, 2_000_001, "ü", 3))


def app_to(make_app: MakeApp, sink: object, count: int = 3) -> wc.App:
    app = make_app()
    stream = app.stream("in", {"user": str, "ts": int}, time="ts")
    stream.group_by("user").tumbling("1s").agg(n=wc.count()).to(sink, name="out")
    stream.push([{"user": "a", "ts": i * 1_000_000} for i in range(count)])
    return app


def test_with_times_puts_lifetimes_first() -> None:
    frame = with_times(FIRST)
    assert frame.columns == ["valid_from", "valid_to", "user", "n"]
    assert frame["valid_from"].to_physical().to_list() == [0, 1_500_000]
    assert frame["valid_to"].to_physical().to_list() == [1_000_000, None]


def test_an_app_to_parquet(make_app: MakeApp, tmp_path: Path) -> None:
    app = app_to(make_app, wc.parquet(tmp_path / "out"))
    app.run(mode="offline")
    found = pl.read_parquet(tmp_path / "out/*.parquet")
    assert found.columns == ["valid_from", "valid_to", "user", "n"]
    assert found["valid_from"].dtype == pl.Datetime("us", "UTC")
    assert found["n"].to_list() == [1, 1]


def test_an_app_to_json_lines(make_app: MakeApp, tmp_path: Path) -> None:
    app = app_to(make_app, wc.jsonl(tmp_path / "out.jsonl"))
    app.run(mode="offline")
    app.run(mode="offline")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert lines == [
        {"valid_from": f"1970-01-01T00:00:0{i}Z", "valid_to": f"1970-01-01T00:00:0{i + 1}Z", "user": "a", "n": 1}
        for i in range(2)
    ]


def test_an_app_to_the_console(make_app: MakeApp, capsys: pytest.CaptureFixture[str]) -> None:
    app_to(make_app, wc.console(limit=2), count=6).run(mode="offline")
    shown = capsys.readouterr().out
    assert "out, epoch" in shown
    assert "1970-01-01 00:00:01" in shown
    assert "and 3 more rows" in shown


def test_the_output_of_one_app_is_the_input_of_another(make_app: MakeApp, tmp_path: Path) -> None:
    app_to(make_app, wc.jsonl(tmp_path / "out.jsonl")).run(mode="offline")
    app = make_app(store="second")
    columns = {"valid_from": "timestamp", "valid_to": "timestamp", "user": str, "n": int}
    stream = app.stream("in", columns, time="valid_from", end="valid_to", source=wc.files(tmp_path / "out.jsonl"))
    stream.select("user").into("copy")
    assert app.run(mode="offline").status().counters["in"]["rows"] == 2


def test_json_lines_cut_off_what_a_crash_left(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    writer = wc.jsonl(path).open("out", SCHEMA, -1, None)
    position = writer.write(0, 1, FIRST)
    whole = path.read_bytes()
    assert position == {"length": len(whole)}
    assert b'"valid_from":"1970-01-01T00:00:01.500Z","valid_to":null' in whole
    writer.write(2, 2, SECOND)
    writer.close()
    both = path.read_bytes()
    again = wc.jsonl(path).open("out", SCHEMA, 1, position)
    assert path.read_bytes() == whole
    again.write(2, 2, SECOND)
    again.close()
    assert path.read_bytes() == both


@pytest.mark.parametrize("left", [0, 10, -1])
def test_json_lines_repeat_a_first_delivery(tmp_path: Path, left: int) -> None:
    path = tmp_path / "out.jsonl"
    wc.jsonl(path).open("out", SCHEMA, -1, None).write(0, 1, FIRST)
    whole = path.read_bytes()
    path.write_bytes(whole if left < 0 else whole[:left])
    wc.jsonl(path).open("out", SCHEMA, -1, None).write(0, 1, FIRST)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("content", ["dear diary\n", '{"valid_from":null}\n' * 100])
def test_json_lines_leave_files_of_others_alone(make_app: MakeApp, tmp_path: Path, content: str) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(content)
    with pytest.raises(
        wc.ConfigError, match=r"SINK\.NOT_OURS.*out\.jsonl is there already and holds what this app did not write"
    ):
        app_to(make_app, wc.jsonl(path)).run(mode="offline")
    assert path.read_text() == content


def test_json_lines_that_lost_delivered_rows(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    position = wc.jsonl(path).open("out", SCHEMA, -1, None).write(0, 1, FIRST)
    path.write_text("x")
    with pytest.raises(wc.ConfigError, match=r"SINK\.CUT_SHORT.*has 1 bytes, and .* were delivered"):
        wc.jsonl(path).open("out", SCHEMA, 1, position)


def test_parquet_removes_what_a_crash_left_and_repeats_it(tmp_path: Path) -> None:
    sink = wc.parquet(tmp_path)
    writer = sink.open("out", SCHEMA, -1, None)
    writer.write(0, 1, FIRST)
    writer.write(2, 5, SECOND)
    (tmp_path / ".epochs-0000000006-0000000006.parquet.tmp").write_text("half")
    (tmp_path / "notes.txt").write_text("mine")
    again = sink.open("out", SCHEMA, 1, None)
    names = {"epochs-0000000000-0000000001.parquet", "notes.txt"}
    assert {path.name for path in tmp_path.iterdir()} == names
    again.write(2, 5, SECOND)
    again.write(2, 5, SECOND)
    assert {path.name for path in tmp_path.iterdir()} == names | {"epochs-0000000002-0000000005.parquet"}
    assert pl.read_parquet(tmp_path / "*.parquet").equals(with_times(pl.concat([FIRST, SECOND])))


def test_parquet_repeats_a_first_delivery_and_refuses_files_of_others(tmp_path: Path) -> None:
    sink = wc.parquet(tmp_path)
    sink.open("out", SCHEMA, -1, None).write(0, 1, FIRST)
    sink.open("out", SCHEMA, -1, None).write(0, 2, pl.concat([FIRST, SECOND]))
    assert [path.name for path in tmp_path.iterdir()] == ["epochs-0000000000-0000000002.parquet"]
    with pytest.raises(wc.ConfigError, match="another store"):
        sink.open("out", SCHEMA, -1, None).write(0, 1, SECOND)
    writer = sink.open("out", SCHEMA, 2, None)
    writer.write(3, 3, SECOND)
    with pytest.raises(wc.ConfigError, match="another store"):
        sink.open("out", SCHEMA, -1, None)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("sink", [wc.parquet, wc.jsonl])
def test_a_column_may_not_have_the_name_of_a_lifetime(tmp_path: Path, sink: Callable[[Path], object]) -> None:
    with pytest.raises(wc.ConfigError, match="'valid_to' is defined twice"):
        sink(tmp_path / "x").open("out", Schema.of({"valid_to": int}), -1, None)  # type: ignore[attr-defined]


def test_guarantees_are_told() -> None:
    assert wc.parquet("x").guarantee == wc.jsonl("x").guarantee == "idempotent"
    assert wc.console().guarantee == "at least once"


def test_every_type_goes_to_json(tmp_path: Path) -> None:
    schema = Schema.of({"b": bytes, "d": "date", "t": "timestamp", "x": float, "ok": bool})
    row = pl.DataFrame([(0, 1, b"hi", 1, 500_000, 0.5, True)], schema=["_vs", "_ve", *schema.names], orient="row")
    writer = wc.jsonl(tmp_path / "x").open("out", schema, -1, None)
    writer.write(0, 0, row.cast(schema.frame_schema()))  # type: ignore[arg-type]
    found = json.loads((tmp_path / "x").read_text())
    assert list(found.values())[2:] == ["aGk=", "1970-01-02", "1970-01-01T00:00:00.500Z", 0.5, True]
