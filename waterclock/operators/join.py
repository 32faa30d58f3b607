"""Inner, left outer, full outer and left anti joins.

Pairs are final at once. What no right event covers of a left event is kept as gaps: pieces [a, b) that are not
covered by what is known. A new right event cuts the gaps it meets; a gap is a result when no right event can
start inside it any more. So nothing is computed twice: an epoch looks at new events, what they meet, and gaps that end.
The gaps of right events (full outer) are the same with the sides exchanged.

    result may be emitted   pairs: at once; gaps: b <= R (those of right events: b <= L)
    output CTI              min(L, R, starts of gaps)
    state dropped           left events: ve <= R; right events: ve <= L; gaps: emitted or cut

A side is kept for the other side's new events alone, hence these bounds, tighter than where gaps are computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashes_of, together
from waterclock.operators.coverage import Cover, folded, left_over
from waterclock.operators.pairs import Pairing
from waterclock.plan.join import Join
from waterclock.schema import VE, VS, bounds
from waterclock.state import Table

LEFT = "left"
RIGHT = "right"
LEFT_GAPS = "left_gaps"
RIGHT_GAPS = "right_gaps"


@dataclass(frozen=True)
class _Gaps:
    """What an epoch does to the gaps of one side."""

    final: pl.DataFrame | None
    added: pl.DataFrame | None
    removed: pl.DataFrame | None
    least: int | None


class JoinOperator(Operator):
    def __init__(self, node: Join) -> None:
        super().__init__(node)
        self.kind = node.kind
        self.pairing = Pairing(node, lean=node.kind == "anti")
        self._covers = node.kind == "anti" and node.residual is None
        tables = [Spec(LEFT), Spec(RIGHT, shared=self.pairing.shared)]
        if node.kind != "inner":
            tables.append(Spec(LEFT_GAPS, mortal=True))
        if node.kind == "full":
            tables.append(Spec(RIGHT_GAPS, mortal=True))
        self.tables = tuple(tables)

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        if port == 1:
            return {RIGHT: self.pairing.rights(rows, lonely=self.kind == "full")}
        return {LEFT: self.pairing.lefts(rows, lonely=self.kind != "inner")}

    def fold(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        return folded(rows, self.pairing.right_keys) if self._covers and table == RIGHT else rows

    def step(self, turn: Turn) -> Stepped:
        left, right = turn.new
        lefts, rights = turn.arrived.get(LEFT), turn.arrived.get(RIGHT)
        for frame, old in zip((lefts, rights), turn.old, strict=True):
            assert frame is None or bounds(frame, VS)[0] >= old, "an event arrived behind the CTI"
        left_cover, right_cover = Cover(), Cover()
        results = self._meet(turn, lefts, rights, left_cover, right_cover)
        added: dict[str, pl.DataFrame | None] = {}
        removed: dict[str, pl.DataFrame | None] = {}
        cti = min(left, right)
        for table, arrived, cover, others, port in (
            (LEFT_GAPS, lefts, left_cover, rights, 1),
            (RIGHT_GAPS, rights, right_cover, lefts, 0),
        ):
            if table not in turn.state:
                continue
            gaps = self._gaps(turn.state[table], arrived, cover, others, (turn.old[port], turn.new[port]), port == 1)
            added[table], removed[table] = gaps.added, gaps.removed
            cti = cti if gaps.least is None else min(cti, gaps.least)
            if gaps.final is not None and gaps.final.height:
                results.append(self._alone(gaps.final))
        return Stepped(
            pl.concat(results) if results else self.nothing,
            cti,
            {table: frame for table, frame in added.items() if frame is not None and frame.height},
            {table: frame for table, frame in removed.items() if frame is not None and frame.height},
            {table: left if table in (RIGHT, RIGHT_GAPS) else right for table in turn.state},
            frozenset([RIGHT] if self.kind == "anti" else [LEFT, RIGHT]),
        )

    # -- pairs -------------------------------------------------------------------------------------------

    def _meet(
        self, turn: Turn, lefts: pl.DataFrame | None, rights: pl.DataFrame | None, left_cover: Cover, right_cover: Cover
    ) -> list[pl.DataFrame]:
        """New events with those they meet: the pairs, and what they cover of each other."""
        if self.kind == "anti":
            state = turn.state[RIGHT]
            known = None if lefts is None else state.of(hashes_of(lefts)) if self.pairing.keyed else state.all()
            every = together(rights, known)
            if every is not None and self._covers:
                every = folded(every, self.pairing.right_keys)
            self._pair(lefts, every, left_cover, None)
            return []
        found = self._pair(lefts, rights, left_cover, right_cover)
        for known in self._met(turn.state[RIGHT], lefts):
            found += self._pair(lefts, known, left_cover, None)
        for known in self._met(turn.state[LEFT], rights):
            found += self._pair(known, rights, None, right_cover)
        return found

    def _met(self, table: Table, rows: pl.DataFrame | None) -> list[pl.DataFrame]:
        """Rows of the state that new ones may meet. Dead ones do no harm: new rows start behind their end."""
        if rows is None:
            return []
        if self.pairing.keyed:
            return table.near(hashes_of(rows))
        known = table.all()
        return [] if known is None else [known]

    def _pair(
        self, left: pl.DataFrame | None, right: pl.DataFrame | None, left_cover: Cover | None, right_cover: Cover | None
    ) -> list[pl.DataFrame]:
        found: list[pl.DataFrame] = []
        if left is None or right is None:
            return found
        vs, ve = left[VS].to_numpy(), left[VE].to_numpy()
        other_vs, other_ve = right[VS].to_numpy(), right[VE].to_numpy()
        for i, j in self.pairing.matches(left, right):
            start, end = np.maximum(vs[i], other_vs[j]), np.minimum(ve[i], other_ve[j])
            if self.kind != "anti":
                times = (pl.Series(VS, start, dtype=pl.Int64), pl.Series(VE, end, dtype=pl.Int64))
                mine, theirs = left.select(self.pairing.left_columns)[i], right.select(self.pairing.right_payload)[j]
                found.append(pl.DataFrame([*times, *mine, *theirs]).select(self.nothing.columns))
            if self.kind != "inner":
                if left_cover is not None:
                    left_cover.add(i, start, end)
                if right_cover is not None and self.kind == "full":
                    right_cover.add(j, start, end)
        return found

    # -- gaps --------------------------------------------------------------------------------------------

    def _gaps(
        self, table: Table, arrived: pl.DataFrame | None, cover: Cover, others: pl.DataFrame | None,
        times: tuple[int, int], of_left: bool,
    ) -> _Gaps:  # fmt: skip
        """New gaps, those of the state that new events of the other side cut, and those that are final."""
        old, new = times
        pieces: list[pl.DataFrame] = [] if arrived is None else [_left_over(arrived, cover)]
        if others is not None and not self.pairing.keyed:
            known = table.all()
        else:
            known = table.of(hashes_of(others, table.due(old, new)))
        if known is None:
            return _split(pieces, new, None, table.least())
        met = Cover()
        vs, ve = known[VS].to_numpy(), known[VE].to_numpy()
        if others is not None:
            cutting = folded(others, self.pairing.right_keys) if self._covers else others
            starts, ends = cutting[VS].to_numpy(), cutting[VE].to_numpy()
            for i, j in self.pairing.matches(known, cutting) if of_left else self.pairing.matches(cutting, known):
                gap, cut = (i, j) if of_left else (j, i)
                met.add(gap, np.maximum(vs[gap], starts[cut]), np.minimum(ve[gap], ends[cut]))
        hit = np.zeros(known.height, dtype=bool)
        hit[met.pieces()[0]] = True
        if hit.any():
            pieces.append(_left_over(known, met, hit))
        over = ve <= new
        if (over & ~hit).any():
            pieces.append(known.filter(over & ~hit))
        gone = known.filter(hit | over)
        # Those that are over go by time.
        return _split(pieces, new, gone.filter(pl.col(VE) > new), table.least(gone))

    def _alone(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of one side as results, null where the other side would be."""
        missing = [
            pl.lit(None, dtype=kind).alias(name)
            for name, kind in self.nothing.schema.items()
            if name not in rows.columns
        ]
        return rows.with_columns(missing).select(self.nothing.columns)


def _left_over(rows: pl.DataFrame, cover: Cover, which: np.ndarray | None = None) -> pl.DataFrame:
    """What is not covered of rows, as rows; of some of them alone where ``which`` says so."""
    owner, start, end = left_over(rows[VS].to_numpy(), rows[VE].to_numpy(), cover.pieces())
    if which is not None:
        owner, start, end = (array[which[owner]] for array in (owner, start, end))
    return rows[owner].with_columns(pl.Series(VS, start, dtype=pl.Int64), pl.Series(VE, end, dtype=pl.Int64))


def _split(pieces: list[pl.DataFrame], new: int, removed: pl.DataFrame | None, least: int | None) -> _Gaps:
    """Gaps that are final at the CTI, and those to keep; pieces of the state that are final are over anyway."""
    if not pieces:
        return _Gaps(None, None, removed, least)
    every = pl.concat(pieces, how="diagonal")
    kept = every.filter(pl.col(VE) > new)
    if kept.height:
        first = bounds(kept, VS)[0]
        least = first if least is None else min(least, first)
    return _Gaps(every.filter(pl.col(VE) <= new), kept, removed, least)
