"""Aggregates over tumbling and hopping windows, membership by overlap (vs < window end and ve > window start).

Windows start and end only at pane borders, so an event inside one pane is folded into that pane's partial
result and forgotten. Only events that span panes are kept as rows. Both are read again when windows close.

    result may be emitted   window end <= c
    output CTI              window.output_cti(c)
    state dropped           what ends before the earliest open window starts
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from waterclock.expr import to_polars
from waterclock.hashing import hash_rows
from waterclock.operators.aggregates import AGGREGATES
from waterclock.plan.nodes import Aggregate, WindowAggregate
from waterclock.schema import HASH, TYPES, VE, VS, bounds
from waterclock.time import BEGINNING, FOREVER

PANES = "panes"
SPANS = "spans"
_PANE = "_vs"  # panes carry their start as _vs and their end as _ve, so that every run has the same time columns
_WINDOW = "_n"

Load = Callable[[str], Sequence[pl.DataFrame]]
"""Gives the saved frames of a state table, restricted to the hash range of this task."""


@dataclass(frozen=True)
class Stepped:
    output: pl.DataFrame
    added: dict[str, pl.DataFrame]
    """New rows per state table, sorted by (hash, start)."""
    cti: int
    low: int
    """State that ends at or before this is not needed any more."""


class WindowOperator:
    tables = (PANES, SPANS)

    def __init__(self, node: WindowAggregate) -> None:
        self.node = node
        self.window = node.window
        self.keys = list(node.keys)
        self._algebras = [AGGREGATES[aggregate.function] for _, aggregate in node.aggregates]
        self._parts = [[f"_{index}{part}" for part in algebra.parts] for index, algebra in enumerate(self._algebras)]

    # -- in front of the exchange ------------------------------------------------------------------------

    def prepare(self, frame: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        """Rows of the input as partial results and spanning rows, hashed and sorted for the exchange."""
        rows = frame.select(VS, VE, *self.keys, *(self._value(i, a) for i, (_, a) in enumerate(self.node.aggregates)))
        if self.node.input.points:
            return {PANES: self._sorted(self._accumulate(rows).collect())}
        collected = rows.collect()
        inside = self._pane_of(pl.col(VS)) == self._pane_of(pl.col(VE) - 1)
        panes = self._accumulate(collected.lazy().filter(inside)).collect()
        return {PANES: self._sorted(panes), SPANS: self._sorted(collected.filter(~inside))}

    def _value(self, index: int, aggregate: Aggregate) -> pl.Expr:
        if aggregate.arg is None:
            return pl.lit(1, dtype=pl.Int8).alias(f"_a{index}")
        kind = TYPES.get(aggregate.arg.type_in(self.node.input.schema), pl.Boolean())  # a bare null can be counted
        wide = pl.Int64() if kind.is_integer() and aggregate.function in ("sum", "avg") else kind
        wide = pl.Float64() if kind.is_float() and aggregate.function in ("sum", "avg") else wide
        return to_polars(aggregate.arg, self.node.input.schema).cast(wide).alias(f"_a{index}")

    def _pane_of(self, time: pl.Expr) -> pl.Expr:
        return time - (time - self.window.offset) % self.window.pane

    def _accumulate(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        window = self.window
        panes = rows.with_columns(self._pane_of(pl.col(VS)).alias(_PANE))
        folded = panes.group_by(*self.keys, _PANE).agg(*self._fold("accumulate"))
        return folded.with_columns((pl.col(_PANE) + window.pane).alias(VE))

    def _fold(self, how: str) -> list[pl.Expr]:
        folded: list[pl.Expr] = []
        for index, (algebra, parts) in enumerate(zip(self._algebras, self._parts, strict=True)):
            if how == "accumulate":
                exprs = algebra.accumulate(pl.col(f"_a{index}"))
            else:
                exprs = algebra.merge(*(pl.col(part) for part in parts))
            folded += [expr.alias(part) for expr, part in zip(exprs, parts, strict=True)]
        return folded

    def _sorted(self, frame: pl.DataFrame) -> pl.DataFrame:
        hashed = frame.with_columns(pl.Series(HASH, hash_rows(frame, self.keys), dtype=pl.UInt64))
        return hashed.sort(HASH, VS, VE, *self.keys)

    # -- behind the exchange -----------------------------------------------------------------------------

    def merge(self, table: str, frames: Sequence[pl.DataFrame], low: int) -> pl.DataFrame:
        """Several runs as one, without what is no longer needed."""
        joined = pl.concat(frames).lazy().filter(pl.col(VE) > low)
        if table == PANES:
            joined = joined.group_by(HASH, *self.keys, VS, VE).agg(*self._fold("merge"))
        return joined.sort(HASH, VS, VE, *self.keys).select(frames[0].columns).collect()

    def step(self, load: Load, arrived: dict[str, pl.DataFrame], old: int, new: int, top: int) -> Stepped:
        """Takes what arrived since CTI ``old`` and emits the windows that close up to CTI ``new``.

        ``top`` is the greatest finite time seen so far: it bounds the windows of open-ended events when the
        stream ends.
        """
        window = self.window
        for frame in arrived.values():
            assert not frame.height or bounds(frame, VE)[0] > old, "an event arrived behind the CTI"
        first = None if old == BEGINNING else window.last_closed(old) + 1
        if new == BEGINNING:
            last = None
        elif new == FOREVER:
            last = -((window.offset - top) // window.hop) - 1
        else:
            last = window.last_closed(new)
        low = BEGINNING if last is None else window.start(last + 1)
        if new == FOREVER:
            low = FOREVER
        closing = last is not None and (first is None or first <= last)
        output = self._close(load, arrived, first, last) if closing and last is not None else self._nothing
        kept = {table: frame.filter(pl.col(VE) > low) for table, frame in arrived.items() if frame.height}
        if new == FOREVER:
            kept = {}
        added = {table: frame for table, frame in kept.items() if frame.height}
        return Stepped(output, added, window.output_cti(new), low)

    @cached_property
    def _nothing(self) -> pl.DataFrame:
        return pl.DataFrame(schema={HASH: pl.UInt64(), **self.node.schema.frame_schema()})

    def _close(self, load: Load, arrived: dict[str, pl.DataFrame], first: int | None, last: int) -> pl.DataFrame:
        window = self.window
        end = window.start(last) + window.size
        begin = None if first is None else window.start(first)

        def wanted(table: str) -> pl.LazyFrame | None:
            frames = [*load(table), *([arrived[table]] if table in arrived else [])]
            frames = [frame for frame in frames if frame.height]
            if not frames:
                return None
            rows = pl.concat(frames).lazy().filter(pl.col(VS) < end)
            return rows if begin is None else rows.filter(pl.col(VE) > begin)

        parts: list[pl.LazyFrame] = []
        panes = wanted(PANES)
        if panes is not None:
            merged = panes.group_by(HASH, *self.keys, VS, VE).agg(*self._fold("merge"))
            single = window.size == window.hop  # then a pane is a window
            parts.append(self._in_windows(merged, first, last, single).drop(VS, VE))
        spans = wanted(SPANS)
        if spans is not None:
            placed = self._in_windows(spans, first, last, single=False)
            parts.append(placed.group_by(HASH, *self.keys, _WINDOW).agg(*self._fold("accumulate")))
        if not parts:
            return self._nothing
        columns = [HASH, *self.keys, _WINDOW, *(part for names in self._parts for part in names)]
        every = pl.concat([part.select(columns) for part in parts])
        groups = every.group_by(HASH, *self.keys, _WINDOW).agg(*self._fold("merge"))
        return self._results(groups).collect()

    def _in_windows(self, rows: pl.LazyFrame, first: int | None, last: int, single: bool) -> pl.LazyFrame:
        """Each row once for every window number in ``first..last`` that it overlaps."""
        window = self.window
        # n_min = floor((vs - o - w) / h) + 1 ; n_max = ceil((ve - o) / h) - 1, with an open end cut first.
        end = pl.min_horizontal(pl.col(VE), pl.lit(window.start(last + 1), dtype=pl.Int64))
        lowest = (pl.col(VS) - window.offset - window.size) // window.hop + 1
        highest = -((window.offset - end) // window.hop) - 1
        if first is not None:
            lowest = pl.max_horizontal(lowest, pl.lit(first, dtype=pl.Int64))
        highest = pl.min_horizontal(highest, pl.lit(last, dtype=pl.Int64))
        numbered = rows.with_columns(lowest.alias(_WINDOW), (highest + 1).alias("_to"))
        numbered = numbered.filter(pl.col(_WINDOW) < pl.col("_to"))
        if single:
            return numbered.drop("_to")
        return numbered.with_columns(pl.int_ranges(_WINDOW, "_to").alias(_WINDOW)).explode(_WINDOW).drop("_to")

    def _results(self, groups: pl.LazyFrame) -> pl.LazyFrame:
        window = self.window
        start = pl.col(_WINDOW) * window.hop + window.offset
        end = start + window.size
        vs, ve = {
            "window": (start, end),
            "point_end": (end, end + 1),
            "hold": (end, end + window.hop),
        }[window.result]
        values = [
            algebra.result(*(pl.col(part) for part in parts)).cast(TYPES[self.node.schema.type_of(name)]).alias(name)
            for (name, _), algebra, parts in zip(self.node.aggregates, self._algebras, self._parts, strict=True)
        ]
        result = groups.select(HASH, vs.alias(VS), ve.alias(VE), *self.keys, *values)
        return result.sort(HASH, VS, *self.keys)
