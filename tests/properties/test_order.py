"""Rows in the order that runs have, whichever of the ways to sort them is taken."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from waterclock.schema import HASH, VE, VS
from waterclock.state.order import in_order

# Differing in all bits; in those alone that positions take the place of while sorting; and not at all.
HASHES = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 40).map(lambda low: 2**63 + low), st.just(7))


@given(st.lists(st.tuples(HASHES, st.integers(-3, 3), st.integers(4, 6)), max_size=60), st.booleans())
def test_rows_go_by_hash_start_and_end(rows: list[tuple[int, int, int]], distinct: bool) -> None:
    if distinct:
        rows = list({row[0]: row for row in rows}.values())
    frame = pl.DataFrame(rows, schema={HASH: pl.UInt64, VS: pl.Int64, VE: pl.Int64}, orient="row")
    assert in_order(frame).rows() == sorted(rows)


def test_hashes_that_differ_only_where_positions_are_put() -> None:
    """More than are sampled, in an order against that of their positions."""
    hashes = np.arange(5_000, dtype=np.uint64)[::-1] + np.uint64(2**63)
    frame = pl.DataFrame({HASH: hashes, VS: 0, VE: 1, "n": range(5_000)})
    assert in_order(frame)["n"].to_list() == list(range(4_999, -1, -1))
