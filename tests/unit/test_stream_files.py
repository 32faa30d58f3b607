"""The files of a stream, opened without the system."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

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
