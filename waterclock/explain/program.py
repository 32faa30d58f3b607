"""A program as far as it can be explained: what an app holds before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from waterclock.declared import lives_of
from waterclock.lang.sql.source import Source
from waterclock.optimizer.cut import VertexPlan
from waterclock.optimizer.lives import Life
from waterclock.optimizer.statistics import Statistics
from waterclock.plan import Node
from waterclock.plan.strategy import Strategy
from waterclock.streams import Declaration


@dataclass(frozen=True)
class Output:
    written: Node
    """The plan as it was written."""
    part: Node
    """The same, but for what is read from a stream that outputs share."""
    vertex: VertexPlan
    """The form that runs."""
    sink: Any = None
    """None: it is only kept as a stream."""
    statistics: Statistics = field(default_factory=Statistics)
    """What is known of its rows."""
    shared: bool = False
    """Nobody asked for it: outputs read it instead of computing it each."""
    recovery: Strategy | None = None
    """That was asked for."""


@dataclass(frozen=True)
class Described:
    app: str
    outputs: Mapping[str, Output]
    streams: Mapping[str, tuple[Declaration, Any]]
    """Declared streams and their sources."""
    tables: Mapping[str, tuple[Declaration, int]]
    """Tables and how many rows they have."""
    queries: Mapping[str, Node] = field(default_factory=dict)
    """Queries that have their names from SQL."""
    texts: tuple[Source, ...] = ()
    """The programs in SQL that it was made from."""
    tasks: int | None = None

    @property
    def lives(self) -> dict[str, Life]:
        """How long the events of every stream live that a plan can read."""
        return lives_of(self.streams, {name: output.part for name, output in self.outputs.items()})
