"""Hashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import polars_hash  # noqa: F401  (registers the chash and nchash namespaces)
import pyarrow as pa

from waterclock.errors import ConfigError
from waterclock.expr.functions.base import Resolved, define, eg
from waterclock.expr.functions.buffers import broadcast

_SHA2 = {0: "sha2_256", 224: "sha2_224", 256: "sha2_256", 384: "sha2_384", 512: "sha2_512"}
SEED = 42


def _check_bits(bits: int) -> None:
    if bits not in _SHA2:
        raise ConfigError(
            "EXPR.BAD_CONSTANT",
            function="sha2",
            value=bits,
            reason="there is no such length",
            fix="Write 224, 256, 384 or 512.",
        )


def _namespace(a: pl.Expr, name: str) -> Any:
    return getattr(a, name)


# -- Murmur 3, as Spark has it -----------------------------------------------------------------------------

_U32 = np.uint32


def _rotated(x: np.ndarray, by: int) -> np.ndarray:
    return (x << _U32(by)) | (x >> _U32(32 - by))


def _stirred(word: np.ndarray) -> np.ndarray:
    return _rotated(word * _U32(0xCC9E2D51), 15) * _U32(0x1B873593)


def _taken(state: np.ndarray, word: np.ndarray) -> np.ndarray:
    return _rotated(state ^ _stirred(word), 13) * _U32(5) + _U32(0xE6546B64)


def _finished(state: np.ndarray, length: np.ndarray) -> np.ndarray:
    state = state ^ length.astype(_U32)
    state = (state ^ (state >> _U32(16))) * _U32(0x85EBCA6B)
    state = (state ^ (state >> _U32(13))) * _U32(0xC2B2AE35)
    finished: np.ndarray = state ^ (state >> _U32(16))
    return finished


def _bytes(column: pl.Series) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All bytes of a column without nulls; where each row starts, and how long it is."""
    rows = column.to_arrow().cast(pa.large_binary())
    _, offsets, data = rows.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[rows.offset : rows.offset + len(rows) + 1]
    return np.frombuffer(data or b"", dtype=np.uint8), ends[:-1], np.diff(ends)


def _of_bytes(column: pl.Series, state: np.ndarray) -> np.ndarray:
    """Four bytes a step over all rows; what is left over byte by byte, each with its sign."""
    data, starts, lengths = _bytes(column)
    state, whole = state.copy(), lengths // 4
    for step in range(int(whole.max(initial=0))):
        rows = np.flatnonzero(whole > step)
        places = starts[rows] + 4 * step
        word = np.zeros(len(rows), dtype=_U32)
        for place in range(4):
            word |= data[places + place].astype(_U32) << _U32(8 * place)
        state[rows] = _taken(state[rows], word)
    for step in range(3):
        rows = np.flatnonzero(lengths % 4 > step)
        left = data[starts[rows] + 4 * whole[rows] + step].view(np.int8).astype(np.int32).view(_U32)
        state[rows] = _taken(state[rows], left)
    return _finished(state, lengths)


def _of_longs(bits: np.ndarray, state: np.ndarray) -> np.ndarray:
    low, high = (bits & np.uint64(0xFFFFFFFF)).astype(_U32), (bits >> np.uint64(32)).astype(_U32)
    return _finished(_taken(_taken(state, low), high), np.full(1, 8))


def _column_hash(column: pl.Series, state: np.ndarray) -> np.ndarray:
    """The state after a column; nulls leave it as it is."""
    kind = column.dtype
    if kind in (pl.String, pl.Binary):
        found = _of_bytes(column.cast(pl.Binary).fill_null(b""), state)
    elif kind in (pl.Boolean, pl.Int32, pl.Date):
        words = column.to_physical().cast(pl.Int32).fill_null(0).to_numpy().view(_U32)
        found = _finished(_taken(state, words), np.full(1, 4))
    elif kind == pl.Float32:
        words = _one_zero(column, np.float32).view(_U32)
        found = _finished(_taken(state, words), np.full(1, 4))
    elif kind == pl.Float64:
        found = _of_longs(_one_zero(column, np.float64).view(np.uint64), state)
    else:
        found = _of_longs(column.to_physical().fill_null(0).to_numpy().view(np.uint64), state)
    return np.where(column.is_null().to_numpy(), state, found)


def _one_zero(column: pl.Series, kind: Any) -> np.ndarray:
    """-0.0 hashes as 0.0, and every NaN as one."""
    values = column.fill_null(0).to_numpy().astype(kind) + kind(0)
    one: np.ndarray = np.where(np.isnan(values), kind("nan"), values)
    return one


def _murmur(*args: pl.Expr) -> pl.Expr:
    def apply(columns: Sequence[pl.Series]) -> pl.Series:
        columns = broadcast(columns)
        state = np.full(len(columns[0]), SEED, dtype=_U32)
        with np.errstate(over="ignore"):
            for column in columns:
                state = _column_hash(column, state)
        return pl.Series(columns[0].name, state.view(np.int32))

    return pl.map_batches(args, apply, return_dtype=pl.Int32(), is_elementwise=True)


def _hashed(types: Sequence[str], values: Sequence[object]) -> Resolved | None:
    plain = types and not any("<" in kind for kind in types)
    return (["int" if kind == "null" else kind for kind in types], "int") if plain else None


# -- CRC-32 ------------------------------------------------------------------------------------------------


def _crc_table() -> np.ndarray:
    rest = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        rest = np.where(rest & 1, (rest >> 1) ^ 0xEDB88320, rest >> 1)
    return rest


_CRC = _crc_table()


def _crc32(a: pl.Expr) -> pl.Expr:
    """A byte a step over all rows."""

    def apply(column: pl.Series) -> pl.Series:
        data, starts, lengths = _bytes(column.fill_null(b""))
        state = np.full(len(column), 0xFFFFFFFF, dtype=np.uint64)
        for step in range(int(lengths.max(initial=0))):
            rows = np.flatnonzero(lengths > step)
            state[rows] = _CRC[(state[rows] ^ data[starts[rows] + step]) & 0xFF] ^ (state[rows] >> 8)
        return pl.Series(column.name, (state ^ 0xFFFFFFFF).astype(np.int64))

    return pl.when(a.is_not_null()).then(a.map_batches(apply, return_dtype=pl.Int64(), is_elementwise=True))


TABLE = [
    define("md5(value binary) string", "The MD5 digest in hexadecimal digits.", lambda a: _namespace(a, "nchash").md5(),
           eg("a", gives="0cc175b9c0f1b6a831c399e269772661")),
    define("sha1(value binary) string", "The SHA-1 digest in hexadecimal digits.", lambda a: _namespace(a, "nchash").sha1(),
           eg("a", gives="86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"), aliases=("sha",)),
    define("sha2(value binary, bits const int) string", "The SHA-2 digest of 224, 256, 384 or 512 bits in hexadecimal digits; 0 is 256.",
           lambda a, bits: getattr(_namespace(a, "chash"), _SHA2[bits])(), eg("a", 224, gives="abd37534c7d9a2efb9465de931cd7055ffdb8879563ae98078d6d6d5"),
           check=_check_bits),
    define("crc32(value binary) bigint", "The checksum of bytes by CRC-32.", _crc32, eg("a", gives=3904355907)),
    define("hash(values any...) int", "A number that spreads values evenly (Murmur 3).", _murmur, eg("a", 1, gives=532252686), resolver=_hashed),
]  # fmt: skip
