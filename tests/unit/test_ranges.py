"""The kernel of overlapping ranges: all ways give what slot by slot computing gives."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from waterclock.expr.nodes import col
from waterclock.operators import ranges
from waterclock.operators.aggregates import Aggregates
from waterclock.operators.ranges import Line, blocks, numbered, over_ranges, pairs
from waterclock.operators.topk import best, rank
from waterclock.plan import Aggregate, Input, TopK
from waterclock.schema import HASH, VS, Schema
from waterclock.time import FOREVER

SCHEMA = Schema.of({"x": "bigint", "y": "double"})
NAMED = (
    ("n", Aggregate("count")),
    ("s", Aggregate("sum", col("x"))),
    ("low", Aggregate("min", col("x"))),
    ("total", Aggregate("sum", col("y"))),
    ("median", Aggregate("percentile_disc", col("y"), param=0.5)),
)


def some_ranges(seed: int, rows: int, slots: int) -> tuple[np.ndarray, np.ndarray, pl.DataFrame]:
    """Ranges that leave no slot without a row."""
    chance = np.random.default_rng(seed)
    lo = chance.integers(0, slots, rows)
    hi = np.minimum(lo + chance.integers(1, slots, rows), slots)
    lo, hi = np.append(lo, 0), np.append(hi, slots)
    values = {VS: lo, "x": chance.integers(-9, 9, rows + 1), "y": chance.integers(-9, 9, rows + 1) / 4}
    return lo, hi, pl.DataFrame(values)


def partials(aggregates: Aggregates, rows: pl.DataFrame) -> pl.DataFrame:
    taken = rows.select(VS, *aggregates.values()).with_row_index("row")
    return aggregates.accumulated(taken, ["row"]).sort("row")


def one_by_one(aggregates: Aggregates, n: int, lo: np.ndarray, hi: np.ndarray, rows: pl.DataFrame) -> pl.DataFrame:
    found = []
    for slot in range(n):
        inside = rows.filter(pl.Series((lo <= slot) & (slot < hi))).select(VS, *aggregates.values())
        found.append(aggregates.results(aggregates.accumulated(inside.with_columns(one=1), ["one"])))
    return pl.concat(found)


@pytest.mark.parametrize("short", [0, 10**9])
@pytest.mark.parametrize("chunk", [1, 7, 10**6])
@pytest.mark.parametrize(("rows", "slots"), [(0, 1), (1, 2), (5, 3), (40, 33), (60, 64)])
def test_every_way_gives_the_same(short: int, chunk: int, rows: int, slots: int) -> None:
    aggregates = Aggregates(NAMED, SCHEMA)
    assert {algebra.way for algebra in aggregates.algebras} == {"subtract", "merge", "recompute"}
    for seed in range(4):
        lo, hi, frame = some_ranges(seed, rows, slots)
        with patch.object(ranges, "_SHORT", short), patch.object(ranges, "CHUNK", chunk):
            found = over_ranges(aggregates, slots, lo, hi, partials(aggregates, frame))
        expected = one_by_one(aggregates, slots, lo, hi, frame)
        assert_frame_equal(found.select(expected.columns), expected, check_exact=True)


def test_chunks_hold_whole_slots_and_every_pair_once() -> None:
    lo, hi, _ = some_ranges(1, 50, 40)
    with patch.object(ranges, "CHUNK", 100):
        chunks = list(pairs(40, lo, hi))
    assert len(chunks) > 3
    assert all(len(slots) <= 100 or len(set(slots)) == 1 for slots, _ in chunks)
    assert sum(len(set(slots.tolist())) for slots, _ in chunks) == 40
    found = sorted((s, r) for slots, rows in chunks for s, r in zip(slots.tolist(), rows.tolist(), strict=True))
    assert found == sorted((slot, row) for row in range(len(lo)) for slot in range(lo[row], hi[row]))


def test_blocks_cover_each_range_once_and_are_few() -> None:
    lo, hi, _ = some_ranges(2, 200, 1000)
    covered: dict[int, list[int]] = {row: [] for row in range(len(lo))}
    levels = blocks(lo, hi)
    for level, (taken, rows) in enumerate(levels):
        assert np.bincount(rows, minlength=1).max() <= 2
        for block, row in zip(taken.tolist(), rows.tolist(), strict=True):
            covered[row] += range(block << level, (block + 1) << level)
    assert len(levels) <= 10
    assert all(sorted(slots) == list(range(lo[row], hi[row])) for row, slots in covered.items())


def test_keys_of_equal_hash_are_different_groups() -> None:
    keys = ["a", "b", None, "b", "a", "c"]
    frame = pl.DataFrame({HASH: [5, 5, 5, 5, 5, 3], "k": keys}, schema={HASH: pl.UInt64, "k": pl.String})
    group, first = numbered(frame, ["k"])
    assert [keys[place] for place in first[group]] == keys
    assert len(first) == 4
    assert group[5] == 0, "groups go by hash"


@pytest.mark.parametrize("wide", [0, 2**61])
def test_a_line_has_the_times_of_each_group(wide: int) -> None:
    """Times far apart do not fit one number together with the group; then their ranks do."""
    group = np.array([0, 0, 1, 3, 3])
    time = np.array([5, -wide, 5, FOREVER, wide + 7])
    line = Line(group, time)
    assert list(zip(line.group.tolist(), line.time.tolist(), strict=True)) == [
        (0, -wide), (0, 5), (1, 5), (3, wide + 7), (3, FOREVER),
    ]  # fmt: skip
    assert line.at(group, time).tolist() == [1, 0, 2, 4, 3]
    assert line.at(np.array([0, 0, 1, 1, 2, 3]), np.array([6, 1, 4, FOREVER, 0, -5])).tolist() == [2, 1, 2, 3, 3, 3]


def test_rank_is_that_of_sql() -> None:
    slots, order = np.array([1, 0, 1, 1, 1, 0]), np.array([3, 9, 2, 2, 8, 9])
    assert rank(slots, order).tolist() == [3, 1, 1, 1, 4, 1]


@pytest.mark.parametrize("short", [0, 10**9])
def test_the_best_of_each_slot(short: int) -> None:
    node = TopK(Input("s", SCHEMA, True), (), col("x"), 2)
    lo, hi, frame = some_ranges(3, 60, 40)
    values = frame["x"].set(frame["x"] == 3, None)
    with patch.object(ranges, "_SHORT", short):
        slots, rows, ranks = best(values, 40, lo, hi, node)
    expected = []
    for slot in range(40):
        alive = [(row, values[row]) for row in range(len(lo)) if lo[row] <= slot < hi[row] and values[row] is not None]
        for row, value in alive:
            place = 1 + sum(other > value for _, other in alive)
            expected += [(slot, row, place)] if place <= 2 else []
    assert sorted(zip(slots.tolist(), rows.tolist(), ranks.tolist(), strict=True)) == sorted(expected)
