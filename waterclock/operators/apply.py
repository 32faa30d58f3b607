"""A user's operator: called per key and step of time with the events that start in it.

result may be emitted   step end <= c
output CTI              the start of the first step that has not ended
state dropped           ``timeout`` behind the last step of its key, rounded up to whole steps
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import polars as pl

from waterclock.errors import UserError
from waterclock.operators.base import together
from waterclock.operators.failures import Failures, Given, leave_out
from waterclock.operators.keyed import Changes, Group, KeyedOperator, due
from waterclock.plan.user import Apply
from waterclock.schema import HASH, VE, VS
from waterclock.time import FOREVER

_PLACE = "_place"
"""Of a row in its state: frames have an order."""
_KEPT = "_s_"
"""Before the names of the state's columns: they may be those of the keys."""


class ApplyOperator(KeyedOperator):
    def __init__(self, node: Apply) -> None:
        super().__init__(node)
        self._operator = node.operator
        self._steps = node.steps
        self._columns = node.input.schema.names
        self._on_error = node.on_error

    def unit_end(self) -> pl.Expr:
        every, offset = self._operator.every, self._operator.offset
        return pl.col(VS) - (pl.col(VS) - offset) % every + every

    def output_cti(self, new: int, least: int | None) -> int:
        return self._steps.output_cti(new)

    def advance(self, groups: Iterator[Group], new: int) -> Changes:
        found: list[pl.DataFrame] = []
        kept: list[pl.DataFrame] = []
        failures: Failures = []
        for group in groups:
            state = self._advance(group, new, found, failures)
            if state is not None:
                kept.append(state)
        return Changes(pl.concat(found) if found else None, together(*kept), failures)

    def _advance(self, group: Group, new: int, found: list[pl.DataFrame], failures: Failures) -> pl.DataFrame | None:
        """The rows of a key's state if it has some; results are added to ``found``."""
        operator = self._operator
        key = [
            pl.lit(value, self.schema.polars()[name]).alias(name)
            for name, value in zip(self.keys, group.key, strict=True)
        ]
        state, until, since = operator.no_state(), FOREVER, 0
        if group.state is not None:
            since, until = int(group.state[VS][0]), int(group.state[VE][0])
            state = group.state.sort(_PLACE).select(pl.col(_KEPT + name).alias(name) for name in state.columns)
        starts = group.events[VS].to_numpy()
        cells = starts - (starts - operator.offset) % operator.every
        borders = [*np.flatnonzero(np.diff(cells, prepend=cells[:1] - 1)).tolist(), cells.size]
        for at, behind in pairwise(borders):
            start, events = int(cells[at]), group.events.slice(at, behind - at)
            before = operator.no_state() if start >= until else state
            try:
                output, state = operator.run(start, events, before)
            except UserError as error:
                leave_out(self._on_error, error, self._told(events), failures)
                continue  # as if there had been nothing
            since, until = start, due(start + operator.every, operator.keeps)
            if output.height:
                found.append(output.with_columns(key).select(VS, VE, *self.schema.names))
        if not state.height or until <= new:
            return None
        life = pl.lit(since, pl.Int64()).alias(VS), pl.lit(until, pl.Int64()).alias(VE)
        named = state.rename(lambda name: _KEPT + name).with_row_index(_PLACE)
        return named.with_columns(pl.lit(group.hash, pl.UInt64()).alias(HASH), *life, *key)

    def _told(self, events: pl.DataFrame) -> list[Given]:
        """The events of a step, which fail together."""
        rows = events.select(VS, VE, *self._columns).iter_rows(named=True)
        return [(row.pop(VS), row.pop(VE), row, None) for row in rows]
