"""What can be asked of an app: about what its store holds, how it would run, and what it did."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from waterclock.catalog import Catalog
from waterclock.connect.base import Sink, Source
from waterclock.declared import Declared
from waterclock.errors import ConfigError
from waterclock.lang.fluent import Stream
from waterclock.lang.sql.given import Given
from waterclock.optimizer import Statistics, VertexPlan, cut
from waterclock.plan import Node
from waterclock.plan.strategy import Strategy
from waterclock.runtime.log import StreamLog
from waterclock.runtime.store import Store
from waterclock.streams import Declaration
from waterclock.time import Instant

if TYPE_CHECKING:  # imported by who asks: a program that only runs needs none of it
    from waterclock.asking.asof import AsOf
    from waterclock.explain import Described
    from waterclock.lang.dstream import DStream
    from waterclock.lang.sql.source import Source as SqlSource
    from waterclock.past.debug import Debugger
    from waterclock.past.verify import Verdict
    from waterclock.runtime.engine import Engine


class Asked(ABC):
    """An app, as far as it answers: nothing here changes it or its store."""

    name: str
    store: str
    catalog: str | None
    master: str
    spark: dict[str, str]
    tasks: int | None
    statistics: Statistics
    _streams: dict[str, tuple[Declaration, Source | None]]
    _tables: dict[str, tuple[Declaration, pl.DataFrame]]
    _outputs: dict[str, tuple[VertexPlan, Sink | None]]
    _recovery: dict[str, Strategy]
    _queries: dict[str, Given]
    _texts: list[SqlSource]
    _engine: Engine | None
    _push_store: Store | None
    _logs: dict[str, tuple[Store, StreamLog]]

    @property
    @abstractmethod
    def _declared(self) -> Declared: ...

    def query(
        self, asked: str | Stream | DStream, *, params: Mapping[str, Any] | None = None,
        as_of: AsOf | Instant | None = None, on: str = "auto", scan_all: bool = False, limit: int | None = None,
    ) -> pl.DataFrame:  # fmt: skip
        """The answer to a question about what is stored now, or was ``as_of`` another time, while apps run on it.

        It is asked in SQL over the streams and outputs of the store and the queries of this app, or as a stream.
        See ``wc.query`` for the options.
        """
        from waterclock.asking.query import ask, query

        more: dict[str, Any] = {"as_of": as_of, "on": on, "scan_all": scan_all, "limit": limit}
        more |= {"master": self.master, "spark": self.spark}
        if isinstance(asked, str):
            return query(self.store, asked, params=params, names=self._queries, **more)
        stream = asked if isinstance(asked, Stream) else asked._datasets()
        return ask(self.store, stream._plan, **more)

    def explain(self, stage: str | None = None) -> str:
        """A page about all outputs: plan, state, guarantee and the rules of their inputs.

        Or a stage of their way: parsed, bound, logical, optimized, physical or spark.
        """
        from waterclock.explain import explained

        return explained(self.described(), stage)

    def explain_plan(self, plan: Node, stage: str) -> str:
        """What ``Stream.explain`` calls."""
        from waterclock.explain import Output, explained

        output = Output(plan, plan, self._declared.cut("stream", plan), statistics=self.statistics)
        return explained(replace(self.described(), outputs={"stream": output}), stage)

    def described(self) -> Described:
        """The program as far as it can be explained, with what its store has measured, if it is there."""
        from waterclock.explain import Described, Output

        known, seen = self._known()
        outputs: dict[str, Output] = {}
        declared = self._declared
        for name, part in declared.parts(known).items():
            vertex, sink = self._outputs.get(name, (cut(name, part), None))
            statistics = self.statistics.over(seen.get(name, Statistics()))
            shared, recovery = name not in self._outputs, self._recovery.get(name)
            outputs[name] = Output(vertex.root, part, declared.cut(name, part), sink, statistics, shared, recovery)
        return Described(
            self.name,
            outputs,
            self._streams,
            {name: (declaration, rows.height) for name, (declaration, rows) in self._tables.items()},
            {name: given.plan for name, given in self._queries.items()},
            tuple(self._texts),
            self.tasks,
        )

    def _known(self) -> tuple[dict[str, tuple[str, ...]], dict[str, Statistics]]:
        """What the store knows, if it is there: our vertices and what they read, and what each vertex has shown."""
        from waterclock.runtime.measured import measured

        if not Catalog.is_in(self.store):
            return {}, {}
        catalog = Catalog.open(self.store)
        try:
            seen = {vertex.name: measured(catalog, vertex.name) for vertex in catalog.epochs.vertices()}
            return self._declared.vertices(catalog), seen
        finally:
            catalog.close()

    def _repr_html_(self) -> str:
        """In notebooks: the plan as boxes and arrows, and the columns of each output."""
        from waterclock.explain import drawing
        from waterclock.plan.drawing import schema_table, scrolling

        tables = (schema_table(plan.root.schema, name) for name, (plan, _) in self._outputs.items())
        return scrolling(drawing(self.described())) + "".join(tables)

    def verify(self, output: str | None = None, epochs: tuple[int, int] | None = None) -> list[Verdict]:
        """Executes recorded epochs of the outputs again and compares; ``epochs`` are the first and the last."""
        from waterclock.past.epochs import recorded
        from waterclock.past.verify import verify

        catalog = Catalog.open(self.store)
        try:
            found = recorded(self._declared, catalog, output)
            return [verify(each, *(epochs or (each.first, each.last))) for each in found if each.last >= each.first]
        finally:
            catalog.close()

    def debug(
        self, output: str, epoch: int | None = None, *, row: int | None = None, partition: int | None = None
    ) -> Debugger:
        """A recorded epoch of an output, on a desk: that with a number, or the one that gave a row."""
        from waterclock.past.debug import Debugger
        from waterclock.past.epochs import recorded

        if (epoch is None) == (row is None):
            raise ConfigError("CONFIG.BAD_OPTION", option="epoch", value=epoch, fix="Give either epoch or row.")
        (found,) = recorded(self._declared, Catalog.open(self.store), output)
        return Debugger(found, found.epoch_of(row) if row is not None else epoch or 0, partition)

    def elsewhere(self, store: str | os.PathLike[str]) -> Self:
        """The same program over another store, without its sources and sinks: what was done before it cannot touch."""
        other = copy(self)
        other.store, other.catalog, other._engine, other._push_store, other._logs = str(store), None, None, None, {}
        other._streams = {name: (declaration, None) for name, (declaration, _) in self._streams.items()}
        other._outputs = {name: (plan, None) for name, (plan, _) in self._outputs.items()}
        return other
