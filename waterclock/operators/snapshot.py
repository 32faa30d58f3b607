"""Aggregates over snapshots: a result for every stretch of time in which the same events of a group are alive.

A group's boundaries are all starts and ends of its events. Those of forgotten events matter only as the start of the
open snapshot, the last boundary at or before the CTI, which is remembered per group. Only groups are looked at that
got events or have a boundary between the CTIs.

    result may be emitted   snapshot end <= c
    output CTI              min(c, starts of open snapshots); c for results stamped at the end
    state dropped           events that end at or before c; the group when none is left
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from waterclock.operators.aggregates import Aggregates
from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashed, hashes_of, together
from waterclock.operators.ranges import Line, numbered, over_ranges, per_lifetime
from waterclock.plan.aggregate import SnapshotAggregate
from waterclock.plan.nodes import Node
from waterclock.schema import HASH, VE, VS, bounds
from waterclock.time import BEGINNING, FOREVER

ALIVE = "alive"
OPEN = "open"


@dataclass(frozen=True)
class Snapshots:
    """Those that became final, in order of group and time, and which rows are in them."""

    start: np.ndarray
    end: np.ndarray
    owner: np.ndarray
    """The position of a row of the snapshot's group."""
    member: np.ndarray
    """The positions of rows that are in some of the snapshots."""
    lo: np.ndarray
    hi: np.ndarray
    """For each member the range of snapshots it is in."""


class SnapshotsOperator(Operator):
    """What all operators over snapshots share: the state, and which snapshots become final."""

    tables = (Spec(ALIVE), Spec(OPEN, mortal=True))

    def __init__(self, node: Node, keys: Sequence[str], result: str = "window") -> None:
        super().__init__(node)
        self.keys = list(keys)
        self.result = result

    @abstractmethod
    def content(self, rows: pl.DataFrame, snapshots: Snapshots) -> pl.DataFrame:
        """The results of snapshots."""

    def step(self, turn: Turn) -> Stepped:
        (old,), (new,) = turn.old, turn.new
        arrived = turn.arrived.get(ALIVE)
        alive, opened = turn.state[ALIVE], turn.state[OPEN]
        lows = {ALIVE: new, OPEN: new}
        if new == BEGINNING:
            return Stepped(self.nothing, new, {} if arrived is None else {ALIVE: arrived})
        due = [alive.due(old, new, VE), alive.due(old, new, VS)]
        touched = hashes_of(arrived, *due)
        rows = together(alive.of(touched), arrived) if len(touched) else None
        if rows is None:
            return Stepped(self.nothing, self._cti(new, opened.least()), lows=lows)
        gone = opened.of(touched)
        held = opened.least(gone) if self.result == "window" else None
        snapshots, still_open = self._snapshots(rows, gone, new)
        added: dict[str, pl.DataFrame] = {}
        if arrived is not None and (kept := arrived.filter(pl.col(VE) > new)).height and new < FOREVER:
            added[ALIVE] = kept
        if still_open.height:
            added[OPEN] = still_open
            least = bounds(still_open, VS)[0]
            held = least if held is None else min(held, least)
        removed = {} if gone is None else {OPEN: gone}
        return Stepped(self.content(rows, snapshots), self._cti(new, held), added, removed, lows)

    def _cti(self, new: int, held: int | None) -> int:
        return new if held is None or self.result != "window" else min(new, held)

    def _snapshots(self, rows: pl.DataFrame, opened: pl.DataFrame | None, cti: int) -> tuple[Snapshots, pl.DataFrame]:
        """The snapshots that end up to the CTI, and the open ones as rows of state."""
        head = rows.select(HASH, *self.keys)
        vs, ve = rows[VS].to_numpy(), rows[VE].to_numpy()
        if opened is None:
            group, first = numbered(head, self.keys)
        else:
            group, first = numbered(pl.concat([head, opened.select(HASH, *self.keys)]), self.keys)
            begun = np.full(len(first), BEGINNING, dtype=np.int64)
            begun[group[len(vs) :]] = opened[VS].to_numpy()
            group = group[: len(vs)]
            vs = np.maximum(vs, begun[group])
        line = Line(np.concatenate([group, group]), np.concatenate([vs, ve]))
        lo, hi = line.at(group, vs), line.at(group, ve)
        n = len(line) - 1  # the last point starts nothing
        depth = np.cumsum(np.bincount(lo, minlength=n + 1) - np.bincount(hi, minlength=n + 1))[:n]
        start, end = line.time[:-1], line.time[1:]
        owner = first[line.group[:-1]]
        closed = (depth > 0) & (end <= cti)
        if self.result != "window":
            closed &= end < FOREVER
        # Only closed snapshots are numbered: a range of all is still a range of those.
        number = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(closed, out=number[1:])
        lo, hi = number[lo], number[hi]
        member = np.flatnonzero(lo < hi)
        snapshots = Snapshots(start[closed], end[closed], owner[closed], member, lo[member], hi[member])
        still = np.flatnonzero((depth > 0) & (start <= cti) & (end > cti))
        greatest = np.full(len(first), BEGINNING, dtype=np.int64)
        np.maximum.at(greatest, group, ve)
        open_rows = head[owner[still]].with_columns(
            pl.Series(VS, start[still], dtype=pl.Int64),
            pl.Series(VE, greatest[line.group[still]], dtype=pl.Int64),
        )
        return snapshots, open_rows

    def lifetimes(self, snapshots: Snapshots) -> tuple[pl.Series, pl.Series]:
        start, end = snapshots.start, snapshots.end
        vs, ve = {
            "window": (start, end),
            "point_end": (end, end + 1),
            "hold": (end, end + (end - start)),
        }[self.result]
        return pl.Series(VS, vs, dtype=pl.Int64), pl.Series(VE, ve, dtype=pl.Int64)


class SnapshotOperator(SnapshotsOperator):
    """Rows are partial results of the events of a key with the same lifetime."""

    def __init__(self, node: SnapshotAggregate) -> None:
        super().__init__(node, node.keys, node.result)
        self._aggregates = Aggregates(node.aggregates, node.input.schema)

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        taken = rows.select(VS, VE, *self.keys, *self._aggregates.values()).collect()
        return {ALIVE: per_lifetime(self._aggregates, hashed(taken, self.keys), self.keys)}

    def fold(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        if table != ALIVE:
            return rows
        return self._aggregates.merged(rows, [HASH, *self.keys, VS, VE]).select(rows.columns)

    def content(self, rows: pl.DataFrame, snapshots: Snapshots) -> pl.DataFrame:
        n = len(snapshots.start)
        if n == 0:
            return self.nothing
        members = rows.select(self._aggregates.parts)[snapshots.member]
        values = over_ranges(self._aggregates, n, snapshots.lo, snapshots.hi, members)
        keys = rows.select(HASH, *self.keys)[snapshots.owner]
        return pl.DataFrame([*self.lifetimes(snapshots), *keys, *values]).select(self.nothing.columns)
