"""Left semi join: the pieces of a left event that right events cover, each maximal.

Before R everything about the cover is known. So a left event is in one of two tables: covered at R, with the start of
its open piece, or not, and only what lies behind R is looked at again. An open piece may be continued by a right event
that starts exactly where it ends.

    result may be emitted   piece [a, b): b < R, or b = ve <= R
    output CTI              min(L, R, starts of open pieces)
    state dropped           left events: ve <= R; right events: ve <= min(L, R)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashes_of, together
from waterclock.operators.coverage import Cover, Pieces, folded
from waterclock.operators.pairs import Pairing
from waterclock.plan.join import Join
from waterclock.schema import HASH, VE, VS, bounds
from waterclock.time import BEGINNING, FOREVER

LEFT = "left"
"""New left events, and those that are not covered at R."""
RIGHT = "right"
OPEN = "open"
"""Left events that are covered at R: from the start of their piece to its end, as far as is known."""
_END = "_end"
"""The end of the left event."""


@dataclass(frozen=True)
class _Rows:
    """Left events that an epoch looks at: new ones, then uncovered ones, then covered ones."""

    frame: pl.DataFrame
    """From where the cover is not known yet to the end of the event."""
    known: int
    """How many are new."""
    opened: int
    """Where the covered ones begin."""
    idle: pl.DataFrame | None
    open: pl.DataFrame | None


class SemiOperator(Operator):
    def __init__(self, node: Join) -> None:
        super().__init__(node)
        self.pairing = Pairing(node, lean=True)
        self._covers = node.residual is None
        self.tables = (Spec(LEFT, mortal=True), Spec(RIGHT, shared=self.pairing.shared), Spec(OPEN, mortal=True))

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        return {RIGHT: self.pairing.rights(rows)} if port else {LEFT: self.pairing.lefts(rows)}

    def fold(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        return folded(rows, self.pairing.right_keys) if self._covers and table == RIGHT else rows

    def step(self, turn: Turn) -> Stepped:
        lefts, rights = turn.arrived.get(LEFT), turn.arrived.get(RIGHT)
        for frame, time in zip((lefts, rights), turn.old, strict=True):
            assert frame is None or bounds(frame, VS)[0] >= time, "an event arrived behind the CTI"
        new, low = turn.new[1], min(turn.new)
        added: dict[str, pl.DataFrame] = {}
        removed: dict[str, pl.DataFrame] = {}
        rows = self._touched(turn, lefts, rights)
        output, held = self.nothing, None
        if rows is None:
            held = turn.state[OPEN].least()
        else:
            output, held = self._settle(turn, rows, self._pieces(turn, rows, rights), added, removed)
        return Stepped(
            output,
            low if held is None else min(low, held),
            {table: frame for table, frame in added.items() if frame.height},
            {table: frame for table, frame in removed.items() if frame.height},
            {LEFT: new, RIGHT: low, OPEN: new if new == FOREVER else _before(new)},
            frozenset([RIGHT]),
        )

    def _touched(self, turn: Turn, lefts: pl.DataFrame | None, rights: pl.DataFrame | None) -> _Rows | None:
        """Left events that are new, that met new right events, or whose cover begins or ends between the CTIs."""
        (_, old), (_, new) = turn.old, turn.new
        idle, opened = turn.state[LEFT], turn.state[OPEN]
        starting = turn.state[RIGHT].due(_before(old), _before(new), VS)
        waiting = idle.due(_before(old), _before(new), VS)
        ending = opened.due(_before(old), new, VE)
        if self.pairing.keyed:
            uncovered = idle.of(hashes_of(rights, starting, waiting))
            covered = opened.of(hashes_of(rights, ending))
        else:
            uncovered = idle.all() if rights is not None or starting.size else idle.of(waiting)
            covered = opened.all() if rights is not None else opened.of(ending)
        columns = [HASH, VS, VE, *self.pairing.left_columns]
        frames: list[pl.DataFrame] = []
        if lefts is not None:
            frames.append(lefts.select(columns))
        if uncovered is not None:
            frames.append(uncovered.select(columns).with_columns(pl.col(VS).clip(lower_bound=old)))
        if covered is not None:
            behind = covered.with_columns(pl.lit(old, dtype=pl.Int64).alias(VS), pl.col(_END).alias(VE))
            frames.append(behind.select(columns))
        if not frames:
            return None
        fresh = 0 if lefts is None else lefts.height
        begin = fresh + (0 if uncovered is None else uncovered.height)
        return _Rows(pl.concat(frames), fresh, begin, uncovered, covered)

    def _pieces(self, turn: Turn, rows: _Rows, rights: pl.DataFrame | None) -> Pieces:
        """The covered pieces as far as is known, open ones from their start."""
        table = turn.state[RIGHT]
        every = together(table.of(hashes_of(rows.frame)) if self.pairing.keyed else table.all(), rights)
        if every is not None and self._covers:
            every = folded(every, self.pairing.right_keys)
        cover = Cover()
        if rows.open is not None:
            start = rows.open[VS].to_numpy()
            cover.add(np.arange(start.size) + rows.opened, start, np.full(start.size, turn.old[1], dtype=np.int64))
        if every is not None:
            vs, ve = rows.frame[VS].to_numpy(), rows.frame[VE].to_numpy()
            other_vs, other_ve = every[VS].to_numpy(), every[VE].to_numpy()
            for i, j in self.pairing.matches(rows.frame, every):
                cover.add(i, np.maximum(vs[i], other_vs[j]), np.minimum(ve[i], other_ve[j]))
        return cover.pieces()

    def _settle(
        self, turn: Turn, rows: _Rows, pieces: Pieces, added: dict[str, pl.DataFrame], removed: dict[str, pl.DataFrame]
    ) -> tuple[pl.DataFrame, int | None]:
        """The final pieces and the least start of an open one; left events change their table."""
        new = turn.new[1]
        owner, start, end = pieces
        size, ve = rows.frame.height, rows.frame[VE].to_numpy()
        final = (end < new) | ((end == ve[owner]) & (end <= new))
        output = _as(rows.frame, owner[final], start[final], end[final])
        held = ~final & (start < new)
        covered = np.zeros(size, dtype=bool)
        covered[owner[held]] = True
        since, until = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        since[owner[held]], until[owner[held]] = start[held], end[held]
        changed = np.ones(size, dtype=bool)
        changed[rows.known : rows.opened] = covered[rows.known : rows.opened]
        least = None
        if rows.idle is not None:
            removed[LEFT] = rows.idle.filter(covered[rows.known : rows.opened])
        if rows.open is None:
            least = turn.state[OPEN].least()
        else:
            same = (since[rows.opened :] == rows.open[VS].to_numpy()) & (
                until[rows.opened :] == rows.open[VE].to_numpy()
            )
            changed[rows.opened :] = ~(covered[rows.opened :] & same)
            gone = rows.open.filter(changed[rows.opened :])
            least = turn.state[OPEN].least(gone)
            removed[OPEN] = gone.filter(pl.col(VE) >= new) if new < FOREVER else gone.clear()
        opening = np.flatnonzero(changed & covered)
        added[OPEN] = _as(rows.frame, opening, since[opening], until[opening]).with_columns(
            pl.Series(_END, ve[opening], dtype=pl.Int64)
        )
        closing = np.flatnonzero(changed & ~covered & (ve > new))
        begin = rows.frame[VS].to_numpy()[closing]
        # One that was covered and is no longer has all before the CTI behind it.
        begin = np.where(closing < rows.opened, begin, _before(new))
        added[LEFT] = _as(rows.frame, closing, begin, ve[closing])
        if opening.size:
            first = int(since[opening].min())
            least = first if least is None else min(least, first)
        return output, least


def _before(time: int) -> int:
    return max(BEGINNING, time - 1)


def _as(frame: pl.DataFrame, rows: np.ndarray, start: np.ndarray, end: np.ndarray) -> pl.DataFrame:
    """Some rows with other lifetimes."""
    return frame[rows].with_columns(pl.Series(VS, start, dtype=pl.Int64), pl.Series(VE, end, dtype=pl.Int64))
