"""Track: a state per key that events change, one after another.

result may be emitted   hold: the next start of the key, or the end of the state, is before the CTI; point: start < c
output CTI              hold: min(c, starts of states); point: c
state dropped           with the user's None, and ``timeout`` behind the last start
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import polars as pl

from waterclock.errors import UserError
from waterclock.operators.failures import Failures, leave_out
from waterclock.operators.keyed import Changes, Group, KeyedOperator, due
from waterclock.plan.user import Track
from waterclock.schema import HASH, VS
from waterclock.time import FOREVER
from waterclock.usercode.machine import Machine, Row, Values


class TrackOperator(KeyedOperator):
    def __init__(self, node: Track) -> None:
        super().__init__(node)
        self._machine = Machine(node.initialize, node.update, node.state)
        self._columns = node.input.schema.names
        self._state = node.state
        self._timeout = node.timeout
        self._on_error = node.on_error
        self._holds = node.result == "hold"

    def unit_end(self) -> pl.Expr:
        return pl.col(VS) + 1

    def output_cti(self, new: int, least: int | None) -> int:
        return min(new, least) if self._holds and least is not None else new

    def advance(self, groups: Iterator[Group], new: int) -> Changes:
        found: list[tuple[Any, ...]] = []
        kept: list[tuple[Any, ...]] = []
        failures: Failures = []
        for group in groups:
            since, state = self._advance(group, new, found, failures)
            if state is not None and new < FOREVER:
                kept.append((group.hash, since, due(since, self._timeout), *group.key, *state))
        columns = self.schema.frame_schema()
        return Changes(
            pl.DataFrame(found, schema=columns, orient="row") if found else None,
            pl.DataFrame(kept, schema={HASH: pl.UInt64(), **columns}, orient="row") if kept else None,
            failures,
        )

    def _advance(
        self, group: Group, new: int, found: list[tuple[Any, ...]], failures: Failures
    ) -> tuple[int, Values | None]:
        """The state of a key and since when it is; what became final is added to ``found``."""
        key = group.key
        state: Values | None = None
        since = 0
        if group.state is not None:
            since = int(group.state[VS][0])
            state = group.state.select(self._state.names).row(0)
        for start, together in groupby(group.events.iter_rows(), key=lambda row: row[0]):
            end = due(since, self._timeout)
            after, taken = None if start >= end else state, False
            for vs, ve, *values in together:
                event = Row(dict(zip(self._columns, values, strict=True)), vs, ve)
                try:
                    after, taken = self._machine.after(key, after, event), True
                except UserError as error:
                    leave_out(self._on_error, error, [(vs, ve, event, None)], failures)
            if not taken:
                continue  # as if there had been nothing
            if state is not None and self._holds:
                found.append((since, min(end, start), *key, *state))
            since, state = start, after
            if state is not None and not self._holds:
                found.append((start, start + 1, *key, *state))
        if state is not None and (end := due(since, self._timeout)) <= new:
            if self._holds:
                found.append((since, end, *key, *state))
            state = None
        return since, state
