"""Many epochs of small input: files, catalog and memory stay flat."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

import waterclock as wc
from waterclock.catalog import Catalog

pytestmark = pytest.mark.spark
EARLY = 500
"""Epochs after which nothing should grow any more."""


@dataclass(frozen=True)
class Footprint:
    files: int
    segments: int
    runs: int
    known_epochs: int
    catalog_pages: int
    driver_mb: float
    workers_mb: float


def footprint(store: Path) -> Footprint:
    catalog = Catalog.open(store)
    db = catalog._db
    found = Footprint(
        files=sum(path.is_file() for path in store.rglob("*")),
        segments=db.query("SELECT count(*) FROM segments")[0][0],
        runs=db.query("SELECT count(*) FROM runs")[0][0],
        known_epochs=db.query("SELECT count(*) FROM epochs")[0][0],
        catalog_pages=db.query("PRAGMA page_count")[0][0] - db.query("PRAGMA freelist_count")[0][0],
        driver_mb=psutil.Process().memory_info().rss / 2**20,
        workers_mb=max(_python_workers(), default=0.0),
    )
    catalog.close()
    return found


def _python_workers() -> list[float]:
    sizes = []
    for process in psutil.Process().children(recursive=True):
        try:
            if "python" in process.name() and "pyspark" in " ".join(process.cmdline()):
                sizes.append(process.memory_info().rss / 2**20)
        except psutil.NoSuchProcess:
            continue
    return sizes


@pytest.mark.parametrize("epochs", [800, pytest.param(2000, marks=pytest.mark.soak)])
def test_nothing_grows(make_app: Callable[..., wc.App], tmp_path: Path, epochs: int) -> None:
    app = make_app(history=20)
    source = app.stream(
        "events", {"key": str, "value": int, "ts": "bigint"}, time="ts", retention="20s", max_ahead=None
    )
    windows = source.group_by("key").hopping("4s", "2s").agg(n=wc.count(), s=wc.sum("value"))
    windows.to(wc.callback(lambda epoch, rows: seen.append(rows.height)), name="counts")
    seen: list[int] = []
    handle = app.run()
    early: Footprint | None = None
    try:
        for epoch in range(epochs):
            at = epoch * 100_000
            source.push([{"key": f"k{i}", "value": i, "ts": at + i} for i in range(20)])
            deadline = time.monotonic() + 30
            while handle.status().vertices[0].backlog and time.monotonic() < deadline:
                time.sleep(0.002)
            if epoch == EARLY:
                time.sleep(3)  # let the keeper catch up, here and at the end alike
                early = footprint(tmp_path / "store")
        time.sleep(3)
        late = footprint(tmp_path / "store")
        ran = handle.status().vertices[0].epoch + 1
    finally:
        handle.stop()
    assert early is not None
    assert ran >= epochs * 0.95, "nearly every push was an epoch of its own"
    assert sum(seen) == sum(
        20 for end in range(2_000_000, epochs * 100_000 + 1, 2_000_000) if end <= (epochs - 1) * 100_000 + 19
    )
    assert late.files <= max(40, early.files + 10), (early, late)
    assert late.segments <= max(150, early.segments + 30), (early, late)
    assert late.runs <= max(40, early.runs + 10), (early, late)
    assert late.known_epochs <= 60, (early, late)
    assert late.catalog_pages <= early.catalog_pages + 20, (early, late)
    assert late.driver_mb <= early.driver_mb + 40, (early, late)
    assert late.workers_mb <= early.workers_mb + 40, (early, late)
