"""Runs: sorted, sliced by key range, merged in tiers, dropped by time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.hashing import SPACE, ranges
from waterclock.schema import HASH
from waterclock.state import Run, RunCache, live_in, pick_merge, slice_range
from waterclock.state.tiers import FANOUT
from waterclock.storage import Blob, GrowingFile, encode


def run(level: int = 0, least: int = 0, greatest: int = SPACE - 1, at: int = 0) -> Run:
    return Run("op", "panes", Blob("x", at, 1, 0), 1, least, greatest, 0, 10, level)


@given(st.lists(st.integers(0, SPACE - 1), min_size=1, max_size=50), st.integers(1, 9))
def test_slices_of_any_number_of_parts_are_the_whole(hashes: list[int], parts: int) -> None:
    frame = pl.DataFrame({HASH: sorted(hashes)}, schema={HASH: pl.UInt64})
    slices = [slice_range(frame, part) for part in ranges(parts)]
    assert pl.concat(slices).equals(frame)
    for part, piece in zip(ranges(parts), slices, strict=True):
        assert all(part[0] <= value < part[1] for value in piece[HASH])


def test_only_runs_that_reach_into_a_range_are_read() -> None:
    half = SPACE // 2
    low, high, wide = run(greatest=half - 1), run(least=half), run()
    assert live_in([low, high, wide], "panes", (0, half)) == [low, wide]
    assert live_in([low, high, wide], "panes", (half, SPACE)) == [high, wide]
    assert live_in([low], "spans", (0, SPACE)) == []


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 3000))
def test_tiers_keep_the_number_of_runs_small(steps: int) -> None:
    """One run a step for ever: never more than FANOUT of a level, so the count grows with the logarithm."""
    runs: list[Run] = []
    for step in range(steps):
        merging = pick_merge(runs)
        if merging:
            runs = [r for r in runs if r not in merging] + [run(merging[0].level + 1, at=10**6 + step)]
        runs.append(run(0, at=step))
    by_level = [sum(r.level == level for r in runs) for level in range(8)]
    assert max(by_level) <= FANOUT
    assert len(runs) <= FANOUT * 5


def test_the_cache_forgets_the_least_recently_used(tmp_path: Path) -> None:
    growing = GrowingFile(tmp_path, "state")
    frame = pl.DataFrame({HASH: [1, 2]}, schema={HASH: pl.UInt64})
    blobs = [growing.append(encode(frame)) for _ in range(3)]
    cache = RunCache(limit=2 * blobs[0].length)
    runs = [Run("op", "panes", blob, 2, 1, 2, 0, 10, 0) for blob in blobs]
    for one in runs:
        assert cache.get(tmp_path, one.blob).frame.equals(frame)
    (tmp_path / blobs[0].path).unlink()
    assert cache.get(tmp_path, blobs[2]).frame.equals(frame), "still cached"
    with pytest.raises(Exception, match="missing"):
        cache.get(tmp_path, blobs[0])


def test_state_holds_panes_not_events_and_goes_with_time(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    app = make_app(epoch_rows=10_000)
    source = app.stream("s", {"k": "bigint", "ts": "bigint"}, time="ts", max_ahead=None)
    source.group_by("k").hopping(1000, 500).agg(n=wc.count()).into("out")
    for step in range(20):
        source.push({"k": [i % 7 for i in range(1000)], "ts": [step * 100 + i % 100 for i in range(1000)]})
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    runs, rows, size = catalog.epochs.state_size("out")
    assert 0 < rows <= 7 * 4 * FANOUT, "keys times open panes (per run), not 20,000 events"
    assert runs <= 2 * FANOUT
    assert size > 0
    source.end()
    app.run(mode="offline")
    assert catalog.epochs.state_size("out") == (0, 0, 0)


def test_many_small_epochs_keep_few_runs(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    app = make_app(epoch_rows=3)
    source = app.stream("s", {"k": "bigint", "ts": "bigint"}, time="ts", max_ahead=None)
    source.group_by("k").tumbling(10**9).agg(n=wc.count(), s=wc.sum("k")).into("out")
    for step in range(90):
        source.push([{"k": i, "ts": step} for i in range(3)])
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    runs, rows, _ = catalog.epochs.state_size("out")
    assert runs <= 3 * FANOUT
    assert rows <= 3 * runs, "merging folds the partial results of one pane"
