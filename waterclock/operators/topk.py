"""Top-k: per key and snapshot, or fixed window, the events whose SQL RANK is at most k, with all ties.

Over snapshots, every boundary of a group splits, also those of events that are not ranked because they have no value.
Over windows, events inside one pane share all their windows, so only the best of a pane are kept.

    result may be emitted   snapshot or window end <= c
    output CTI              min(c, starts of open snapshots), or window.output_cti(c)
    state dropped           events that end at or before c, or before the earliest open window starts
"""

from __future__ import annotations

import numpy as np
import polars as pl

from waterclock.expr import to_polars
from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashed, together
from waterclock.operators.ranges import Line, blocks, is_short, numbered, pairs
from waterclock.operators.snapshot import ALIVE, Snapshots, SnapshotsOperator
from waterclock.plan.aggregate import TopK
from waterclock.plan.window import Window
from waterclock.schema import VE, VS
from waterclock.state import spread
from waterclock.time import BEGINNING, FOREVER

EVENTS = "events"
_BY = "_by"


def topk_of(node: TopK) -> Operator:
    return TopKOperator(node) if node.window is None else TopKWindowOperator(node, node.window)


class TopKOperator(SnapshotsOperator):
    """Over snapshots."""

    def __init__(self, node: TopK) -> None:
        super().__init__(node, node.keys)
        self.node = node

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        return {ALIVE: hashed(rows.select(*_columns(self.node)).collect(), self.keys)}

    def content(self, rows: pl.DataFrame, snapshots: Snapshots) -> pl.DataFrame:
        slots, members, ranks = best(
            rows[_BY][snapshots.member], len(snapshots.start), snapshots.lo, snapshots.hi, self.node
        )
        vs, ve = self.lifetimes(snapshots)
        chosen = rows[snapshots.member[members]].with_columns(vs[slots], ve[slots])
        return _ranked(chosen, ranks, self.node)


class TopKWindowOperator(Operator):
    """Over fixed windows."""

    tables = (Spec(EVENTS),)

    def __init__(self, node: TopK, window: Window) -> None:
        super().__init__(node)
        self.node = node
        self.window = window
        self.keys = list(node.keys)

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        taken = rows.select(*_columns(self.node)).collect()
        return {EVENTS: self.fold(EVENTS, hashed(taken, self.keys))}

    def fold(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Without the events of a pane that others of it beat."""
        vs, ve = rows[VS].to_numpy(), rows[VE].to_numpy()
        pane, offset = self.window.pane, self.window.offset
        first = (vs - offset) // pane
        # Events without a value are never ranked, but they tell how far time has come.
        inside = np.flatnonzero((first == (ve - 1 - offset) // pane) & rows[_BY].is_not_null().to_numpy())
        if not len(inside):
            return rows
        some = rows[inside]
        group, _ = numbered(some, self.keys)
        line = Line(group, first[inside])
        beaten = rank(line.at(group, first[inside]), _order(some[_BY], self.node.descending)) > self.node.k
        stays = np.ones(rows.height, dtype=bool)
        stays[inside[beaten]] = False
        return rows if not beaten.any() else rows.filter(pl.Series(stays))

    def step(self, turn: Turn) -> Stepped:
        (old,), (new,), window = turn.old, turn.new, self.window
        arrived = turn.arrived.get(EVENTS)
        if new == BEGINNING:
            return Stepped(self.nothing, new, {} if arrived is None else {EVENTS: arrived})
        first = None if old == BEGINNING else window.last_closed(old) + 1
        # At the end of the stream: the last window that starts before the greatest time known.
        last = -((window.offset - turn.top) // window.hop) - 1 if new == FOREVER else window.last_closed(new)
        low = FOREVER if new == FOREVER else window.start(last + 1)
        output = self.nothing
        if first is None or first <= last:
            output = self._close(together(turn.state[EVENTS].all(), arrived), first, last)
        added: dict[str, pl.DataFrame] = {}
        if arrived is not None and new < FOREVER and (kept := arrived.filter(pl.col(VE) > low)).height:
            added[EVENTS] = kept
        return Stepped(output, window.output_cti(new), added, lows={EVENTS: low})

    def _close(self, rows: pl.DataFrame | None, first: int | None, last: int) -> pl.DataFrame:
        """The results of the windows ``first..last``. Windows with the same events are ranked once."""
        if rows is None:
            return self.nothing
        window = self.window
        end = np.minimum(rows[VE].to_numpy(), window.start(last + 1))
        lowest = (rows[VS].to_numpy() - window.offset - window.size) // window.hop + 1
        if first is not None:
            lowest = np.maximum(lowest, first)
        behind = np.minimum(-((window.offset - end) // window.hop), last + 1)
        inside = np.flatnonzero(lowest < behind)
        if not len(inside):
            return self.nothing
        rows, lowest, behind = rows[inside], lowest[inside], behind[inside]
        group, _ = numbered(rows, self.keys)
        line = Line(np.concatenate([group, group]), np.concatenate([lowest, behind]))
        lo, hi = line.at(group, lowest), line.at(group, behind)
        slots, members, ranks = best(rows[_BY], len(line), lo, hi, self.node)
        begin, until = line.time[slots], line.time[np.minimum(slots + 1, len(line) - 1)]
        start = spread(begin, until) * window.hop + window.offset
        times = np.repeat(np.arange(len(slots)), until - begin)
        end = start + window.size
        vs, ve = {
            "window": (start, end),
            "point_end": (end, end + 1),
            "hold": (end, end + window.hop),
        }[window.result]
        lives = pl.Series(VS, vs, dtype=pl.Int64), pl.Series(VE, ve, dtype=pl.Int64)
        return _ranked(rows[members[times]].with_columns(*lives), ranks[times], self.node)


def best(
    values: pl.Series, n: int, lo: np.ndarray, hi: np.ndarray, node: TopK
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slots, positions of rows and ranks: the rows that are among the k best of a slot in their range ``[lo, hi)``."""
    some = np.flatnonzero(values.is_not_null().to_numpy())
    order = _order(values[some], node.descending)
    lo, hi = lo[some], hi[some]
    if is_short(n, lo, hi):
        found = [(slots, rows, rank(slots, order[rows])) for slots, rows in pairs(n, lo, hi)]
        found = [(s[r <= node.k], some[m[r <= node.k]], r[r <= node.k]) for s, m, r in found]
        slots, rows, ranks = (np.concatenate(each) for each in zip(*found, strict=True))
        return slots, rows, ranks
    # Who is beaten in a block of slots is beaten in all of them: only the best go down to its halves.
    slots = rows = ranks = np.empty(0, dtype=np.int64)
    for taken, owners in reversed(blocks(lo, hi)):
        slots = np.concatenate([slots * 2, slots * 2 + 1, taken])
        rows = np.concatenate([rows, rows, owners])
        ranks = rank(slots, order[rows])
        good = ranks <= node.k
        slots, rows, ranks = slots[good], rows[good], ranks[good]
    return slots, some[rows], ranks


def rank(slots: np.ndarray, order: np.ndarray) -> np.ndarray:
    """SQL RANK of each row within its slot, by ``order``, which counts from one."""
    width = int(order.max(initial=0)) + 1
    packed = slots * width + order
    by = np.argsort(packed)
    packed = packed[by]
    slots = packed // width
    at = np.arange(len(by))
    fresh = np.ones(len(by), dtype=bool)
    fresh[1:] = slots[1:] != slots[:-1]
    begin = np.maximum.accumulate(np.where(fresh, at, 0))
    fresh[1:] = packed[1:] != packed[:-1]
    equal = np.maximum.accumulate(np.where(fresh, at, 0))
    ranks = np.empty(len(by), dtype=np.int64)
    ranks[by] = equal - begin + 1
    return ranks


def _order(values: pl.Series, descending: bool) -> np.ndarray:
    """The values as integers, best first."""
    return values.rank("dense", descending=descending).cast(pl.Int64).to_numpy()


def _columns(node: TopK) -> list[str | pl.Expr]:
    return [VS, VE, *node.input.schema.names, to_polars(node.by, node.input.schema).alias(_BY)]


def _ranked(rows: pl.DataFrame, ranks: np.ndarray, node: TopK) -> pl.DataFrame:
    named = rows if node.rank is None else rows.with_columns(pl.Series(node.rank, ranks, dtype=pl.Int64))
    return named.select(VS, VE, *node.schema.names)
