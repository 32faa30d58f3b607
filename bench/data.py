"""Input of the benchmarks: deterministic by seed, files are made once and kept under ``bench/data/``."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parent / "data"
BASE = 1_735_689_600_000_000
"""2025-01-01 UTC in microseconds: the hopping benchmark's first event."""
PAYLOAD = 86
DISORDER = 500_000
"""Events stand up to this many microseconds before or after their place, so up to twice that out of order."""

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

# -- hopping: files ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Events:
    """What the files of the hopping benchmark hold."""

    rows: int = 10_000_000
    file_rows: int = 250_000
    keys: int = 10_000
    seconds: int = 200
    """Event time from the first to the last event."""
    seed: int = 1
    hot: float = 0.0
    """This share of the rows goes to key 0, besides its own."""

    @property
    def folder(self) -> Path:
        hot = f"-hot{self.hot:g}" if self.hot else ""
        return ROOT / f"events-{self.rows}-{self.file_rows}-{self.keys}-{self.seconds}-{self.seed}{hot}"


def event_table(events: Events, file: int) -> Any:
    """One file as an Arrow table: 8 + 8 + 8 + 86 bytes a row."""
    first = file * events.file_rows
    rows = min(events.file_rows, events.rows - first)
    random = np.random.default_rng([events.seed, file])
    place = BASE + (np.arange(first, first + rows, dtype=np.int64) * events.seconds * 1_000_000) // events.rows
    ts = place + DISORDER + random.integers(-DISORDER, DISORDER + 1, rows)
    key = random.integers(0, events.keys, rows)
    value = random.integers(0, 1_000_000, rows)
    payload = _hex(random, rows, PAYLOAD)
    if events.hot:
        key[random.random(rows) < events.hot] = 0
    return pa.table(
        {
            "key": pa.array(key, pa.int64()),
            "ts": pa.array(ts, pa.timestamp("us", "UTC")),
            "value": pa.array(value, pa.int64()),
            "payload": payload,
        }
    )


def event_files(events: Events) -> Path:
    """The folder with the files, made if it is not there. Modification times rise with the file numbers."""
    return _files(events, {"in": partial(event_table, events)})


# -- join: two streams that match one to one ---------------------------------------------------------------

PAIR_PAYLOAD = 84


@dataclass(frozen=True)
class Pairs:
    """Two streams over the same event time; row ``n`` of the right matches the left row ``behind`` seconds before."""

    rows: int = 1_000_000
    """Of each side."""
    file_rows: int = 50_000
    seconds: int = 1_200
    behind: int = 30
    seed: int = 3

    @property
    def folder(self) -> Path:
        return ROOT / f"pairs-{self.rows}-{self.file_rows}-{self.seconds}-{self.behind}-{self.seed}"

    def of(self, rows: int) -> Pairs:
        """The same streams, shorter or longer."""
        return replace(self, rows=rows, seconds=self.seconds * rows // self.rows)

    @property
    def unmatched(self) -> int:
        """The first rows of the right and the last ones of the left have no match: theirs lie outside the cut."""
        return self.behind * self.rows // self.seconds


def pair_table(pairs: Pairs, side: str, file: int) -> Any:
    """One file of a side as an Arrow table: 8 + 8 + 84 bytes a row. Keys are unique; those below 0 have no match."""
    if pairs.behind * pairs.rows % pairs.seconds:
        raise ValueError("the match must lie whole rows behind")
    first = file * pairs.file_rows
    rows = min(pairs.file_rows, pairs.rows - first)
    right = side == "right"
    key = np.arange(first, first + rows, dtype=np.int64) - (pairs.unmatched if right else 0)
    jitter = (key.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(33)).astype(np.int64)
    ts = BASE + key * pairs.seconds * 1_000_000 // pairs.rows + jitter % (2 * DISORDER + 1)
    payload = _hex(np.random.default_rng([pairs.seed, right, file]), rows, PAIR_PAYLOAD)
    return pa.table(
        {
            "key": pa.array(key, pa.int64()),
            "ts": pa.array(ts + (pairs.behind * 1_000_000 if right else 0), pa.timestamp("us", "UTC")),
            "payload": payload,
        }
    )


def pair_files(pairs: Pairs) -> Path:
    """The folder with the files of both sides, ``left`` and ``right``, made if it is not there."""
    return _files(pairs, {side: partial(pair_table, pairs, side) for side in ("left", "right")})


def _files(what: Events | Pairs, tables: dict[str, Callable[[int], Any]]) -> Path:
    folder = what.folder
    if (folder / "events.json").exists():
        return folder
    making = folder.with_name(folder.name + ".making")
    shutil.rmtree(making, ignore_errors=True)
    for name, table in tables.items():
        (making / name).mkdir(parents=True)
        for file in range(-(-what.rows // what.file_rows)):
            path = making / name / f"part-{file:05}.parquet"
            pq.write_table(table(file), path, compression="snappy", row_group_size=what.file_rows)
            os.utime(path, (1_735_689_600 + file, 1_735_689_600 + file))
    (making / "events.json").write_text(json.dumps(asdict(what)))
    making.rename(folder)
    return folder


# -- latency: records on a schedule ------------------------------------------------------------------------

NEEDLE = "Culpepper"
TICK_MS = 10
"""A batch of records is due every so many milliseconds."""
RECORD = 100
_TAIL = RECORD - 13 - 1 - 8 - 1
_WORDS = 10_000
_TAILS = 4_000


@dataclass(frozen=True)
class Load:
    """An open-loop load: batch ``k`` is due at ``start + 10 ms * k``, and its records carry that time."""

    seconds: int = 40
    rate: int = 10_000
    keys: int = 1_000
    hits: float = 0.01
    seed: int = 7

    @property
    def batch(self) -> int:
        return self.rate * TICK_MS // 1000

    @property
    def batches(self) -> int:
        """One more than fits: the last one starts the next second and so closes the last window."""
        return self.seconds * 1000 // TICK_MS + 1


@dataclass(frozen=True)
class Records:
    ts_ms: Ints
    key: Ints
    text: Bytes
    """One row of 100 bytes per record."""

    def frame(self) -> pl.DataFrame:
        ts = pl.from_numpy(self.ts_ms * 1000, schema=["ts"]).to_series().cast(pl.Datetime("us", "UTC"))
        text = pl.Series("text", _strings(self.text))
        return pl.DataFrame([ts, pl.Series("key", self.key), text.cast(pl.String)])

    def lines(self) -> bytes:
        ended = np.full((len(self.text), RECORD + 1), ord("\n"), dtype=np.uint8)
        ended[:, :RECORD] = self.text
        return ended.tobytes()


def records(load: Load, start_ms: int) -> Records:
    """All records of a run: 13-digit ms timestamp, 8-digit key, words of a Zipf(1) dictionary, 100 bytes in all."""
    random = np.random.default_rng(load.seed)
    n = load.batches * load.batch
    ts = start_ms + np.repeat(np.arange(load.batches, dtype=np.int64) * TICK_MS, load.batch)
    key = random.integers(0, load.keys, n)
    tails = _tails(random)
    tail = random.integers(0, _TAILS, n)
    hit = random.random(n) < load.hits
    text = np.full((n, RECORD), ord(" "), dtype=np.uint8)
    _digits(text[:, 0:13], ts)
    _digits(text[:, 14:22], key)
    text[:, 23:] = tails[tail]
    text[hit, 23 : 23 + len(NEEDLE)] = np.frombuffer(NEEDLE.encode(), dtype=np.uint8)
    return Records(ts, key, text)


def _tails(random: np.random.Generator) -> Bytes:
    letters = random.integers(ord("a"), ord("z") + 1, (_WORDS, 10), dtype=np.uint8).tobytes().decode()
    lengths = random.integers(3, 11, _WORDS)
    words = [letters[10 * i : 10 * i + int(length)] for i, length in enumerate(lengths)]
    weights = 1.0 / np.arange(1, _WORDS + 1)
    drawn = random.choice(_WORDS, (_TAILS, 26), p=weights / weights.sum())
    lines = [" ".join(words[i] for i in row)[:_TAIL].ljust(_TAIL) for row in drawn]
    return np.frombuffer("".join(lines).encode(), dtype=np.uint8).reshape(_TAILS, _TAIL)


def _digits(target: Bytes, numbers: Ints) -> None:
    rest = numbers.copy()
    for place in range(target.shape[1] - 1, -1, -1):
        target[:, place] = ord("0") + rest % 10
        rest //= 10


def _hex(random: np.random.Generator, rows: int, width: int) -> Any:
    """Strings of ``width`` random hexadecimal digits."""
    digits = np.frombuffer(random.bytes(rows * width // 2).hex().encode(), dtype=np.uint8)
    return _strings(digits.reshape(rows, width))


def _strings(matrix: Bytes) -> Any:
    """Rows of equally many bytes as an Arrow string array, without a Python object per row."""
    rows, width = matrix.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(matrix))]
    return pa.Array.from_buffers(pa.string(), rows, buffers)
