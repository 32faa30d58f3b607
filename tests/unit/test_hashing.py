"""Hashes are a storage format: these vectors must never change without a new ``VERSION``."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waterclock.hashing import SPACE, VERSION, _column, digest, hash_rows, ranges

FRAME = pl.DataFrame(
    {
        "i": pl.Series([0, 1, -1, None], dtype=pl.Int32),
        "l": [0, 2**40, -(2**63), None],
        "d": [0.0, 1.5, float("nan"), None],
        "s": ["", "a", "日本", None],
        "y": [b"", b"a", b"\xff", None],
        "b": [True, False, True, None],
        "t": pl.Series([date(1970, 1, 1), date(2026, 11, 16), date(1969, 12, 31), None]),
        "z": pl.Series(
            [datetime(1970, 1, 1, tzinfo=UTC), datetime(2026, 11, 16, 2, 14, tzinfo=UTC),
             datetime(1969, 12, 31, tzinfo=UTC), None],
            dtype=pl.Datetime("us", "UTC"),
        ),
    }
)  # fmt: skip
NULL = 0x6E789E6AA1B965F4
VECTORS = {
    "i": [0xA706DD2F4D197E6F, 0x5E41AB087439611E, 0x5DC20AA7B2A27137, NULL],
    "l": [0xA706DD2F4D197E6F, 0x3329F979F9A0BAA4, 0x86DB92E833B0C1A0, NULL],
    "d": [0xA706DD2F4D197E6F, 0x6A09D17EBA9BF03E, 0x5366251C28A3E1FF, NULL],
    "s": [0x59B0ED710B28ABEE, 0xDBAC1E875F4D0340, 0xCC5EEBF87C10953A, NULL],
    "y": [0x59B0ED710B28ABEE, 0xDBAC1E875F4D0340, 0x2CB445AF597C90B8, NULL],
    "b": [0x5E41AB087439611E, 0xA706DD2F4D197E6F, 0x5E41AB087439611E, NULL],
    "t": [0xA706DD2F4D197E6F, 0x41E8E48846228E42, 0x5DC20AA7B2A27137, NULL],
    "z": [0xA706DD2F4D197E6F, 0x7B9D8A6B708FA4E6, 0x89495D15B3765C87, NULL],
}


def hashes(values: list[object], dtype: pl.DataType) -> list[int]:
    return [int(value) for value in hash_rows(pl.DataFrame({"v": pl.Series(values, dtype=dtype)}), ["v"])]


@pytest.mark.parametrize("column", VECTORS)
def test_vectors(column: str) -> None:
    assert VERSION == 1
    assert [int(value) for value in hash_rows(FRAME, [column])] == VECTORS[column]


def test_structs_are_chained_as_columns_are() -> None:
    whole = FRAME.select(pl.struct("i", "s").alias("v"))
    assert list(_column_of(whole)) == list(hash_rows(FRAME, ["i", "s"]))
    nulls = pl.DataFrame({"v": pl.Series([None, {"a": None}], dtype=pl.Struct({"a": pl.Int32}))})
    assert len(set(_column_of(nulls))) == 2


def _column_of(frame: pl.DataFrame) -> list[int]:
    return [int(value) for value in _column(frame["v"])(slice(None))]


def test_blocks_do_not_show() -> None:
    """Rows are hashed some thousands at a time."""
    numbers = pl.int_range(40_000, eager=True)
    frame = pl.DataFrame(
        {"i": pl.select(pl.when(numbers % 7 > 0).then(numbers)).to_series(), "s": numbers.cast(pl.String)}
    )
    parts = [frame[at : at + 1000] for at in range(0, frame.height, 1000)]
    assert list(hash_rows(frame, ["i", "s"])) == [value for part in parts for value in hash_rows(part, ["i", "s"])]
    assert digest(frame) == sum(digest(part) for part in parts) % 2**64


def test_columns_are_chained_in_order() -> None:
    assert int(hash_rows(FRAME, ["i", "s"])[1]) == 0xBFCBAC1BD65B6415
    assert int(hash_rows(FRAME, ["s", "i"])[1]) == 0x543A7A5C10EB7AE9
    assert digest(FRAME) == 0x495236E673754446


def test_zeros_hash_alike() -> None:
    plus, minus, single = hashes([0.0], pl.Float64()), hashes([-0.0], pl.Float64()), hashes([-0.0], pl.Float32())
    assert plus == minus == single


def test_all_nans_are_one_value() -> None:
    strange = struct.unpack("d", struct.pack("Q", 0xFFF8000000000123))[0]
    assert len(set(hashes([float("nan"), -float("nan"), strange], pl.Float64()))) == 1


def test_null_is_not_zero_and_not_empty() -> None:
    assert hashes([None], pl.Int64()) != hashes([0], pl.Int64())
    assert hashes([None], pl.String()) != hashes([""], pl.String())
    assert hashes([None], pl.Float64()) != hashes([0.0], pl.Float64())


def test_a_value_hashes_alike_beside_nulls_and_in_any_integer_width() -> None:
    assert hashes([5, None], pl.Int64())[0] == hashes([5], pl.Int64())[0] == hashes([5], pl.Int32())[0]


def test_without_columns_all_rows_are_alike() -> None:
    assert hash_rows(FRAME, []).tolist() == [0, 0, 0, 0]
    assert digest(FRAME.clear()) == 0


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 4), st.permutations(range(4)))
def test_digest_depends_on_neither_order_nor_cut(at: int, order: list[int]) -> None:
    mixed = FRAME[order]
    assert (digest(mixed[:at]) + digest(mixed[at:])) % SPACE == digest(FRAME)


def test_digest_sees_copies_and_changes() -> None:
    assert digest(pl.concat([FRAME, FRAME[:1]])) != digest(FRAME)
    assert digest(FRAME.with_columns(pl.col("i").fill_null(0))) != digest(FRAME)


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 64])
def test_ranges_cover_the_space_once(parts: int) -> None:
    cuts = ranges(parts)
    assert cuts[0][0] == 0
    assert cuts[-1][1] == SPACE
    assert all(left[1] == right[0] for left, right in pairwise(cuts))


def test_keys_spread() -> None:
    keys = hash_rows(pl.DataFrame({"k": range(7000)}), ["k"])
    counts = np.histogram(keys.astype(np.float64), bins=7, range=(0, float(SPACE)))[0]
    assert counts.min() > 800


def test_lists() -> None:
    lists = [["a", "b"], ["b", "a"], ["a"], [], [None], [None, None], None, ["a", "b"]]
    found = hashes(lists, pl.List(pl.String))
    assert found[0] == found[-1]
    assert len(set(found)) == len(lists) - 1
    assert found[6] == NULL
    assert found[3:] == hashes(lists[3:], pl.List(pl.String))
    assert hashes([[1, 2]], pl.List(pl.Int64)) == [0xA15A6AD05E19415F]
    assert hashes([[[1], [2]]], pl.List(pl.List(pl.Int64))) != hashes([[[1, 2]]], pl.List(pl.List(pl.Int64)))
