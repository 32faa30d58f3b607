"""As-of join: each left event with the last right events of its key that started at or before its start.

Only starts count. A right event is kept while it is the last of its key that started by the time of both sides, or
starts later; a left event waits until the right side's time is behind its start.

    result may be emitted   left start < R (another right event may still start at R)
    output CTI              min(L, R): what waits starts at or after R
    state dropped           left: what was emitted; right: what another one at or before min(L, R) follows, and what
                            the tolerance excludes from then on
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashed, hashes_of, together
from waterclock.operators.groups import both, identify, places
from waterclock.plan.join import AsOf
from waterclock.schema import HASH, INTEGERS, TYPES, VE, VS
from waterclock.state.table import ID, spread
from waterclock.time import BEGINNING, FOREVER

LEFT = "left"
RIGHT = "right"
PAIRS = 2_000_000
"""So many pairs are made together."""
_END = "_end"


class AsOfOperator(Operator):
    tables = (Spec(LEFT), Spec(RIGHT, mortal=True))

    def __init__(self, node: AsOf) -> None:
        super().__init__(node)
        self.node = node
        self._keys = [f"_k{index}" for index in range(len(node.left_keys))]
        self._names = [name for _, name in node.names]

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        """Left rows go by their start, so that is their end in the table; right rows by when the tolerance is over."""
        node = self.node
        if port == 0:
            lefts = rows.select(VS, pl.col(VS).alias(VE), pl.col(VE).alias(_END), *node.left.schema.names)
            return {LEFT: hashed(lefts.collect(), node.left_keys)}
        over = pl.lit(FOREVER, dtype=pl.Int64) if node.tolerance is None else pl.col(VS) + (node.tolerance + 1)
        types = [node.right.schema.type_of(key) for key in node.right_keys]
        keys = self._typed(node.right_keys, types)
        payload = [pl.col(source).alias(name) for source, name in node.names]
        rights = rows.select(VS, over.alias(VE), *keys, *payload)
        if self._keys:
            rights = rights.drop_nulls(self._keys)
        return {RIGHT: hashed(rights.collect(), self._keys)}

    def step(self, turn: Turn) -> Stepped:
        (old_left, old), (left, new) = turn.old, turn.new
        passed, low = min(old_left, old), min(left, new)
        came, starts = turn.arrived.get(LEFT), turn.arrived.get(RIGHT)
        before, behind = max(old, BEGINNING + 1) - 1, max(new, BEGINNING + 1) - 1  # lefts up to these are settled
        waiting = turn.state[LEFT].of(turn.state[LEFT].due(before, behind, VS))
        lefts = together(*(None if f is None else f.filter(pl.col(VS) < new) for f in (waiting, came)))
        late = turn.state[RIGHT].due(passed, low, VS)
        rights = both(turn.state[RIGHT].of(hashes_of(hashes_of(lefts, starts), late)), starts)
        output, removed, added = self.nothing, None, None
        if lefts is not None:
            output = pl.concat(list(self._joined(lefts, rights)))
        if rights is not None:
            needed = self._needed(rights, low)
            known = rights[ID].is_not_null()
            removed = rights.filter(~needed & known)
            added = rights.filter(needed & ~known).drop(ID)
        held = None if came is None else came.filter(pl.col(VS) >= new)
        new_rows = {LEFT: held, RIGHT: added}
        return Stepped(
            output,
            low,
            {name: frame for name, frame in new_rows.items() if frame is not None and frame.height},
            {} if removed is None or not removed.height else {RIGHT: removed},
            {LEFT: behind, RIGHT: low},
        )

    def _typed(self, keys: tuple[str, ...], types: list[str]) -> list[pl.Expr]:
        return [
            pl.col(key).cast(TYPES["bigint"] if kind in INTEGERS else TYPES[kind]).alias(name)
            for key, kind, name in zip(keys, types, self._keys, strict=True)
        ]

    def _needed(self, rights: pl.DataFrame, low: int) -> pl.Series:
        """The rights that a left event at or after ``low`` can meet: the last that started by then, and later ones."""
        ids = identify(rights, self._keys)
        times = rights[VS].to_numpy()
        by_then = np.where(times <= low, times, BEGINNING)
        last = np.full(int(ids.max()) + 1, BEGINNING)
        np.maximum.at(last, ids, by_then)
        return pl.Series((times >= last[ids]) & (rights[VE].to_numpy() > low))

    def _joined(self, lefts: pl.DataFrame, rights: pl.DataFrame | None) -> Iterator[pl.DataFrame]:
        """The pairs, in portions."""
        order = first = last = np.zeros(lefts.height, dtype=np.int64)
        if rights is not None:
            order, first, last = self._matches(lefts, rights)
        alone = self.node.kind == "left"
        rows = lefts.select(VS, pl.col(_END).alias(VE), *self.node.left.schema.names)
        count = last - first
        if alone or rights is None:
            unmatched = rows.filter(count == 0) if alone else rows.clear()
            types = self.node.schema.polars()
            yield unmatched.with_columns(pl.lit(None, dtype=types[name]).alias(name) for name in self._names)
        if rights is None:
            return
        payload = rights.select(self._names)[order]
        total = np.cumsum(count)
        cuts = np.searchsorted(total, np.arange(0, int(total[-1]) + PAIRS, PAIRS), side="right")
        for start, end in zip([0, *cuts[1:-1]], [*cuts[1:-1], lefts.height], strict=True):
            some = np.repeat(np.arange(start, end), count[start:end])
            positions = spread(first[start:end], last[start:end])
            yield rows[some].hstack(payload[positions].get_columns())

    def _matches(self, lefts: pl.DataFrame, rights: pl.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rights in order of key and start, and for each left the range of them that it meets."""
        node = self.node
        types = [node.left.schema.type_of(key) for key in node.left_keys]
        named = [lefts.select(HASH, *self._typed(node.left_keys, types)), rights.select(HASH, *self._keys)]
        ids = identify(pl.concat(named), self._keys)
        mine, theirs = ids[: lefts.height], ids[lefts.height :]
        starts, times = lefts[VS].to_numpy(), rights[VS].to_numpy()
        at, found = places((mine, starts), (theirs, times))
        order = np.argsort(found, kind="stable")
        found, theirs, times = found[order], theirs[order], times[order]
        last = np.searchsorted(found, at, side="right")
        nearest = np.maximum(last - 1, 0)
        met = (last > 0) & (theirs[nearest] == mine)
        if node.tolerance is not None:
            met &= starts - times[nearest] <= node.tolerance
        first = np.searchsorted(found, found[nearest], side="left")
        return order, np.where(met, first, 0), np.where(met, last, 0)
