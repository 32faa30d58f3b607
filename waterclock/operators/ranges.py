"""Aggregates over overlapping ranges of slots, and how groups and times become slots.

Slots are numbered 0..n-1: stretches of time of all groups, laid end to end. A row with partial results is in the slots
``[lo, hi)``. Each aggregate goes the cheapest way that its algebra allows:

    subtract    what enters and what leaves at each slot, summed up from left to right
    merge       a segment tree: a range is a few dyadic blocks; partial results are merged per block and pushed down
    recompute   every row in each of its slots, some slots at a time

Merging takes the last way too where the ranges are so short that it is cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from waterclock.operators.aggregates import Aggregates
from waterclock.operators.groups import identify
from waterclock.schema import HASH, VE, VS
from waterclock.state import spread
from waterclock.state.table import distinct
from waterclock.time import FOREVER

CHUNK = 2_000_000
"""Pairs of row and slot that are made at a time."""
SLOT = "_slot"
_SHORT = 4


def numbered(frame: pl.DataFrame, keys: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row's group, and for each group the position of its first row. Groups go by hash."""
    group = identify(frame, keys)
    first = np.empty(int(group.max()) + 1, dtype=np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    return group, first


class Line:
    """The distinct times of groups in order, group after group. A time and the next one of its group bound a slot."""

    def __init__(self, group: np.ndarray, time: np.ndarray) -> None:
        finite = time[time < FOREVER]
        self._low, high = int(finite.min()), int(finite.max())
        self._span = high - self._low + 2
        self._ticks: np.ndarray | None = None
        if self._span * (int(group.max()) + 1) >= 2**62:
            self._ticks = distinct(finite)
            self._span = len(self._ticks) + 1
        self._points = distinct(self._packed(group, time))
        self.group = self._points // self._span
        offset = self._points - self.group * self._span
        last = offset == self._span - 1  # an open end
        if self._ticks is None:
            self.time = np.where(last, FOREVER, offset + self._low)
        else:
            self.time = np.where(last, FOREVER, self._ticks[np.where(last, 0, offset)])

    def __len__(self) -> int:
        return len(self._points)

    def at(self, group: np.ndarray, time: np.ndarray) -> np.ndarray:
        """The position of the first time of the group that is not before ``time``, or behind its last one."""
        found: np.ndarray = np.searchsorted(self._points, self._packed(group, time))
        return found

    def _packed(self, group: np.ndarray, time: np.ndarray) -> np.ndarray:
        if self._ticks is not None:
            offset = np.searchsorted(self._ticks, time)
        else:
            offset = np.clip(time, self._low, self._low + self._span - 1) - self._low
        packed: np.ndarray = group * self._span + offset
        return packed


def over_ranges(aggregates: Aggregates, n: int, lo: np.ndarray, hi: np.ndarray, rows: pl.DataFrame) -> pl.DataFrame:
    """The result columns of every slot, in order. There are slots, each in some range, and no range is empty."""
    ways = [algebra.way for algebra in aggregates.algebras]
    if is_short(n, lo, hi):
        ways = ["recompute" if way == "merge" else way for way in ways]
    found: list[pl.DataFrame] = []
    for way, compute in (("subtract", _subtract), ("merge", _merge), ("recompute", _recompute)):
        chosen = [index for index, each in enumerate(ways) if each == way]
        if chosen:
            some = aggregates.only(*chosen)
            found.append(compute(some, n, lo, hi, rows.select(some.parts)))
    return found[0] if len(found) == 1 else pl.concat(found, how="horizontal")


def is_short(n: int, lo: np.ndarray, hi: np.ndarray) -> bool:
    """Whether the ranges are so short that a tree is not worth it."""
    return int((hi - lo).sum()) <= _SHORT * (len(lo) + n)


def pairs(n: int, lo: np.ndarray, hi: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Every row in each of its slots, as slots and positions of rows; a slot is never split over two chunks."""
    total = int((hi - lo).sum())
    if total <= CHUNK:
        yield spread(lo, hi), np.repeat(np.arange(len(lo)), hi - lo)
        return
    depth = np.cumsum(np.bincount(lo, minlength=n + 1) - np.bincount(hi, minlength=n + 1))[:n]
    upto = np.cumsum(depth)
    start = 0
    while start < n:
        before = int(upto[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(upto, before + CHUNK, side="right")))
        inside = np.flatnonzero((lo < end) & (hi > start))
        first, last = np.maximum(lo[inside], start), np.minimum(hi[inside], end)
        yield spread(first, last), np.repeat(inside, last - first)
        start = end


def blocks(lo: np.ndarray, hi: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The ranges as dyadic blocks: per level the numbers of the blocks and the positions of their rows.

    Block b of level k is the slots ``[b << k, (b + 1) << k)``; a range takes at most two blocks of a level.
    """
    levels: list[tuple[np.ndarray, np.ndarray]] = []
    rows = np.arange(len(lo))
    while len(rows):
        odd = (lo & 1) == 1
        taken, owners = [lo[odd]], [rows[odd]]
        lo = lo + odd
        odd = ((hi & 1) == 1) & (lo < hi)
        hi = hi - odd
        taken.append(hi[odd])
        owners.append(rows[odd])
        levels.append((np.concatenate(taken), np.concatenate(owners)))
        left = lo < hi
        lo, hi, rows = lo[left] >> 1, hi[left] >> 1, rows[left]
    return levels


def _subtract(aggregates: Aggregates, n: int, lo: np.ndarray, hi: np.ndarray, rows: pl.DataFrame) -> pl.DataFrame:
    slots = np.concatenate([lo, hi])
    order = np.argsort(slots, kind="stable")
    changes = pl.concat([rows, rows.select(pl.col(part) * -1 for part in aggregates.parts)])[order]
    last = np.searchsorted(slots[order], np.arange(n), side="right") - 1  # of the changes up to each slot
    return aggregates.results(changes.select(pl.all().cum_sum())[last])


def _merge(aggregates: Aggregates, n: int, lo: np.ndarray, hi: np.ndarray, rows: pl.DataFrame) -> pl.DataFrame:
    slots, above = np.empty(0, dtype=np.int64), rows.clear()
    for taken, owners in reversed(blocks(lo, hi)):
        both = pl.concat([above, above, rows[owners]])
        slots, above = _per_slot(aggregates, np.concatenate([slots * 2, slots * 2 + 1, taken]), both)
    assert len(slots) == n, "a slot without rows"
    return aggregates.results(above)


def _recompute(aggregates: Aggregates, n: int, lo: np.ndarray, hi: np.ndarray, rows: pl.DataFrame) -> pl.DataFrame:
    found = []
    for slots, owners in pairs(n, lo, hi):
        found.append(aggregates.results(_per_slot(aggregates, slots, rows[owners])[1]))
    return pl.concat(found)


def _per_slot(aggregates: Aggregates, slots: np.ndarray, rows: pl.DataFrame) -> tuple[np.ndarray, pl.DataFrame]:
    """Partial results merged per slot: the slots in order, and their parts. Sorted rows need no hash table."""
    order = np.argsort(slots, kind="stable")
    placed = rows[order].with_columns(pl.Series(SLOT, slots[order]).set_sorted())
    merged = aggregates.merged(placed, [SLOT]).sort(SLOT)
    return merged[SLOT].to_numpy(), merged.select(aggregates.parts)


def per_lifetime(aggregates: Aggregates, rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Events of a key with the same lifetime as one partial result; rows come sorted by hash and lifetime."""
    fresh = np.ones(rows.height, dtype=bool)
    if rows.height:
        named = (HASH, VS, VE, *keys)
        changed = rows.select(pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in named))
        fresh[1:] = changed.to_series().to_numpy()[1:]
    number = pl.Series(SLOT, np.cumsum(fresh) - 1).set_sorted()
    parts = aggregates.accumulated(rows.with_columns(number), [SLOT]).sort(SLOT)
    return rows.select(HASH, VS, VE, *keys).filter(pl.Series(fresh)).hstack(parts.select(aggregates.parts))
