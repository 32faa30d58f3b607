"""Pairs and covers of intervals, by hand and against the definition."""

from __future__ import annotations

from itertools import pairwise
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.test_app import quick
from waterclock.expr.nodes import col
from waterclock.operators import pairs
from waterclock.operators.base import hashes_of
from waterclock.operators.coverage import Cover, folded, left_over, running_max, united
from waterclock.operators.pairs import Pairing, expanded, overlapping
from waterclock.plan import Input, Join
from waterclock.schema import HASH, VE, VS, Schema
from waterclock.time import FOREVER

Row = tuple[int, int, int]
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-9, 9), st.one_of(st.integers(1, 9), st.integers(1, 2**40), st.none())),
    max_size=12,
)


def frame(rows: list[Row]) -> pl.DataFrame:
    columns = {HASH: [h for h, _, _ in rows], VS: [vs for _, vs, _ in rows], VE: [ve for _, _, ve in rows]}
    return pl.DataFrame(columns, schema={HASH: pl.UInt64, VS: pl.Int64, VE: pl.Int64})


def lives(rows: list[tuple[int, int, int | None]]) -> list[Row]:
    return [(h, vs, FOREVER if lasting is None else vs + lasting) for h, vs, lasting in rows]


@pytest.mark.parametrize("loose", [0, 4])
@pytest.mark.parametrize("chunk", [1, 5, 1000])
@pytest.mark.parametrize("keyed", [True, False])
def test_overlapping_finds_each_pair_once(loose: int, chunk: int, keyed: bool) -> None:
    @quick(60)
    @given(ROWS.map(lives), ROWS.map(lives))
    def run(left: list[Row], right: list[Row]) -> None:
        with mock.patch.object(pairs, "CHUNK", chunk), mock.patch.object(pairs, "_LOOSE", loose):
            some = list(overlapping(frame(left), frame(right), keyed))
        assert all(i.size <= chunk for i, _ in some)
        found = [pair for i, j in some for pair in zip(i.tolist(), j.tolist(), strict=True)]
        expected = [
            (i, j)
            for i, one in enumerate(left)
            for j, other in enumerate(right)
            if (one[0] == other[0] or not keyed) and one[1] < other[2] and other[1] < one[2]
        ]
        assert sorted(found) == expected

    run()


def test_a_range_larger_than_a_chunk_is_cut() -> None:
    with mock.patch.object(pairs, "CHUNK", 4):
        found = list(expanded(np.array([0, 5, 2]), np.array([3, 5, 12])))
    assert [i.size for i, _ in found] == [4, 4, 4, 1]
    assert np.concatenate([i for i, _ in found]).tolist() == [0] * 3 + [2] * 10
    assert np.concatenate([j for _, j in found]).tolist() == [0, 1, 2, *range(2, 12)]


def test_a_null_key_and_a_null_condition_match_nothing() -> None:
    left = Input("l", Schema.of({"k": "int", "x": "int"}), False)
    right = Input("r", Schema.of({"k": "bigint", "y": "int"}), False)
    pairing = Pairing(Join("full", left, right, ("k",), ("k",), (("y", "y"),), col("x") < col("y")))
    lefts = pl.DataFrame(
        {VS: [0] * 4, VE: [9] * 4, "k": [1, 1, None, 2], "x": [1, None, 1, 5]}, schema_overrides={"k": pl.Int32}
    )
    rights = pl.DataFrame({VS: [1] * 4, VE: [5] * 4, "k": [1, None, 2, 1], "y": [2, 2, 3, None]})
    one = pairing.lefts(lefts.lazy(), lonely=True)
    other = pairing.rights(rights.lazy(), lonely=True)
    assert (one.height, other.height) == (4, 4)
    assert pairing.rights(rights.lazy()).height == 3
    found = [(one["k"][int(i)], one["x"][int(i)], other["y"][int(j)]) for i, j in _each(pairing, one, other)]
    assert found == [(1, 1, 2)]


def _each(pairing: Pairing, one: pl.DataFrame, other: pl.DataFrame) -> list[tuple[int, int]]:
    return [pair for some in pairing.matches(one, other) for pair in zip(*some, strict=True)]


def test_rows_with_a_null_key_are_spread() -> None:
    left = Input("l", Schema.of({"k": "int", "a": "array<int>"}), False)
    pairing = Pairing(Join("anti", left, left, ("k",), ("k",), (("k", "rk"),)))
    rows = pl.DataFrame(
        {VS: list(range(50)), VE: [99] * 50, "k": [None] * 50, "a": [[1]] * 50},
        schema_overrides={"k": pl.Int32, "a": pl.List(pl.Int32)},
    )
    assert pairing.lefts(rows.lazy(), lonely=True)[HASH].n_unique() == 50
    assert pairing.lefts(rows.lazy()).height == 0


def test_touching_intervals_are_one() -> None:
    rows, start, end = united(np.array([0, 0, 0, 1, 0]), np.array([5, 1, 8, 0, 2]), np.array([7, 3, 9, 4, 5]))
    assert list(zip(rows.tolist(), start.tolist(), end.tolist(), strict=True)) == [(0, 1, 7), (0, 8, 9), (1, 0, 4)]


@quick(300)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(1, 5)), max_size=10), st.integers(0, 10))
def test_what_is_covered_and_what_is_left_make_up_the_lifetime(some: list[tuple[int, int, int]], at: int) -> None:
    cover = Cover()
    cut = [(row, max(vs, 2), min(vs + lasting, 12)) for row, vs, lasting in some if vs + lasting > 2]
    for part in (cut[:at], cut[at:]):
        if part:
            cover.add(*(np.array(column) for column in zip(*part, strict=True)))
    covered = list(zip(*(array.tolist() for array in cover.pieces()), strict=True))
    gaps = left_over(np.full(3, 2), np.full(3, 12), cover.pieces())
    free = list(zip(*(array.tolist() for array in gaps), strict=True))
    for row in range(3):
        alive = {t for r, vs, ve in cut if r == row for t in range(vs, ve)}
        assert sorted(t for r, vs, ve in covered if r == row for t in range(vs, ve)) == sorted(alive)
        assert sorted(t for r, vs, ve in free if r == row for t in range(vs, ve)) == sorted(set(range(2, 12)) - alive)
    for pieces in (covered, free):
        assert all(a[0] != b[0] or a[2] < b[1] for a, b in pairwise(pieces))


def test_the_running_maximum_begins_anew_with_each_group() -> None:
    groups = np.array([0, 0, 0, 0, 1, 1, 2])
    assert running_max(groups, np.array([3, 1, 2, 5, 0, 4, 1])).tolist() == [3, 3, 3, 5, 0, 4, 1]


def test_a_fold_keeps_keys_that_share_a_hash_apart() -> None:
    rows = frame([(7, 1, 4), (7, 2, 6), (7, 3, 8), (9, 0, 1)]).with_columns(pl.Series("k", ["a", "b", "a", None]))
    found = folded(rows, ["k"]).select("k", VS, VE).rows()
    assert sorted(found, key=str) == sorted([("a", 1, 8), ("b", 2, 6), (None, 0, 1)], key=str)


def test_hashes_are_sorted_and_distinct() -> None:
    found = hashes_of(frame([(5, 0, 1), (2, 0, 1)]), None, np.array([5, 2**63], dtype=np.uint64))
    assert found.tolist() == [2, 5, 2**63]
    assert hashes_of(None).size == 0
