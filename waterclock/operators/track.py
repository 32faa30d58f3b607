"""Track: a state per key that events change, one after another.

result may be emitted   hold: the next start of the key, or the end of the state, is before the CTI; point: start < c
output CTI              hold: min(c, starts of states); point: c
state dropped           with the user's None, and ``timeout`` behind the last start
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import polars as pl

from waterclock.operators.keyed import Changes, Group, KeyedOperator, due
from waterclock.plan.user import Track
from waterclock.schema import VE, VS
from waterclock.time import FOREVER
from waterclock.usercode.machine import Machine, Row, Values


class TrackOperator(KeyedOperator):
    def __init__(self, node: Track) -> None:
        super().__init__(node)
        self._machine = Machine(node.initialize, node.update, node.state)
        self._columns = node.input.schema.names
        self._state = node.state
        self._timeout = node.timeout
        self._holds = node.result == "hold"

    def unit_end(self) -> pl.Expr:
        return pl.col(VS) + 1

    def output_cti(self, new: int, least: int | None) -> int:
        return min(new, least) if self._holds and least is not None else new

    def advance(self, group: Group, new: int, changes: Changes) -> None:
        key = group.key.row(0)[1:]
        state: Values | None = None
        since = 0
        if group.state is not None:
            since = int(group.state[VS][0])
            state = group.state.select(self._state.names).row(0)
        found: list[tuple[Any, ...]] = []
        rows = group.events.iter_rows()
        for start, together in groupby(rows, key=lambda row: row[0]):
            if state is not None:
                end = due(since, self._timeout)
                if self._holds:
                    found.append((since, min(end, start), *state))
                state = None if start >= end else state
            for vs, ve, *values in together:
                event = Row(dict(zip(self._columns, values, strict=True)), vs, ve)
                state = self._machine.after(key, state, event)
            since = start
            if state is not None and not self._holds:
                found.append((start, start + 1, *state))
        if state is not None and (end := due(since, self._timeout)) <= new:
            if self._holds:
                found.append((since, end, *state))
            state = None
        if found:
            changes.output.append(self.placed(group, self._frame(found)).select(VS, VE, *self.schema.names))
        if state is not None and new < FOREVER:
            changes.states.append(self.placed(group, self._frame([(since, due(since, self._timeout), *state)])))

    def _frame(self, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
        return pl.DataFrame(rows, schema=self._state.frame_schema(), orient="row")
