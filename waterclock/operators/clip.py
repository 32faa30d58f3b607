"""Clip join: a left event ends where the next right event of its key starts, if that is before its own end.

Of the right side only starts count, those strictly behind the left start. So a right event is kept as a start, its key
and what the residual condition reads; a left event is kept until its end is known, which is once for each key in the
common use, a signal that holds until its next value.

    result may be emitted   clipped end <= R
    output CTI              min(L, R, starts of the left events that wait)
    state dropped           left: what was emitted; right: what starts at or before min(L, R)
"""

from __future__ import annotations

import numpy as np
import polars as pl

from waterclock.expr import to_polars
from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashed, hashes_of, together
from waterclock.operators.groups import both, earliest, identify, places
from waterclock.plan.join import Join
from waterclock.schema import HASH, INTEGERS, TYPES, VE, VS
from waterclock.state.table import ID, spread

LEFT = "left"
RIGHT = "right"
PAIRS = 2_000_000
"""So many pairs are looked at together under a residual condition."""


class ClipOperator(Operator):
    tables = (Spec(LEFT, mortal=True), Spec(RIGHT))

    def __init__(self, node: Join) -> None:
        super().__init__(node)
        self.node = node
        self._keys = [f"_k{index}" for index in range(len(node.left_keys))]
        read = set() if node.residual is None else node.residual.columns()
        self._left_read = [name for name in node.left.schema.names if name in read]
        self._right_read = [(source, name) for source, name in node.names if name in read]

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        node = self.node
        if port == 0:
            return {LEFT: hashed(rows.select(VS, VE, *node.left.schema.names).collect(), node.left_keys)}
        keys = [self._key(node.right.schema.type_of(key), key, name) for key, name in self._named(node.right_keys)]
        payload = [pl.col(source).alias(name) for source, name in self._right_read]
        starts = rows.select(VS, pl.col(VS).alias(VE), *keys, *payload)
        if self._keys:
            starts = starts.drop_nulls(self._keys)
        return {RIGHT: hashed(starts.collect(), self._keys)}

    def step(self, turn: Turn) -> Stepped:
        (_, old), (left, new) = turn.old, turn.new
        low = min(left, new)
        waiting, later = turn.state[LEFT], turn.state[RIGHT]
        came, starts = turn.arrived.get(LEFT), turn.arrived.get(RIGHT)
        passed = None if starts is None else starts.filter(pl.col(VS) <= new)
        touched = hashes_of(hashes_of(came, passed), waiting.due(old, new), later.due(old, new, VS))
        lefts = both(waiting.of(touched), came)
        rights = together(later.of(touched), passed)
        output, removed, held = self.nothing, None, came
        if lefts is not None:
            ends = self._ends(lefts, None if rights is None else rights.filter(pl.col(VS) <= new), old)
            final = ends <= new
            done = lefts.filter(final)
            removed = done.filter(pl.col(ID).is_not_null())
            held = lefts.filter(~final & lefts[ID].is_null().to_numpy()).drop(ID)
            output = done.with_columns(pl.Series(VE, ends[final], dtype=pl.Int64))
        return Stepped(
            output,
            earliest(low, waiting.least(removed), None if held is None else held[VS].min()),
            {} if held is None or not held.height else {LEFT: held},
            {} if removed is None or not removed.height else {LEFT: removed},
            {RIGHT: low},
            frozenset([RIGHT]),
        )

    def _named(self, keys: tuple[str, ...]) -> list[tuple[str, str]]:
        return list(zip(keys, self._keys, strict=True))

    @staticmethod
    def _key(kind: str, key: str, name: str) -> pl.Expr:
        return pl.col(key).cast(TYPES["bigint"] if kind in INTEGERS else TYPES[kind]).alias(name)

    def _ends(self, lefts: pl.DataFrame, rights: pl.DataFrame | None, old: int) -> np.ndarray:
        """Where the left events end, as far as the right starts say."""
        ends = lefts[VE].to_numpy()
        if rights is None or not rights.height:
            return ends
        schema = self.node.left.schema
        keys = [self._key(schema.type_of(key), key, name) for key, name in self._named(self.node.left_keys)]
        ids = identify(pl.concat([lefts.select(HASH, *keys), rights.select(HASH, *self._keys)]), self._keys)
        mine, theirs = ids[: lefts.height], ids[lefts.height :]
        times = rights[VS].to_numpy()
        at, found = places((mine, lefts[VS].to_numpy()), (theirs, times))
        order = np.argsort(found, kind="stable")
        found, times, theirs = found[order], times[order], theirs[order]
        first = np.searchsorted(found, at, side="right")
        if self.node.residual is not None:
            last = np.searchsorted(theirs, mine, side="right")
            first = self._first_match(lefts, rights[order], first, last, old)
        inside = np.minimum(first, times.size - 1)
        clipped = (first < times.size) & (theirs[inside] == mine)
        return np.where(clipped, np.minimum(ends, times[inside]), ends)

    def _first_match(
        self, lefts: pl.DataFrame, rights: pl.DataFrame, first: np.ndarray, last: np.ndarray, old: int
    ) -> np.ndarray:
        """The position of the first right start in ``first:last`` that satisfies the condition; the end if none does.

        Looks at few of each left event first, then at more, since the first ones mostly decide.
        """
        assert self.node.residual is not None
        condition = to_polars(self.node.residual, self.node.pair_schema).fill_null(False)
        ends, known = lefts[VE].to_numpy(), lefts[ID].is_not_null().to_numpy()
        times = rights[VS].to_numpy()
        found = np.full(first.size, times.size, dtype=np.int64)
        mine, theirs = lefts.select(VS, *self._left_read), rights.select(HASH, *(name for _, name in self._right_read))
        at = first.copy()
        active, width = np.flatnonzero(at < last), 4
        while active.size:
            rest: list[np.ndarray] = []
            size = max(1, PAIRS // width)
            for chunk in (active[start : start + size] for start in range(0, active.size, size)):
                upto = np.minimum(at[chunk] + width, last[chunk])
                lefts_of = np.repeat(chunk, upto - at[chunk])
                positions = spread(at[chunk], upto)
                # What a left event of the state met before did not clip it, or it would be gone.
                fresh = (times[positions] < ends[lefts_of]) & ~(known[lefts_of] & (times[positions] < old))
                lefts_of, positions = lefts_of[fresh], positions[fresh]
                pairs = mine[lefts_of].hstack(theirs[positions].get_columns())
                match = np.flatnonzero(pairs.with_columns(condition.alias("_match"))["_match"].to_numpy())
                found[lefts_of[match][::-1]] = positions[match][::-1]
                at[chunk] = upto
                open_still = (found[chunk] == times.size) & (upto < last[chunk])
                open_still &= times[np.minimum(upto, times.size - 1)] < ends[chunk]
                rest.append(chunk[open_still])
            active = np.concatenate(rest)
            width = min(width * 4, PAIRS)
        return found
