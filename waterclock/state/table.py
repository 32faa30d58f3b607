"""One state table as a task sees it: the live rows of its range of keys, found by key or by time without a scan.

Rows carry a hash of their key, a start and an end. Those that end at or before ``low`` are not there. A mortal table
also loses single rows: a later run then holds a gravestone with the row's hash and number, and both disappear when
their runs are merged.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from waterclock.hashing import SPACE
from waterclock.schema import HASH, VE, VS
from waterclock.state.order import in_order
from waterclock.time import BEGINNING

ID = "_id"
GONE = "_gone"
_CHUNK = 256
_NEAR = 4


class Indexed:
    """A decoded run with its orders by time, made when first asked for."""

    def __init__(self, frame: pl.DataFrame, mapped: mmap.mmap | None = None) -> None:
        self.frame = frame
        self._mapped = mapped
        self.hashes: np.ndarray = frame[HASH].to_numpy()
        self._orders: dict[tuple[str, int, int], tuple[np.ndarray, np.ndarray]] = {}
        self.dead: dict[tuple[int, int], tuple[int, int]] = {}
        """For a range of rows: the epoch, and how many of the earliest starts were found dead by then."""

    def rest(self) -> None:
        """Its pages need not stay in this process; those of the file do, as long as the system has room."""
        if self._mapped is not None:
            self._mapped.madvise(mmap.MADV_DONTNEED)

    def rows_in(self, part: tuple[int, int]) -> tuple[int, int]:
        """The positions of a range of hashes: two binary searches."""
        if part == (0, SPACE):
            return 0, self.frame.height
        low = int(np.searchsorted(self.hashes, np.uint64(part[0]), side="left"))
        high = self.frame.height
        if part[1] < SPACE:
            high = int(np.searchsorted(self.hashes, np.uint64(part[1]), side="left"))
        return low, high

    def order(self, column: str, rows: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """The values of a time column over some rows in order, and the positions they come from."""
        key = (column, *rows)
        if key not in self._orders:
            values = self.frame[column].to_numpy()[rows[0] : rows[1]]
            positions = np.argsort(values, kind="stable")
            self._orders[key] = (values[positions], positions + rows[0])
        return self._orders[key]


class Table:
    def __init__(
        self, runs: Sequence[Indexed], part: tuple[int, int], low: int = BEGINNING, mortal: bool = False, epoch: int = 0
    ) -> None:
        self._runs = [(run, run.rows_in(part)) for run in runs]
        self._runs = [(run, rows) for run, rows in self._runs if rows[0] < rows[1]]
        self._low = low
        self._mortal = mortal
        self._epoch = epoch

    def __bool__(self) -> bool:
        return bool(self._runs)

    def all(self) -> pl.DataFrame | None:
        """Every live row; None where there is none."""
        return self._live([run.frame.slice(start, end - start) for run, (start, end) in self._runs])

    def of(self, hashes: np.ndarray) -> pl.DataFrame | None:
        """The live rows of some keys, given as sorted distinct hashes; None where there is none."""
        found: list[pl.DataFrame] = []
        for run, (start, end) in self._runs:
            mine = run.hashes[start:end]
            first, last = equal_range(mine, hashes)
            positions = spread(first + start, last + start)
            if positions.size == end - start:
                found.append(run.frame.slice(start, end - start))
            elif positions.size:
                found.append(run.frame[positions])
        return self._live(found)

    def near(self, hashes: np.ndarray) -> list[pl.DataFrame]:
        """The live rows of some keys and perhaps others, dead ones too; every frame in order of hash and start.

        Where a run is not much larger than what is looked for, looking costs more than it saves.
        """
        found: list[pl.DataFrame] = []
        for run, (start, end) in self._runs:
            if end - start <= _NEAR * hashes.size:
                found.append(run.frame.slice(start, end - start))
                continue
            positions = spread(*(edge + start for edge in equal_range(run.hashes[start:end], hashes)))
            if positions.size:
                found.append(run.frame[positions])
        return found

    def due(self, after: int, upto: int, column: str = VE) -> np.ndarray:
        """The hashes of the keys that have a row with ``after < column <= upto``: sorted and distinct."""
        found: list[np.ndarray] = []
        for run, rows in self._runs:
            values, positions = run.order(column, rows)
            first = np.searchsorted(values, after, side="right")
            last = np.searchsorted(values, upto, side="right")
            found.append(run.hashes[positions[first:last]])
        return distinct(np.concatenate([np.empty(0, dtype=np.uint64), *found]))

    def least(self, removed: pl.DataFrame | None = None) -> int | None:
        """The least start of the live rows, but for those that this epoch removes.

        Walks from the earliest; what was found dead stays dead, so the next epoch goes on where this one stopped.
        """
        at = [self._known_dead(run, rows) for run, rows in self._runs]
        size, settled = _CHUNK, True
        while True:
            chunks, cut = [], None
            for (run, rows), start in zip(self._runs, at, strict=True):
                values, positions = run.order(VS, rows)
                if start + size < len(values):
                    last = int(values[start + size - 1])
                    cut = last if cut is None else min(cut, last)
                chunks.append(run.frame.select(HASH, VS, VE, *self._marks)[positions[start : start + size]])
            if not chunks:
                return None
            known = [chunk if cut is None else chunk.filter(pl.col(VS) < cut) for chunk in chunks]
            live = self._live(known)
            settled = settled and live is None  # what this epoch removes is dead only once the epoch is done
            if live is not None and removed is not None and removed.height:
                live = live.join(removed.select(HASH, ID), on=[HASH, ID], how="anti")
            if live is not None and live.height:
                return int(live[VS].min())  # type: ignore[arg-type]
            if cut is None:
                return None
            # A gravestone has the start of its row: all that starts before the cut is settled.
            at = [start + int((chunk[VS] < cut).sum()) for start, chunk in zip(at, chunks, strict=True)]
            for (run, rows), start in zip(self._runs, at, strict=True):
                if settled:
                    run.dead[rows] = (self._epoch, start)
            size *= 2

    def _known_dead(self, run: Indexed, rows: tuple[int, int]) -> int:
        epoch, start = run.dead.get(rows, (-1, 0))
        # An epoch that is executed again may see a state before those deaths.
        return start if epoch < self._epoch else 0

    @property
    def _marks(self) -> tuple[str, ...]:
        return (ID, GONE) if self._mortal else ()

    def _live(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame | None:
        if not frames:
            return None
        rows = frames[0] if len(frames) == 1 else pl.concat(frames, how=_how(self._mortal))
        if self._low > BEGINNING:
            rows = rows.filter(pl.col(VE) > self._low)
        if self._mortal:
            rows = without_gone(rows, keep_graves=False).drop(GONE)
        return rows if rows.height else None


def equal_range(values: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each wanted value begins and ends among sorted ones. Most are often not there: these cost one search."""
    first = np.searchsorted(values, wanted, side="left")
    last = first.copy()
    there = np.flatnonzero(first < values.size)
    there = there[values[first[there]] == wanted[there]]
    last[there] = np.searchsorted(values, wanted[there], side="right")
    return first, last


def distinct(values: np.ndarray) -> np.ndarray:
    """In order and each once; sorting is several times faster here than the hash table of ``np.unique``."""
    every = np.sort(values, kind="stable")
    fresh = np.ones(every.size, dtype=bool)
    fresh[1:] = every[1:] != every[:-1]
    return every[fresh]


def spread(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """All positions of the ranges ``first[i]:last[i]``, one after another."""
    lengths = last - first
    total = int(lengths.sum())
    if total == 0:
        return np.empty(0, dtype=np.int64)
    ends = np.cumsum(lengths)
    positions: np.ndarray = np.arange(total) - np.repeat(ends - lengths - first, lengths)
    return positions


def without_gone(rows: pl.DataFrame, keep_graves: bool) -> pl.DataFrame:
    """Rows without those that have a gravestone among them; gravestones without their row may stay."""
    graves = rows.filter(pl.col(GONE))
    if not graves.height:
        return rows
    living = rows.filter(~pl.col(GONE))
    left = living.join(graves.select(HASH, ID), on=[HASH, ID], how="anti")
    if not keep_graves:
        return left
    return pl.concat([left, graves.join(living.select(HASH, ID), on=[HASH, ID], how="anti")])


def _how(mortal: bool) -> Literal["vertical", "diagonal"]:
    return "diagonal" if mortal else "vertical"  # a run of gravestones alone has no other columns


def merge(frames: Sequence[pl.DataFrame], low: int, mortal: bool) -> pl.DataFrame:
    """Several runs as one, without what is no longer needed."""
    rows = pl.concat(frames, how=_how(mortal)).filter(pl.col(VE) > low)
    if mortal:
        rows = without_gone(rows, keep_graves=True)
    return in_order(rows)


def changes(added: pl.DataFrame | None, removed: pl.DataFrame | None, mortal: bool, epoch: int) -> pl.DataFrame | None:
    """What one epoch did to a table, as the rows of a run; None if nothing."""
    if added is None and removed is None:
        return None
    if not mortal:
        assert removed is None, "rows of this table go only by time"
        assert added is not None
        return in_order(added) if added.height else None
    frames: list[pl.DataFrame] = []
    if added is not None:
        # Unique together with the hash: a key belongs to one task of the epoch.
        numbers = pl.int_range(pl.len(), dtype=pl.Int64) + (epoch << 32)
        frames.append(added.drop(ID, strict=False).with_columns(numbers.alias(ID), pl.lit(False).alias(GONE)))
    if removed is not None:
        frames.append(removed.select(HASH, VS, VE, ID).with_columns(pl.lit(True).alias(GONE)))
    rows = pl.concat(frames, how="diagonal")
    return in_order(rows) if rows.height else None
