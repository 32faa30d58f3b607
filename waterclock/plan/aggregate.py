"""Aggregates and the windows they are taken over."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr
from waterclock.plan.nodes import Ended, Unary
from waterclock.plan.window import RESULTS, Window
from waterclock.schema import NUMBERS, ORDERED, Schema
from waterclock.time import show_duration

_ANY, _NUMBER, _ORDERED = "any value", "a number", "an ordered value"

AGGREGATES: dict[str, str] = {
    "count": _ANY, "count_distinct": _ANY, "approx_count_distinct": _ANY, "sum": _NUMBER, "avg": _NUMBER,
    "min": _ORDERED, "max": _ORDERED, "variance": _NUMBER, "stddev": _NUMBER, "var_pop": _NUMBER,
    "stddev_pop": _NUMBER, "first": _ANY, "last": _ANY, "percentile_disc": _ORDERED, "percentile_cont": _NUMBER,
    "top_k": _ORDERED, "collect_list": _ANY,
}  # fmt: skip
"""Every aggregate function and what it takes."""


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function over an expression, of the events that satisfy ``where``.

    ``count`` without an argument counts events. ``param`` is the fraction of a percentile or the k of a top-k.
    ``first`` and ``last`` go by start time; of simultaneous values they take the least and the greatest.
    """

    function: str
    arg: Expr | None = None
    where: Expr | None = None
    param: float | int | None = None

    def type_in(self, schema: Schema) -> str:
        if self.where is not None and self.where.type_in(schema) not in ("boolean", "null"):
            fix = "A filtered aggregate takes a boolean, such as wc.col('x') > 5."
            raise ConfigError("EXPR.WRONG_TYPE", what=f"where of {self!r}", types=self.where.type_in(schema), fix=fix)
        if self.arg is None:
            return "bigint"
        return self._type(self.arg.type_in(schema))

    def _type(self, kind: str) -> str:
        """Of the result, from that of the argument."""
        takes = AGGREGATES[self.function]
        accepted = {_NUMBER: NUMBERS, _ORDERED: ORDERED}.get(takes)
        if accepted is not None and kind not in accepted:
            fix = f"It takes {takes}; cast with .cast('type')."
            raise ConfigError("EXPR.WRONG_TYPE", what=f"{self!r}", types=kind, fix=fix)
        if self.function in ("count", "count_distinct", "approx_count_distinct"):
            return "bigint"
        if self.function in ("avg", "variance", "stddev", "var_pop", "stddev_pop", "percentile_cont"):
            return "double"
        if self.function == "sum":
            return "bigint" if kind in ("int", "bigint") else "double"
        kind = "string" if kind == "null" else kind
        return f"array<{kind}>" if self.function in ("top_k", "collect_list") else kind

    def __repr__(self) -> str:
        param = "" if self.param is None else f", {self.param!r}"
        where = "" if self.where is None else f" where {self.where!r}"
        return f"{self.function}({'*' if self.arg is None else repr(self.arg)}{param}){where}"


@dataclass(frozen=True, eq=False)
class Aggregation(Unary):
    """Aggregates per key; the subclasses say over which windows."""

    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Aggregate], ...]

    def __post_init__(self) -> None:
        if not self.aggregates:
            raise ConfigError("PLAN.NO_AGGREGATE")
        assert self.schema

    @cached_property
    def schema(self) -> Schema:
        columns = {key: self.input.schema.type_of(key) for key in self.keys}
        for name, aggregate in self.aggregates:
            if name in columns:
                raise ConfigError("SCHEMA.DUPLICATE_COLUMN", column=name)
            columns[name] = aggregate.type_in(self.input.schema)
        return Schema.of(columns)

    @property
    def over(self) -> str:
        raise NotImplementedError

    @property
    def label(self) -> str:
        keys = f" by {', '.join(self.keys)}" if self.keys else ""
        return f"aggregate {', '.join(f'{a!r} as {n}' for n, a in self.aggregates)}{keys} over {self.over}"


@dataclass(frozen=True, eq=False)
class WindowAggregate(Ended, Aggregation):
    """Over fixed windows, membership by overlap.

    With ``early``, a window's result is given that long before it is final, and again as a new revision whenever
    late events change it.
    """

    window: Window
    early: int = 0

    def __post_init__(self) -> None:
        if self.early < 0:
            raise ConfigError("PLAN.BAD_DURATION", what="early", value=show_duration(self.early))
        super().__post_init__()

    @cached_property
    def schema(self) -> Schema:
        if not self.early:
            return super().schema
        return Schema.of({**dict(super().schema), "revision": "bigint"})

    @cached_property
    def points(self) -> bool:
        return self.window.result == "point_end"

    @property
    def over(self) -> str:
        return f"{self.window}{f' early={show_duration(self.early)}' if self.early else ''}"


@dataclass(frozen=True, eq=False)
class SnapshotAggregate(Aggregation):
    """Over snapshots: a result for every stretch of time in which the same events of the key are alive."""

    result: str = "window"

    def __post_init__(self) -> None:
        _check_result(self.result)
        super().__post_init__()

    @cached_property
    def points(self) -> bool:
        return self.result == "point_end"

    @property
    def over(self) -> str:
        return f"snapshots result={self.result}"


@dataclass(frozen=True, eq=False)
class Distinct(Unary):
    """At every instant each payload once: one event per snapshot of equal payloads."""

    @property
    def label(self) -> str:
        return "distinct"


@dataclass(frozen=True, eq=False)
class SessionAggregate(Ended, Aggregation):
    """Over sessions: events of a key less than ``timeout`` apart. One result per session, ``[first, last + timeout)``.

    With ``maximum`` a session is cut at multiples of it, as semantics of Stream Analytics have it.
    """

    timeout: int
    maximum: int | None = None
    result: str = "window"

    def __post_init__(self) -> None:
        check_session(self.timeout, self.maximum)
        _check_result(self.result)
        super().__post_init__()

    @cached_property
    def points(self) -> bool:
        return self.result == "point_end"

    @property
    def over(self) -> str:
        return f"{show_session(self.timeout, self.maximum)} result={self.result}"


@dataclass(frozen=True, eq=False)
class CountAggregate(Ended, Aggregation):
    """Over the last ``n`` distinct start times of a key; membership by overlap with ``[first start, last + 1)``."""

    n: int
    result: str = "point_end"

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ConfigError("PLAN.BAD_COUNT", what="A count window", value=self.n)
        _check_result(self.result)
        super().__post_init__()

    @cached_property
    def points(self) -> bool:
        return self.result == "point_end"

    @property
    def over(self) -> str:
        return f"last({self.n}) result={self.result}"


@dataclass(frozen=True, eq=False)
class TopK(Unary):
    """Per key and snapshot (or window): the events whose SQL RANK by ``by`` is at most ``k``, ties included."""

    keys: tuple[str, ...]
    by: Expr
    k: int
    descending: bool = True
    rank: str | None = None
    """Name of a column for the rank."""
    window: Window | None = None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError("PLAN.BAD_COUNT", what="top-k", value=self.k)
        kind = self.by.type_in(self.input.schema)
        if kind not in ORDERED:
            fix = "It takes an ordered value; cast with .cast('type')."
            raise ConfigError("EXPR.WRONG_TYPE", what=f"top-k by {self.by!r}", types=kind, fix=fix)
        for key in self.keys:
            self.input.schema.type_of(key)
        assert self.schema

    @cached_property
    def schema(self) -> Schema:
        if self.rank is None:
            return self.input.schema
        if self.rank in self.input.schema:
            raise ConfigError("SCHEMA.DUPLICATE_COLUMN", column=self.rank)
        return Schema.of({**dict(self.input.schema), self.rank: "bigint"})

    @cached_property
    def points(self) -> bool:
        return self.window is not None and self.window.result == "point_end"

    @cached_property
    def open_ended(self) -> bool:
        return self.window is None and self.input.open_ended

    @cached_property
    def endless(self) -> bool:
        return self.window is None and self.input.endless

    @property
    def label(self) -> str:
        keys = f" per {', '.join(self.keys)}" if self.keys else ""
        order = "greatest" if self.descending else "least"
        rank = f" with rank as {self.rank}" if self.rank else ""
        return f"top {self.k} {order} by {self.by!r}{keys}{rank} over {self.window or 'snapshots'}"


def check_session(timeout: int, maximum: int | None) -> None:
    if timeout <= 0:
        raise ConfigError("PLAN.BAD_DURATION", what="the timeout of a session", value=show_duration(timeout))
    if maximum is not None and maximum <= 0:
        raise ConfigError("PLAN.BAD_DURATION", what="the maximum of a session", value=show_duration(maximum))


def show_session(timeout: int, maximum: int | None) -> str:
    limit = f", maximum={show_duration(maximum)}" if maximum is not None else ""
    return f"session({show_duration(timeout)}{limit})"


def _check_result(result: str) -> None:
    if result not in RESULTS:
        raise ConfigError("PLAN.BAD_RESULT", result=result)
