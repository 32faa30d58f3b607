"""Stable 64-bit hashes of rows: they place keys in partitions and make digests, so they are a storage format.

Version 1: numbers through the splitmix64 finaliser, text and bytes through XXH3-64, lists as the sum of their elements
mixed with their places, columns and the fields of structs chained in order; in digests weighted and summed.
A change here must raise ``VERSION``; ``tests/unit/test_hashing.py`` pins vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import polars as pl
import polars_hash  # noqa: F401  (registers the nchash namespace)

VERSION = 1
SPACE = 2**64

_NULL = np.uint64(0x9E3779B97F4A7C15)
_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_BLOCK = 1 << 14


def hash_rows(frame: pl.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """One uint64 per row over the named columns; without columns, zeros."""
    result = np.zeros(frame.height, dtype=np.uint64)
    for column in columns:
        values = _column(frame[column])
        for some in _blocks(frame.height):
            result[some] = _mix(result[some] + _GOLDEN + values(some))
    return result


def digest(frame: pl.DataFrame) -> int:
    """A digest of the bag of rows: the same for any order and any cut into parts (add parts modulo 2**64).

    A row is a sum of its values times odd numbers, mixed once: cheaper than a chain, which keys need.
    """
    if frame.height == 0:
        return 0
    factors = _mix(np.arange(1, frame.width + 1, dtype=np.uint64)) | np.uint64(1)
    columns = [_bits(values) for values in frame]
    total = np.uint64(0)
    for some in _blocks(frame.height):
        rows = columns[0][some] * factors[0]
        for factor, bits in zip(factors[1:], columns[1:], strict=True):
            rows += bits[some] * factor
        total = np.add(total, _mix(rows).sum(dtype=np.uint64))
    return int(total)


def ranges(parts: int, within: tuple[int, int] = (0, SPACE)) -> list[tuple[int, int]]:
    """The hash space, or a range of it, cut into ``parts`` contiguous half-open ranges."""
    low, high = within
    cuts = [low + part * (high - low) // parts for part in range(parts + 1)]
    return list(pairwise(cuts))


def _blocks(rows: int) -> Iterator[slice]:
    """Rows whose intermediate values stay in the processor's cache."""
    return (slice(at, at + _BLOCK) for at in range(0, rows, _BLOCK))


def _mix(x: np.ndarray) -> np.ndarray:
    mixed: np.ndarray = x >> np.uint64(30)
    mixed ^= x
    mixed *= _A
    mixed ^= mixed >> np.uint64(27)
    mixed *= _B
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _column(values: pl.Series) -> Callable[[slice], np.ndarray]:
    """Well mixed numbers of some of the values; where it takes a hash to make one number of a value, they are it."""
    bits = _bits(values)
    if isinstance(values.dtype, pl.List | pl.Struct) or values.dtype in (pl.String, pl.Binary):
        return bits.__getitem__
    nulls = values.is_null().to_numpy() if values.null_count() else None

    def mixed(some: slice) -> np.ndarray:
        found = _mix(bits[some] + _GOLDEN)
        if nulls is not None:
            found[nulls[some]] = _NULL
        return found

    return mixed


def _bits(values: pl.Series) -> np.ndarray:
    """One number per value, the same for equal ones."""
    kind = values.dtype
    if isinstance(kind, pl.List):
        return _lists(values)
    if isinstance(kind, pl.Struct):
        fields = values.struct.unnest()
        return np.where(values.is_null().to_numpy(), _NULL, hash_rows(fields, fields.columns))
    if kind == pl.String or kind == pl.Binary:
        hashed = values.to_frame("v").select(pl.col("v").nchash.xxh3_64()).to_series()  # type: ignore[attr-defined]
        return hashed.fill_null(int(_NULL)).cast(pl.UInt64).to_numpy()
    nulls = values.is_null().to_numpy() if values.null_count() else None
    if kind.is_float():
        # -0.0 equals 0.0 and all NaNs are one value, so they must hash alike.
        wide = values.cast(pl.Float64).fill_null(0.0).to_numpy() + 0.0
        bits = np.where(np.isnan(wide), np.nan, wide).view(np.uint64)
    elif kind == pl.Boolean:
        bits = values.cast(pl.UInt8).fill_null(0).to_numpy().astype(np.uint64)
    elif kind == pl.UInt64:
        bits = values.fill_null(0).to_numpy()
    else:
        bits = values.to_physical().cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64)
    return bits if nulls is None else np.where(nulls, _NULL, bits)


def _lists(values: pl.Series) -> np.ndarray:
    """A sum over the elements, each mixed with its place, and the length."""
    lengths = values.list.len().fill_null(0).to_numpy().astype(np.int64)
    elements = _column(values.explode(empty_as_null=False, keep_nulls=False))(slice(None))
    ends = np.cumsum(lengths)
    places = (np.arange(len(elements)) - np.repeat(ends - lengths, lengths) + 1).astype(np.uint64)
    # Sums modulo 2**64 are differences of running sums.
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(_mix(elements + places * _GOLDEN))])
    mixed = _mix(running[ends] - running[ends - lengths] + lengths.astype(np.uint64) * _GOLDEN)
    return np.where(values.is_null().to_numpy(), _NULL, mixed)
