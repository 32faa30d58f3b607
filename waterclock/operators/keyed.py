"""What operators of user code share: events wait until the CTI is behind them, and are then given per key, in order.

An event waits for the end of its unit (its start, or a step of time), so any order of arrival and any cut into epochs
gives the user's code the same calls. The state of a key is rows of a table, due when it is to be forgotten.

    table ``waiting``   events, with the end of their unit as ``_ve`` and their own in ``_end``; gone at the CTI
    table ``states``    what user code keeps per key; ``_ve`` is when it is forgotten
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashed, hashes_of, together
from waterclock.operators.groups import identify
from waterclock.plan.user import Apply, Track
from waterclock.schema import HASH, VE, VS, Schema
from waterclock.state.table import ID
from waterclock.time import FOREVER

WAITING = "waiting"
STATES = "states"
END = "_end"


@dataclass(frozen=True)
class Group:
    """One key with something to do."""

    key: pl.DataFrame
    """One row: its hash and columns."""
    events: pl.DataFrame
    """In order of start, end and payload, with lifetimes ``_vs`` and ``_ve``."""
    state: pl.DataFrame | None
    """Its rows of the table ``states``."""


@dataclass
class Changes:
    output: list[pl.DataFrame] = field(default_factory=list)
    states: list[pl.DataFrame] = field(default_factory=list)


class KeyedOperator(Operator):
    tables = (Spec(WAITING), Spec(STATES, mortal=True))

    def __init__(self, node: Track | Apply) -> None:
        super().__init__(node)
        self.keys = list(node.keys)
        self._input = node.input.schema

    @abstractmethod
    def unit_end(self) -> pl.Expr:
        """When an event can be given: all that is in its unit is known then."""

    @abstractmethod
    def advance(self, group: Group, new: int, changes: Changes) -> None:
        """Gives one key's events to the user's code. States are added whole: those there were are removed."""

    @abstractmethod
    def output_cti(self, new: int, least: int | None) -> int:
        """``least`` is the earliest start of a state."""

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        named = rows.select(VS, self.unit_end().alias(VE), pl.col(VE).alias(END), *self._input.names)
        return {WAITING: hashed(named.collect(), self.keys)}

    def step(self, turn: Turn) -> Stepped:
        (old,), (new,) = turn.old, turn.new
        came, waiting, states = turn.arrived.get(WAITING), turn.state[WAITING], turn.state[STATES]
        ready = None if came is None else came.filter(pl.col(VE) <= new)
        touched = hashes_of(hashes_of(ready), waiting.due(old, new), states.due(old, new))
        before = waiting.of(touched)
        events = together(None if before is None else before.filter(pl.col(VE) <= new), ready)
        kept = states.of(touched)
        changes = Changes()
        for group in self._groups(events, kept):
            self.advance(group, new, changes)
        later = None if came is None else came.filter(pl.col(VE) > new)
        added = {}
        if later is not None and later.height:
            added[WAITING] = later
        fresh = together(*changes.states)
        if fresh is not None:
            added[STATES] = fresh
        output = pl.concat(changes.output) if changes.output else self.nothing
        starts = [states.least(kept), None if fresh is None else fresh[VS].min()]
        least = min((start for start in starts if isinstance(start, int)), default=None)
        return Stepped(
            output, self.output_cti(new, least), added, {} if kept is None else {STATES: kept}, {WAITING: new}
        )

    def _groups(self, events: pl.DataFrame | None, states: pl.DataFrame | None) -> Iterator[Group]:
        named = [frame.select(HASH, *self.keys) for frame in (events, states) if frame is not None]
        if not named:
            return
        every = pl.concat(named)
        ids = identify(every, self.keys)
        first = np.full(int(ids.max()) + 1, -1)
        first[ids[::-1]] = np.arange(ids.size)[::-1]
        of_events = _split(ordered(events, ids[: events.height], self._input)) if events is not None else {}
        of_states = {}
        if states is not None:
            of_states = _split(states.with_columns(pl.Series("_g", ids[-states.height :])).sort("_g", ID))
        nothing = self._input.empty()
        for number, at in enumerate(first):
            mine = of_events.get(number)
            taken = nothing if mine is None else mine.select(VS, pl.col(END).alias(VE), *self._input.names)
            yield Group(every.slice(int(at), 1), taken, of_states.get(number))

    def placed(self, group: Group, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of one key with its hash and columns."""
        key = group.key.select(pl.col(name).repeat_by(rows.height).explode() for name in (HASH, *self.keys))
        return pl.concat([key, rows], how="horizontal") if rows.height else rows


def ordered(rows: pl.DataFrame, ids: np.ndarray, schema: Schema) -> pl.DataFrame:
    """By key, start, end and payload; nulls first. The two zeros are told apart, so that no order is left open."""
    zeros = [1.0 / pl.col(name) for name, kind in schema if kind in ("float", "double")]
    payload = [pl.col(name) for name in schema.names]
    return rows.with_columns(pl.Series("_g", ids)).sort("_g", VS, END, *payload, *zeros)


def _split(rows: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """The rows of each group of a frame that is sorted by group."""
    groups = rows["_g"].to_numpy()
    at = np.flatnonzero(np.diff(groups, prepend=-1))
    ends: Sequence[int] = [*at[1:].tolist(), rows.height]
    return {int(groups[a]): rows.slice(int(a), int(b) - int(a)) for a, b in zip(at, ends, strict=True)}


def due(since: int, after: int | None) -> int:
    """When a state is forgotten."""
    return FOREVER if after is None else min(since + after, FOREVER)
