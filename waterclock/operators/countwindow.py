"""Aggregates over the last n distinct start times of a group: windows ``[s_{i-n+1}, s_i + 1)``, membership by overlap.

The starts that later windows need are those of events that they contain, so the events alone are the state.

    result may be emitted   s_i < c (more events may start at c)
    output CTI              c; with result window the start of the earliest window that is still possible
    state dropped           events that end at or before the (n-1)-th last start < c
"""

from __future__ import annotations

import numpy as np
import polars as pl

from waterclock.operators.aggregates import Aggregates
from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashed, hashes_of, together
from waterclock.operators.ranges import Line, numbered, over_ranges, per_lifetime
from waterclock.plan.aggregate import CountAggregate
from waterclock.schema import HASH, VE, VS, bounds
from waterclock.state import GONE, ID
from waterclock.time import BEGINNING, FOREVER

EVENTS = "events"
NEXT = "next"
"""Per group the start of the next window, where it holds time back."""


class CountOperator(Operator):
    """Rows are partial results of the events of a key with the same lifetime."""

    tables = (Spec(EVENTS, mortal=True), Spec(NEXT, mortal=True))

    def __init__(self, node: CountAggregate) -> None:
        super().__init__(node)
        self.keys = list(node.keys)
        self.n = node.n
        self.result = node.result
        self._aggregates = Aggregates(node.aggregates, node.input.schema)
        self._holds = node.result == "window" and node.n > 1

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        taken = rows.select(VS, VE, *self.keys, *self._aggregates.values()).collect()
        return {EVENTS: per_lifetime(self._aggregates, hashed(taken, self.keys), self.keys)}

    def fold(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        if GONE in rows.columns:  # rows that a gravestone may name
            return rows
        return self._aggregates.merged(rows, [HASH, *self.keys, VS, VE]).select(rows.columns)

    def step(self, turn: Turn) -> Stepped:
        (old,), (new,) = turn.old, turn.new
        arrived, state = turn.arrived.get(EVENTS), turn.state[EVENTS]
        if new == BEGINNING:
            return Stepped(self.nothing, new, {} if arrived is None else {EVENTS: arrived})
        if new == FOREVER:
            lows = {EVENTS: FOREVER, NEXT: FOREVER}
        else:
            lows = {EVENTS: new} if self.n == 1 else {}  # then only what is alive behind the CTI matters
        due = state.due(max(old - 1, BEGINNING), new - 1, VS)
        touched = hashes_of(arrived, due)
        kept = state.of(touched) if len(touched) else None
        columns = None if kept is None else [column for column in kept.columns if column != ID]
        rows = together(kept if columns is None else kept.select(columns), arrived)  # type: ignore[union-attr]
        held = None
        if rows is None:
            if self._holds:
                held = turn.state[NEXT].least()
            return Stepped(self.nothing, _cti(new, held), lows=lows)
        output, needed, following = self._windows(rows, old, new)
        before = 0 if kept is None else kept.height
        added: dict[str, pl.DataFrame] = {}
        removed: dict[str, pl.DataFrame] = {}
        if kept is not None and not needed[:before].all():
            removed[EVENTS] = kept.filter(pl.Series(~needed[:before]))
        if arrived is not None and needed[before:].any():
            added[EVENTS] = arrived.filter(pl.Series(needed[before:]))
        if self._holds:
            gone = turn.state[NEXT].of(touched)
            held = turn.state[NEXT].least(gone)
            if gone is not None:
                removed[NEXT] = gone
            if following.height:
                added[NEXT] = following
                least = bounds(following, VS)[0]
                held = least if held is None else min(held, least)
        return Stepped(output, _cti(new, held), added, removed, lows)

    def _windows(self, rows: pl.DataFrame, old: int, new: int) -> tuple[pl.DataFrame, np.ndarray, pl.DataFrame]:
        """The results that became final, which rows are still needed, and the starts of the next windows."""
        group, first = numbered(rows, self.keys)
        vs, ve = rows[VS].to_numpy(), rows[VE].to_numpy()
        line = Line(group, vs)
        n, at = len(line), np.arange(len(line))
        begin = np.searchsorted(line.group, np.arange(len(first)))  # of each group
        behind = np.append(begin[1:], n)
        oldest = at - (self.n - 1)  # of the window that ends with each start
        closed = (oldest >= begin[line.group]) & (line.time >= old) & (line.time < new)
        # An event is in the windows from its own start to n - 1 starts behind the last start before its end.
        lo = line.at(group, vs)
        hi = np.minimum(line.at(group, ve) + self.n - 1, behind[group])
        number = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(closed, out=number[1:])
        lo, hi = number[lo], number[hi]
        output = self._results(rows, line, np.flatnonzero(closed), first, lo, hi)
        known = line.at(np.arange(len(first)), np.full(len(first), new))  # starts before the CTI end here
        following = np.maximum(known - (self.n - 1), begin)
        low = np.full(len(first), new, dtype=np.int64)
        some = known > following
        low[some] = line.time[following[some]]
        needed = ve > low[group] if new < FOREVER else np.zeros(len(ve), dtype=bool)
        if new == FOREVER or not self._holds:
            some = np.zeros(len(first), dtype=bool)
        held = rows.select(HASH, *self.keys)[first[some]].with_columns(
            pl.Series(VS, low[some], dtype=pl.Int64), pl.lit(FOREVER, dtype=pl.Int64).alias(VE)
        )
        return output, needed, held

    def _results(
        self, rows: pl.DataFrame, line: Line, closed: np.ndarray, first: np.ndarray, lo: np.ndarray, hi: np.ndarray
    ) -> pl.DataFrame:
        if not len(closed):
            return self.nothing
        member = np.flatnonzero(lo < hi)
        parts = rows.select(self._aggregates.parts)[member]
        values = over_ranges(self._aggregates, len(closed), lo[member], hi[member], parts)
        start, end = line.time[closed - (self.n - 1)], line.time[closed] + 1
        vs, ve = {
            "window": (start, end),
            "point_end": (end, end + 1),
            "hold": (end, end + (end - start)),
        }[self.result]
        keys = rows.select(HASH, *self.keys)[first[line.group[closed]]]
        lives = pl.Series(VS, vs, dtype=pl.Int64), pl.Series(VE, ve, dtype=pl.Int64)
        return pl.DataFrame([*lives, *keys, *values]).select(self.nothing.columns)


def _cti(new: int, held: int | None) -> int:
    return new if held is None or new == FOREVER else min(new, held)
