"""Chop where events may never end: those are cut as far as time has come.

result may be emitted   at once for events that end; piece start <= c for those that do not
output CTI              c
state dropped           none before the stream ends: such an event goes on for ever
"""

from __future__ import annotations

import polars as pl

from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashed
from waterclock.operators.lifetime import chopped
from waterclock.plan.lifetime import Chop
from waterclock.schema import VE, VS
from waterclock.time import BEGINNING, FOREVER, floor_to

EVENTS = "events"


class ChopOperator(Operator):
    tables = (Spec(EVENTS),)

    def __init__(self, node: Chop) -> None:
        super().__init__(node)
        self.node = node

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        names = self.schema.names
        return {EVENTS: hashed(rows.select(VS, VE, *names).collect(), names)}

    def step(self, turn: Turn) -> Stepped:
        (old,), (new,) = turn.old, turn.new
        node, table, came = self.node, turn.state[EVENTS], turn.arrived.get(EVENTS)
        upto = turn.top if new == FOREVER else new
        pieces: list[pl.DataFrame] = []
        added: dict[str, pl.DataFrame] = {}
        if came is not None:
            pieces.append(chopped(node, came.lazy().filter(pl.col(VE) < FOREVER), pl.col(VE)).collect())
            endless = came.filter(pl.col(VE) == FOREVER)
            pieces.append(self._pieces(endless, BEGINNING, upto))
            if endless.height:
                added[EVENTS] = endless
        if upto > old or new == FOREVER:
            on_grid = new == FOREVER or old == BEGINNING or floor_to(upto, node.period, node.offset) > old
            kept = table.all() if on_grid else table.of(table.due(old, upto, VS))
            if kept is not None:
                pieces.append(self._pieces(kept, old, upto))
            if new == FOREVER:
                rest = floor_to(upto, node.period, node.offset) + node.period
                for frame in (kept, added.pop(EVENTS, None)):
                    if frame is not None:
                        pieces.append(frame.with_columns(pl.lit(rest, dtype=pl.Int64).alias(VS)))
        columns = self.nothing.columns
        output = pl.concat([self.nothing, *(frame.select(columns) for frame in pieces)])
        return Stepped(output, new, added, lows={EVENTS: FOREVER if new == FOREVER else BEGINNING})

    def _pieces(self, rows: pl.DataFrame, after: int, upto: int) -> pl.DataFrame:
        """The pieces of events without end that start in ``(after, upto]``."""
        period, offset, vs = self.node.period, self.node.offset, pl.col(VS)
        if upto == BEGINNING:
            return rows.clear()
        grid = vs - (vs - offset) % period
        first = pl.lit(0, dtype=pl.Int64)
        if after > BEGINNING:
            first = pl.when(vs > after).then(first).otherwise((after - grid) // period + 1)
        started = rows.lazy().filter(vs <= upto).with_columns(grid.alias("_grid"), first.alias("_n"))
        started = started.with_columns(((upto - pl.col("_grid")) // period + 1).alias("_to"))
        pieces = started.filter(pl.col("_n") < pl.col("_to")).with_columns(pl.int_ranges("_n", "_to").alias("_n"))
        start = pl.col("_grid") + pl.col("_n") * period
        cut = pieces.explode("_n").with_columns(pl.max_horizontal(vs, start).alias(VS), (start + period).alias(VE))
        return cut.collect()
