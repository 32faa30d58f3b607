"""The operators of a plan. A node is its fields; schema, properties and identity are derived from them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr
from waterclock.plan.window import Window
from waterclock.schema import NUMBERS, ORDERED, Schema
from waterclock.time import BEGINNING, FOREVER

AGGREGATES = ("count", "sum", "min", "max", "avg")


@dataclass(frozen=True, eq=False)
class Node:
    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @cached_property
    def schema(self) -> Schema:
        raise NotImplementedError

    @cached_property
    def points(self) -> bool:
        """Every event is one microsecond long."""
        return all(node.points for node in self.inputs)

    def latest(self, ctis: Mapping[str, int]) -> int:
        """The greatest finite CTI that the result can have had when its inputs are at ``ctis``, however they got there.

        It bounds the windows of open-ended events when the inputs end.
        """
        return max(node.latest(ctis) for node in self.inputs)

    @property
    def label(self) -> str:
        """What this node does, without its inputs: one line of explain, and part of the identity."""
        raise NotImplementedError

    @cached_property
    def identity(self) -> str:
        """The content of the sub-plan as a short hash: equal sub-plans have equal state."""
        text = "\n".join([self.label, *(node.identity for node in self.inputs)])
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, eq=False)
class Input(Node):
    """A stream of the store."""

    stream: str
    columns: Schema
    of_points: bool

    @cached_property
    def schema(self) -> Schema:
        return self.columns

    @cached_property
    def points(self) -> bool:
        return self.of_points

    def latest(self, ctis: Mapping[str, int]) -> int:
        cti = ctis.get(self.stream, BEGINNING)
        return BEGINNING if cti == FOREVER else cti

    @property
    def label(self) -> str:
        return f"stream {self.stream} ({self.columns}){' of points' if self.of_points else ''}"


@dataclass(frozen=True, eq=False)
class Filter(Node):
    input: Node
    predicate: Expr

    def __post_init__(self) -> None:
        if not isinstance(self.predicate, Expr):
            raise ConfigError("EXPR.NOT_EXPR", what="filter", value=repr(self.predicate))
        kind = self.predicate.type_in(self.input.schema)
        if kind not in ("boolean", "null"):
            raise ConfigError(
                "EXPR.WRONG_TYPE",
                what="filter",
                types=kind,
                fix="It takes a boolean, such as wc.col('x') > 5.",
            )

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def label(self) -> str:
        return f"filter {self.predicate!r}"


@dataclass(frozen=True, eq=False)
class Project(Node):
    input: Node
    columns: tuple[tuple[str, Expr], ...]

    def __post_init__(self) -> None:
        assert self.schema  # checks names and types now, where the user's line is on the stack

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        types = {name: expr.type_in(self.input.schema) for name, expr in self.columns}
        if len(types) < len(self.columns):
            names = [name for name, _ in self.columns]
            raise ConfigError("SCHEMA.DUPLICATE_COLUMN", column=next(n for n in names if names.count(n) > 1))
        return Schema.of({name: "string" if kind == "null" else kind for name, kind in types.items()})

    @property
    def label(self) -> str:
        return "project " + ", ".join(name if repr(e) == name else f"{e!r} as {name}" for name, e in self.columns)


@dataclass(frozen=True, eq=False)
class Union(Node):
    branches: tuple[Node, ...]

    def __post_init__(self) -> None:
        for other in self.branches[1:]:
            if other.schema != self.schema:
                raise ConfigError("PLAN.UNION_MISMATCH", left=self.schema, right=other.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches

    @cached_property
    def schema(self) -> Schema:
        return self.branches[0].schema

    @property
    def label(self) -> str:
        return "union"


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function over an expression; ``count`` takes none."""

    function: str
    arg: Expr | None = None

    def type_in(self, schema: Schema) -> str:
        if self.arg is None:
            return "bigint"
        kind = self.arg.type_in(schema)
        accepted = ORDERED if self.function in ("min", "max") else NUMBERS
        if self.function != "count" and kind not in accepted:
            takes = "an ordered value" if accepted is ORDERED else "a number"
            raise ConfigError(
                "EXPR.WRONG_TYPE",
                what=f"{self!r}",
                types=kind,
                fix=f"It takes {takes}; cast with .cast('type').",
            )
        if self.function == "count":
            return "bigint"
        if self.function == "avg":
            return "double"
        if self.function == "sum":
            return "bigint" if kind in ("int", "bigint") else "double"
        return kind

    def __repr__(self) -> str:
        return f"{self.function}({'*' if self.arg is None else repr(self.arg)})"


@dataclass(frozen=True, eq=False)
class WindowAggregate(Node):
    """Aggregates per key over fixed windows, membership by overlap."""

    input: Node
    keys: tuple[str, ...]
    window: Window
    aggregates: tuple[tuple[str, Aggregate], ...]

    def __post_init__(self) -> None:
        if not self.aggregates:
            raise ConfigError("PLAN.NO_AGGREGATE")
        assert self.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        columns = {key: self.input.schema.type_of(key) for key in self.keys}
        for name, aggregate in self.aggregates:
            if name in columns:
                raise ConfigError("SCHEMA.DUPLICATE_COLUMN", column=name)
            columns[name] = aggregate.type_in(self.input.schema)
        return Schema.of(columns)

    @cached_property
    def points(self) -> bool:
        return self.window.result == "point_end"

    def latest(self, ctis: Mapping[str, int]) -> int:
        cti = self.input.latest(ctis)
        return max(cti, self.window.output_cti(cti))

    @property
    def label(self) -> str:
        keys = f" by {', '.join(self.keys)}" if self.keys else ""
        return f"aggregate {', '.join(f'{a!r} as {n}' for n, a in self.aggregates)}{keys} over {self.window}"
