"""The files of a stream, opened without the system."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.cli.main import main
from waterclock.errors import StoreError
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.store import Store

MakeApp = Callable[..., wc.App]


def test_a_merged_stream_is_opened_with_polars(make_app: MakeApp, tmp_path: Path) -> None:
    stream = make_app().stream("numbers", {"n": int, "t": int}, time="t")
    for number in range(20):
        stream.push([{"n": number, "t": number}])
    (growing,) = wc.files_of(tmp_path / "store", "numbers")
    assert (growing.format, growing.first, growing.rows) == ("arrow stream", 0, 20)
    catalog = Catalog.open(tmp_path / "store")
    Keeper(Store(catalog, None), []).tidy()
    catalog.close()
    merged, rest = wc.files_of(tmp_path / "store", "numbers")
    assert (merged.format, merged.first, merged.rows) == ("parquet", 0, 16)
    assert (rest.format, rest.first, rest.rows) == ("arrow stream", 16, 4)
    assert pl.read_parquet(merged.path).select("_vs", "_ve", "n").rows() == [(n, n + 1, n) for n in range(16)]
    shown = CliRunner().invoke(main, ["files", "numbers", "--store", str(tmp_path / "store"), "--json"])
    assert [file["path"] for file in json.loads(shown.output)] == [str(merged.path), str(rest.path)]
    shown = CliRunner().invoke(main, ["files", "numbers", "--store", str(tmp_path / "store")])
    assert str(merged.path) in shown.output


def test_what_duckdb_reads_is_what_a_question_gives(make_app: MakeApp, tmp_path: Path) -> None:
    store, app = tmp_path / "store", make_app()
    kinds = {"n": int, "name": str, "tags": "array<string>", "t": "timestamp", "until": "timestamp"}
    stream = app.stream("numbers", kinds, time="t", end="until", retention="250us")
    stream.filter(wc.col("n") < 0).into("none")
    for n in range(48):
        row = {"name": f"n{n % 3}" if n % 4 else None, "tags": ["ä", None], "until": 10 * n + 5 if n % 5 else None}
        stream.push([{"n": n, "t": 10 * n, **row}])

    def unmerged() -> str:
        shown = CliRunner().invoke(main, ["files", "numbers", "--store", str(store)])
        assert shown.exit_code == 0, shown.output
        return shown.stderr

    assert unmerged().startswith("48 of 48 events are not in Parquet yet")
    with pytest.raises(duckdb.InvalidInputException, match="No magic bytes"):
        duckdb.read_parquet([str(file.path) for file in wc.files_of(store, "numbers")])
    app.run(mode="offline")
    for _ in range(2):
        assert CliRunner().invoke(main, ["gc", "--store", str(store)]).exit_code == 0
    files = wc.files_of(store, "numbers")
    merged = [file for file in files if file.format == "parquet"]
    assert files[0].first > 0, "retention has removed events"
    found = duckdb.sql(
        f"""SELECT make_timestamptz(_vs) AS valid_from,
                   make_timestamptz(nullif(_ve, 9223372036854775807)) AS valid_to, * EXCLUDE (_vs, _ve)
            FROM read_parquet({[str(file.path) for file in merged]}) ORDER BY _vs"""
    ).pl()
    asked = wc.query(store, "SELECT * FROM numbers")
    assert found.rows() == asked.rows()[: found.height]
    late = sum(file.rows for file in files if file not in merged)
    assert unmerged().startswith(f"{late} of {asked.height} events")
    assert (found.height, late) == (sum(file.rows for file in merged), asked.height - found.height)


def test_files_that_are_read_in_place(make_app: MakeApp, tmp_path: Path) -> None:
    pl.DataFrame({"n": [1, 2], "t": [1, 2]}).write_parquet(tmp_path / "in.parquet")
    app = make_app()
    app.stream("numbers", {"n": int, "t": int}, time="t", source=wc.files(tmp_path / "in.parquet")).into("copy")
    app.run(mode="offline")
    (file,) = wc.files_of(tmp_path / "store", "numbers")
    assert (file.path, file.format, file.rows, file.in_place) == (tmp_path / "in.parquet", "parquet", 2, True)


def test_an_unknown_stream(make_app: MakeApp, tmp_path: Path) -> None:
    make_app().stream("numbers", {"n": int, "t": int}, time="t").push([])
    with pytest.raises(StoreError, match="Did you mean 'numbers'"):
        wc.files_of(tmp_path / "store", "number")
