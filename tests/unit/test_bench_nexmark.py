"""The Nexmark benchmark without its engines: it has every query, and its own answers are those of plain loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from bench import nexmark, nexmark_data, nexmark_spark, nexmark_waterclock, optimizer_waterclock
from bench.nexmark_data import House, house_files
from tests.docs import nexmark_reference

HOUSE = House(events=6_000, rate=100, file_events=1_500, disorder=50)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(nexmark_data, "ROOT", tmp_path)
    return house_files(HOUSE)


def test_every_query_is_there_for_waterclock_and_either_runs_or_has_an_answer() -> None:
    assert {path.stem for path in nexmark_waterclock.PROGRAMS.glob("*.sql")} == set(nexmark.ALL)
    assert nexmark_spark.QUERIES.keys() | nexmark.ANSWERS.keys() == set(nexmark.ALL)
    assert not nexmark_spark.QUERIES.keys() & nexmark.ANSWERS.keys()
    assert set(nexmark.STATELESS) | nexmark.CLOSES.keys() <= nexmark_spark.QUERIES.keys()


def test_files_hold_what_is_said(folder: Path) -> None:
    for kind in nexmark_data.KINDS:
        files = sorted((folder / kind).iterdir())
        assert sum(pl.read_parquet(file).height for file in files) == HOUSE.rows((kind,))
        assert {pl.read_parquet(file).height for file in files} == {HOUSE.rows((kind,), HOUSE.file_events)}
        times = [file.stat().st_mtime for file in files]
        assert times == sorted(set(times))
    days = pl.read_parquet(folder / "bid").get_column("dateTime").dt.strftime("%Y-%m-%d").value_counts()
    assert days.height == 2
    assert HOUSE.midnight in days["dateTime"]
    lives = pl.read_parquet(folder / "auction").select((pl.col("expires") - pl.col("dateTime")).max())
    assert lives.item().total_seconds() * 1e6 < HOUSE.longest


@pytest.mark.usefixtures("folder")
def test_a_house_with_halves_of_groups_is_refused() -> None:
    with pytest.raises(ValueError, match="whole groups"):
        house_files(House(events=6_000, rate=100, file_events=1_500, disorder=49))


@pytest.mark.parametrize(("name", "answer"), nexmark.ANSWERS.items())
def test_answers(name: str, answer: Callable[[House], pl.DataFrame], folder: Path) -> None:
    expected = Counter(nexmark_reference.ANSWERS[name](nexmark_reference.Data(folder)))
    found = answer(HOUSE)
    columns = {"q4": ["category", "average"], "q18": pl.read_parquet(folder / "bid").columns}[name]
    assert expected
    assert Counter(found.select("start", "end", *columns).rows()) == expected


@pytest.mark.parametrize("program", optimizer_waterclock.PROGRAMS)
def test_programs_of_the_optimizer_are_right(program: str, tmp_path: Path) -> None:
    given = {"program": program, "files": {"a": "a/*.parquet", "b": "b/*.parquet"}, "store": str(tmp_path),
             "epoch_rows": 1_000, "optimize": True}  # fmt: skip
    app = optimizer_waterclock.declare(given)
    plans = app.explain("logical")
    assert [name for name in ("out", "more") if f"{name} =" in plans] == optimizer_waterclock.outputs(program)
