"""What operators of user code share: events wait until the CTI is behind them, and are then given per key, in order.

An event waits for the end of its unit (its start, or a step of time), so any order of arrival and any cut into epochs
gives the user's code the same calls. The state of a key is rows of a table, due when it is to be forgotten.

    table ``waiting``   events, with the end of their unit as ``_ve`` and their own in ``_end``; gone at the CTI
    table ``states``    what user code keeps per key; ``_ve`` is when it is forgotten
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashed, hashes_of, together
from waterclock.operators.failures import Failures
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

    hash: int
    key: tuple[Any, ...]
    events: pl.DataFrame
    """In order of start, end and payload, with lifetimes ``_vs`` and ``_ve``."""
    state: pl.DataFrame | None
    """Its rows of the table ``states``."""


@dataclass(frozen=True)
class Changes:
    output: pl.DataFrame | None
    states: pl.DataFrame | None
    """Of all keys that had something to do: what they had is removed."""
    failures: Failures


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
    def advance(self, groups: Iterator[Group], new: int) -> Changes:
        """Gives the events of each key to the user's code."""

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
        changes = self.advance(self._groups(events, kept), new)
        later = None if came is None else came.filter(pl.col(VE) > new)
        added = {}
        if later is not None and later.height:
            added[WAITING] = later
        fresh = changes.states
        if fresh is not None:
            added[STATES] = fresh
        output = self.nothing if changes.output is None else changes.output
        starts = [states.least(kept), None if fresh is None else fresh[VS].min()]
        least = min((start for start in starts if isinstance(start, int)), default=None)
        return Stepped(
            output, self.output_cti(new, least), added, {} if kept is None else {STATES: kept}, {WAITING: new},
            failures=changes.failures,
        )  # fmt: skip

    def _groups(self, events: pl.DataFrame | None, states: pl.DataFrame | None) -> Iterator[Group]:
        named = [frame.select(HASH, *self.keys) for frame in (events, states) if frame is not None]
        if not named:
            return
        every = pl.concat(named)
        ids = identify(every, self.keys)
        first = np.full(int(ids.max()) + 1, -1)
        first[ids[::-1]] = np.arange(ids.size)[::-1]
        of_events, of_states = {}, {}
        if events is not None:
            sorted_events = ordered(events, ids[: events.height], self._input)
            taken = sorted_events.select(VS, pl.col(END).alias(VE), *self._input.names)
            of_events = _split(taken, sorted_events["_g"])
        if states is not None:
            numbered = states.with_columns(pl.Series("_g", ids[-states.height :])).sort("_g", ID)
            of_states = _split(numbered, numbered["_g"])
        nothing = self._input.empty()
        for number, (hash, *key) in enumerate(every[first].iter_rows()):
            yield Group(hash, tuple(key), of_events.get(number, nothing), of_states.get(number))


def ordered(rows: pl.DataFrame, ids: np.ndarray, schema: Schema) -> pl.DataFrame:
    """By key, start, end and payload; nulls first. The two zeros are told apart, so that no order is left open."""
    zeros = [1.0 / pl.col(name) for name, kind in schema if kind in ("float", "double")]
    payload = [pl.col(name) for name in schema.names]
    return rows.with_columns(pl.Series("_g", ids)).sort("_g", VS, END, *payload, *zeros)


def _split(rows: pl.DataFrame, groups: pl.Series) -> dict[int, pl.DataFrame]:
    """The rows of each group of a frame that is sorted by group."""
    numbers = groups.to_numpy()
    borders = [*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), rows.height]
    return {int(numbers[a]): rows.slice(a, b - a) for a, b in pairwise(borders)}


def due(since: int, after: int | None) -> int:
    """When a state is forgotten."""
    return FOREVER if after is None else min(since + after, FOREVER)
