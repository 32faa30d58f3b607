"""Sees what the operators of an epoch take and give, one after another: for debugging, in this process only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import polars as pl

from waterclock.operators.base import Stepped
from waterclock.optimizer.cut import Leg, Stateful
from waterclock.plan import Node
from waterclock.schema import SEQ
from waterclock.state import Table

Task = tuple[int, int]
"""Stage and number."""


@dataclass
class Seen:
    """One operator at work in one task. The last one may have failed: it has given nothing."""

    task: Task
    operator: Node
    taken: dict[str, pl.DataFrame]
    """Rows by the port or table of a stateful operator, or under the name of the input."""
    state: dict[str, pl.DataFrame] = field(default_factory=dict)
    """Of a stateful operator before the epoch, by table."""
    given: pl.DataFrame | None = None
    added: dict[str, pl.DataFrame] = field(default_factory=dict)
    """To its state."""


class Observer:
    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.output: list[tuple[Task, pl.DataFrame]] = []
        """What each task adds to the output."""

    def read(self, task: Task, leg: Leg, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The events of an input, before the first operator."""
        found = rows.collect()
        self.seen.append(Seen(task, leg.source, {}, given=found.drop(SEQ, strict=False)))
        return found.lazy()

    def passed(self, task: Task, leg: Leg, node: Node, rows: pl.LazyFrame) -> pl.LazyFrame:
        """What a stateless operator of a leg gives."""
        before = self.seen[-1].given if self.seen and self.seen[-1].task == task else None
        entry = Seen(task, node, {} if before is None else {leg.origin: before})
        self.seen.append(entry)
        found = rows.collect()
        entry.given = found.drop(SEQ, strict=False)
        return found.lazy()

    def arrived(self, task: Task, node: Stateful, rows: Mapping[str, pl.DataFrame], state: Mapping[str, Table]) -> None:
        live = {name: table.all() for name, table in state.items()}
        known = {name: frame for name, frame in live.items() if frame is not None}
        self.seen.append(Seen(task, node.node, dict(rows), known))

    def stepped(self, task: Task, node: Stateful, stepped: Stepped) -> None:
        entry = self.seen[-1]
        entry.given = stepped.output
        entry.added = {name: frame for name, frame in stepped.added.items() if frame is not None}


current: Observer | None = None


@contextmanager
def observing() -> Iterator[Observer]:
    """One at a time, and nothing else may run in this process."""
    global current
    current = Observer()
    try:
        yield current
    finally:
        current = None
