"""Programs in SQL: figure 1 of StreamScope in every mode, and golden cases as Spark SQL."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from tests.conftest import SPARK
from tests.golden.harness import ROOT as GOLDEN
from tests.golden.harness import by_definition, events, fed, loaded
from waterclock.reference import Event, bag_difference, evaluate
from waterclock.streams.segment import with_lifetime

ROOT = Path(__file__).parents[2]
CASES = [
    "desk/tumbling_by_key", "desk/hopping", "desk/session", "desk/full_join_using", "desk/clip_join",
    "desk/asof_left_join", "desk/window_borders_hold", "desk/times_in_a_condition", "desk/top_window_by_key",
    "desk/filtered_aggregates", "desk/null_safe_equality", "desk/durations", "whole/watermark_for",
]  # fmt: skip


def alerts(store: Path) -> wc.App:
    return wc.sql(ROOT / "examples" / "alerts.sql", store=store, master="local[2]", spark=SPARK)


def expected(app: wc.App) -> list[Event]:
    """Figure 1 by the definitions, over the rows of the files."""
    inputs = {}
    for name, (declaration, _) in app._streams.items():
        rows = pl.read_ndjson(ROOT / "examples" / "alerts" / f"{name.lower()}.jsonl", schema=None)
        times = [column for column, kind in declaration.schema if kind == "timestamp"]
        typed = rows.with_columns(
            pl.col(*times).str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", time_zone="UTC"),
            pl.col("ProcessID").cast(pl.Int32),
        )
        inputs[name] = events(with_lifetime(typed.select(declaration.schema.names).lazy(), declaration).collect())
    return evaluate(app._outputs["CountAlerts"][0].root, inputs)


def check(handle: wc.Handle, app: wc.App) -> None:
    found = events(handle.frame("CountAlerts"))
    assert len(found) > 20
    assert not bag_difference(found, expected(app))


def test_figure_1_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    app = alerts(tmp_path / "store")
    check(app.run(mode="offline"), app)


@pytest.mark.spark
def test_figure_1_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    app = alerts(tmp_path / "store")
    handle = app.run(mode="drain")
    assert handle.wait(120)
    check(handle, app)
    again = alerts(tmp_path / "store")
    check(again.run(mode="batch"), again)  # over the history that the drained run has left


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES)
def test_golden_cases_as_batch(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = GOLDEN / "results" / f"{case}.sql"
    monkeypatch.chdir(path.parent)
    app = loaded(path, str(tmp_path / "store"))
    fed(app, path)
    handle = app.run(mode="batch")
    for name, rows in by_definition(app, path).items():
        assert not bag_difference(events(handle.frame(name)), rows), name
