"""Rows that are too many to travel as bytes go through files of the store, and some of these files become state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.runtime.log import StreamReader
from waterclock.schema import VE, VS

pytestmark = pytest.mark.spark

ROWS = 24_000
EPOCH = 6_000
PAYLOAD = "x" * 60


def events(rows: int, seed: int) -> pl.DataFrame:
    n = pl.int_range(rows, eager=True)
    return pl.DataFrame(
        {
            "key": n * seed % 5003,
            "ts": n * 1000 + n * 17 % 900,
            "until": n * 1000 + 1_000_000 + n * 7919 % 3_000_000,
            "text": (n * seed).cast(pl.String) + PAYLOAD,
        }
    )


def build(app: wc.App) -> list[wc.SourceStream]:
    columns = {"key": int, "ts": "bigint", "until": "bigint", "text": str}
    sources = [
        app.stream(name, columns, time="ts", end="until", slack=1000, max_ahead=None) for name in ("left", "right")
    ]
    left, right = (source.select("key", "text") for source in sources)
    pairs = left.join(right.select("key", other="text"), on="key", how="left")
    alone = pairs.anti_join(right.shift("500ms").select("key"), on="key")
    alone.clip_join(left.select("key"), on="key").into("out")
    return sources


def feed(sources: list[wc.SourceStream]) -> None:
    for start in range(0, ROWS, EPOCH):
        for source, seed in zip(sources, (31, 37), strict=True):
            source.push(events(ROWS, seed)[start : start + EPOCH])


def output(store: Path) -> pl.DataFrame:
    catalog = Catalog.open(store)
    frame = StreamReader(catalog, "out").read(0, catalog.streams.get("out").next)
    catalog.close()
    return frame.sort(VS, VE, "key", "text", "other")


@pytest.mark.parametrize("tasks", [1, 2, 3])
@pytest.mark.usefixtures("many_tasks")
def test_equals_offline(tasks: int, make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    for name, mode, options in (("desk", "offline", {}), ("spark", "drain", {"tasks": tasks, "epoch_rows": EPOCH})):
        app = make_app(name, store=name, **options)
        sources = build(app)
        feed(sources)
        for source in sources:
            source.end()
        handle = app.run(mode=mode)
        if mode == "drain":
            handle.wait()
    found, wanted = output(tmp_path / "spark"), output(tmp_path / "desk")
    assert wanted.height > ROWS
    assert found.equals(wanted)


@pytest.mark.usefixtures("many_tasks")
def test_a_file_of_rows_becomes_state_once(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    app = make_app(tasks=3, epoch_rows=EPOCH)
    feed(build(app))
    app.run(mode="drain").wait()
    catalog = Catalog.open(tmp_path / "store")
    runs = [run for _, run in catalog.epochs.runs("out") if run.table == "right" and run.level == 0]
    files = [run for run in runs if run.blob.path.endswith(".arrow")]
    assert files, "the rows of a block should have become a run"
    assert len({run.blob for run in files}) == len(files)
    assert all(pl.read_ipc_stream(tmp_path / "store" / run.blob.path).height == run.rows for run in files)
    catalog.close()
