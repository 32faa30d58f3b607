"""Matching pairs of two sides: equal keys, a residual condition, and overlap in time.

Rows are found by hash, then by time: of the rows of a hash in order of start, those a row can overlap lie between the
first one that is not over when it starts and the last one that starts before it ends. Candidates are made some
millions at a time, so that a key with very many rows costs time and not memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from waterclock.expr import to_polars
from waterclock.hashing import hash_rows
from waterclock.operators.base import hashed
from waterclock.operators.coverage import running_max
from waterclock.plan.join import Join
from waterclock.schema import HASH, VE, VS
from waterclock.state import spread
from waterclock.state.order import in_order
from waterclock.state.table import equal_range
from waterclock.time import FOREVER

CHUNK = 2_000_000
"""Candidates that are looked at together."""
_ALIKE = 32
"""Sides of which one has at most so many times the rows of the other are walked through together."""
_LOOSE = 4
"""With more candidates per row than this, rows of very different durations are searched apart."""


class Pairing:
    """How the rows of a join's sides are laid out and which of them match.

    Right rows carry their columns under the names that the result gives them. Keys without such a name come along
    as ``_k0``, ``_k1``...; of a side that is only looked for (``lean``), nothing else but what the condition reads.
    """

    def __init__(self, node: Join, lean: bool = False) -> None:
        self.node = node
        self.keyed = bool(node.left_keys)
        self.shared = not self.keyed and node.kind != "full"
        """Every task sees the whole right side, and some of the left one."""
        read = set() if node.residual is None else node.residual.columns()
        self.left_columns = node.left.schema.names
        taken = [(source, name) for source, name in node.names if not lean or name in read]
        self.right_payload = [name for _, name in taken]
        known = dict(taken)
        self.left_keys = list(node.left_keys)
        self.right_keys = [known.get(key, f"_k{index}") for index, key in enumerate(node.right_keys)]
        extra = [(key, name) for key, name in zip(node.right_keys, self.right_keys, strict=True) if key not in known]
        self._right_sources = [*taken, *extra]
        self.right_columns = [name for _, name in self._right_sources]
        self._left_read = [name for name in self.left_columns if name in read]
        self._right_read = [name for name in self.right_payload if name in read]
        self._condition = None
        if node.residual is not None:
            self._condition = to_polars(node.residual, node.pair_schema).cast(pl.Boolean).fill_null(False)

    # -- in front of the exchange ------------------------------------------------------------------------

    def lefts(self, rows: pl.LazyFrame, lonely: bool = False) -> pl.DataFrame:
        """Left rows for the exchange; ``lonely`` keeps those that match nothing because of a null key."""
        return _placed(rows.select(VS, VE, *self.left_columns), self.left_keys, lonely, self.shared)

    def rights(self, rows: pl.LazyFrame, lonely: bool = False) -> pl.DataFrame:
        named = [pl.col(source).alias(name) for source, name in self._right_sources]
        return _placed(rows.select(VS, VE, *named), self.right_keys, lonely, scattered=False)

    # -- behind it ---------------------------------------------------------------------------------------

    def matches(self, left: pl.DataFrame | None, right: pl.DataFrame | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The positions of the left and of the right row of every pair, some pairs at a time."""
        if left is None or right is None or not left.height or not right.height:
            return
        for i, j in overlapping(left, right, self.keyed):
            true = self._true(left, right, i, j)
            if true is not None and not true.all():
                i, j = i[true], j[true]
            if i.size:
                yield i, j

    def _true(self, left: pl.DataFrame, right: pl.DataFrame, i: np.ndarray, j: np.ndarray) -> np.ndarray | None:
        found: np.ndarray | None = None
        for mine, theirs in zip(self.left_keys, self.right_keys, strict=True):
            equal = (left[mine].gather(i) == right[theirs].gather(j)).fill_null(False).to_numpy()
            found = equal if found is None else found & equal
        if self._condition is not None:
            sides = [left[name].gather(i) for name in self._left_read] + [
                right[name].gather(j) for name in self._right_read
            ]
            holds = (
                pl.DataFrame([pl.Series(VS, i), *sides])
                .with_columns(self._condition.alias("_holds"))["_holds"]
                .to_numpy()
            )
            found = holds if found is None else found & holds
        return found


def _placed(rows: pl.LazyFrame, keys: Sequence[str], lonely: bool, scattered: bool) -> pl.DataFrame:
    """Rows by the hash of their key. Those that meet nobody, or may be anywhere, by a hash of all they are."""
    if not lonely and not scattered:
        return hashed((rows.drop_nulls(keys) if keys else rows).collect(), keys)
    frame = rows.collect()
    every = [name for name, kind in frame.schema.items() if not kind.is_nested()]
    if scattered:
        return hashed(frame, every)
    alone = frame.select(pl.any_horizontal(False, *(pl.col(key).is_null() for key in keys))).to_series()
    if not alone.any():
        return hashed(frame, keys)
    hashes = hash_rows(frame, keys)
    hashes[alone.to_numpy()] = hash_rows(frame.filter(alone), every)
    return in_order(frame.with_columns(pl.Series(HASH, hashes, dtype=pl.UInt64)))


# -- overlap -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lives:
    """When rows of which hash live, and the positions they come from."""

    hashes: np.ndarray
    vs: np.ndarray
    ve: np.ndarray
    positions: np.ndarray

    @staticmethod
    def of(frame: pl.DataFrame, keyed: bool) -> _Lives:
        hashes = frame[HASH].to_numpy() if keyed else np.zeros(frame.height, dtype=np.uint64)
        return _Lives(hashes, frame[VS].to_numpy(), frame[VE].to_numpy(), np.arange(frame.height))

    def sorted(self) -> _Lives:
        """By hash and start, as rows that arrive and single runs are already."""
        hashes, vs = self.hashes, self.vs
        ordered = (hashes[1:] > hashes[:-1]) | ((hashes[1:] == hashes[:-1]) & (vs[1:] >= vs[:-1]))
        return self if ordered.all() else self._take(np.lexsort((vs, hashes)))

    def _take(self, which: np.ndarray) -> _Lives:
        return _Lives(self.hashes[which], self.vs[which], self.ve[which], self.positions[which])

    def candidates(self, probe: _Lives) -> tuple[np.ndarray, np.ndarray]:
        """For each row of the other side the range of rows here that it may overlap; those here are sorted."""
        first, last = equal_range(self.hashes, probe.hashes)
        last = _search(self.vs, first, last, probe.ve - 1)
        first = _search(running_max(self.hashes, self.ve), first, last, probe.vs)
        return first, last

    def by_duration(self) -> Iterator[_Lives]:
        """Rows whose durations differ by less than a factor of four, together; those that never end apart."""
        lasting = self.ve.view(np.uint64) - self.vs.view(np.uint64)  # cannot overflow
        kind = np.where(self.ve == FOREVER, 32, np.log2(lasting.astype(np.float64)).astype(np.int64) // 2)
        for each in np.unique(kind):
            yield self._take(np.flatnonzero(kind == each))


def overlapping(left: pl.DataFrame, right: pl.DataFrame, keyed: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The positions of left and right rows that have the same hash (any, unless ``keyed``) and are alive together."""
    probe, build = _Lives.of(left, keyed), _Lives.of(right, keyed).sorted()
    if keyed and (equal := merged(probe.hashes, build.hashes)) is not None:
        for at in range(0, equal[0].size, CHUNK):
            i, j = (positions[at : at + CHUNK] for positions in equal)
            alive = (build.ve[j] > probe.vs[i]) & (build.vs[j] < probe.ve[i])
            if alive.any():
                yield (i, build.positions[j]) if alive.all() else (i[alive], build.positions[j[alive]])
        return
    ranges = build.candidates(probe)
    if int((ranges[1] - ranges[0]).sum()) <= _LOOSE * (left.height + right.height):
        yield from _pairs(probe, build, *ranges)
        return
    for some in build.by_duration():
        yield from _pairs(probe, some, *some.candidates(probe))


def merged(some: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The positions of equal values, if both are sorted, about as many, and one side has each value once.

    Polars walks through sorted columns together, where a search would begin anew for each value.
    """
    if not _ALIKE * some.size >= others.size >= some.size // _ALIKE:
        return None
    steps, other_steps = some[1:] >= some[:-1], others[1:] >= others[:-1]
    if not steps.all() or not other_steps.all():
        return None
    if (some[1:] == some[:-1]).any() and (others[1:] == others[:-1]).any():
        return None
    sides = [
        pl.DataFrame({"h": pl.Series(values).set_sorted(), at: np.arange(values.size, dtype=np.int64)})
        for at, values in (("i", some), ("j", others))
    ]
    found = sides[0].join(sides[1], on="h", how="inner", maintain_order="left_right")
    return found["i"].to_numpy(), found["j"].to_numpy()


def _pairs(
    probe: _Lives, build: _Lives, first: np.ndarray, last: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for i, j in expanded(first, last):
        alive = build.ve[j] > probe.vs[i]
        if not alive.all():
            i, j = i[alive], j[alive]
        if i.size:
            yield probe.positions[i], build.positions[j]


def expanded(first: np.ndarray, last: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Every number of the ranges ``first[i]:last[i]`` with its i, at most ``CHUNK`` at a time."""
    rows = np.flatnonzero(last > first)
    first, last = first[rows], last[rows]
    ends = np.cumsum(last - first)
    total = int(ends[-1]) if ends.size else 0
    for start in range(0, total, CHUNK):
        stop = min(start + CHUNK, total)
        a = int(np.searchsorted(ends, start, side="right"))
        b = int(np.searchsorted(ends, stop, side="left")) + 1
        low, high = first[a:b].copy(), last[a:b].copy()
        low[0] = last[a] - (ends[a] - start)
        high[-1] -= ends[b - 1] - stop
        yield np.repeat(rows[a:b], high - low), spread(low, high)


def _search(values: np.ndarray, first: np.ndarray, last: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """For each range ``first[i]:last[i]``, in which values ascend, the first position with a value above the bound."""
    first, last = first.copy(), last.copy()
    active = np.flatnonzero(first < last)
    while active.size:
        middle = (first[active] + last[active]) >> 1
        below = values[middle] <= bound[active]
        first[active[below]] = middle[below] + 1
        last[active[~below]] = middle[~below]
        active = active[first[active] < last[active]]
    return first
