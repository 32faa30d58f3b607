"""A stream of events, and what can be made of it."""

from __future__ import annotations

from typing import Any, Protocol

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr, as_expr, col
from waterclock.plan import explain
from waterclock.plan.nodes import Aggregate, Filter, Node, Project, Union, WindowAggregate
from waterclock.plan.window import Window
from waterclock.schema import Schema
from waterclock.time import Duration, micros


class Outputs(Protocol):
    """The app that a stream belongs to, as far as streams know it."""

    def add_output(self, name: str | None, plan: Node, sink: Any) -> None: ...


class Stream:
    """Immutable: every method gives a new stream."""

    def __init__(self, app: Outputs, plan: Node) -> None:
        self._app = app
        self._plan = plan

    @property
    def schema(self) -> Schema:
        return self._plan.schema

    def filter(self, predicate: Expr) -> Stream:
        """The events that satisfy the predicate.

        >>> alerts.filter(wc.col("severity") >= 3)  # doctest: +SKIP
        """
        return Stream(self._app, Filter(self._plan, predicate))

    where = filter

    def select(self, *columns: str | Expr, **named: object) -> Stream:
        """A new payload: columns to keep by name, and ``new=expression``."""
        chosen = [(self._name(column), as_expr(column)) for column in columns]
        chosen += [(name, as_expr(value)) for name, value in named.items()]
        return Stream(self._app, Project(self._plan, tuple(chosen)))

    def with_columns(self, **named: object) -> Stream:
        """The payload with columns added or replaced."""
        kept = [(name, col(name)) for name in self.schema.names if name not in named]
        return Stream(self._app, Project(self._plan, (*kept, *((n, as_expr(v)) for n, v in named.items()))))

    def drop(self, *columns: str) -> Stream:
        for column in columns:
            self.schema.type_of(column)
        return self.select(*(name for name in self.schema.names if name not in columns))

    def union(self, *others: Stream) -> Stream:
        """All events of streams with the same columns; duplicates stay."""
        return Stream(self._app, Union((self._plan, *(other._plan for other in others))))

    def group_by(self, *keys: str) -> Grouped:
        return Grouped(self, keys)

    def tumbling(self, size: Duration, offset: Duration = 0, result: str = "window") -> Windowed:
        return Grouped(self, ()).tumbling(size, offset, result)

    def hopping(self, size: Duration, hop: Duration, offset: Duration = 0, result: str = "hold") -> Windowed:
        return Grouped(self, ()).hopping(size, hop, offset, result)

    def to(self, sink: Any, name: str | None = None) -> Stream:
        """Makes this an output of the app, delivered to ``sink`` and kept as the stream ``name``."""
        self._app.add_output(name, self._plan, sink)
        return self

    def into(self, name: str) -> Stream:
        """Makes this an output that is only kept as the stream ``name``; others may read it."""
        self._app.add_output(name, self._plan, None)
        return self

    def explain(self) -> str:
        """The plan as an indented tree."""
        return explain(self._plan)

    def __repr__(self) -> str:
        return f"<Stream ({self.schema})>"

    @staticmethod
    def _name(column: str | Expr) -> str:
        if isinstance(column, str):
            return column
        name = getattr(column, "name", None)
        if not isinstance(name, str):
            raise ConfigError(
                "CONFIG.BAD_OPTION",
                option="column",
                value=column,
                fix="Give an expression a name: new=expression.",
            )
        return name


class Grouped:
    """A stream with keys, before its window is chosen."""

    def __init__(self, stream: Stream, keys: tuple[str, ...]) -> None:
        for key in keys:
            stream.schema.type_of(key)
        self._stream = stream
        self._keys = keys

    def agg(self, *_: object, **__: object) -> Stream:
        """Aggregates need a window; this says so."""
        raise ConfigError("PLAN.NO_WINDOW")

    def tumbling(self, size: Duration, offset: Duration = 0, result: str = "window") -> Windowed:
        """Windows of ``size`` one after another; a result lives as long as its window."""
        return Windowed(self._stream, self._keys, Window(micros(size), micros(size), micros(offset), result))

    def hopping(self, size: Duration, hop: Duration, offset: Duration = 0, result: str = "hold") -> Windowed:
        """Windows of ``size``, a new one every ``hop``; by default a result is valid until the next one."""
        return Windowed(self._stream, self._keys, Window(micros(size), micros(hop), micros(offset), result))


class Windowed:
    """A stream with keys and a window, before its aggregates are named."""

    def __init__(self, stream: Stream, keys: tuple[str, ...], window: Window) -> None:
        self._stream = stream
        self._keys = keys
        self._window = window

    def agg(self, *unnamed: object, **aggregates: Aggregate) -> Stream:
        """One result per key and window that has events.

        >>> clicks.group_by("user").tumbling("5s").agg(n=wc.count())  # doctest: +SKIP
        """
        if unnamed:
            raise ConfigError("PLAN.UNNAMED_AGGREGATE")
        for name, value in aggregates.items():
            if not isinstance(value, Aggregate):
                raise ConfigError("PLAN.NOT_AGGREGATE", name=name, value=value)
        plan = WindowAggregate(self._stream._plan, self._keys, self._window, tuple(aggregates.items()))
        return Stream(self._stream._app, plan)
