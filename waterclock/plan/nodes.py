"""The operators of a plan. A node is its fields; schema, properties and identity are derived from them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr
from waterclock.schema import Schema, element_type


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

    @cached_property
    def open_ended(self) -> bool:
        """Some events may never end."""
        return any(node.open_ended for node in self.inputs)

    @cached_property
    def endless(self) -> bool:
        """The plan itself makes events that never end: what remembers them grows for ever."""
        return any(node.endless for node in self.inputs)

    @cached_property
    def cyclic(self) -> bool:
        """It depends on a cycle: when its time moves depends on how epochs were cut."""
        return any(node.cyclic for node in self.inputs)

    @property
    def stateless(self) -> bool:
        """Works event by event."""
        return False

    @property
    def label(self) -> str:
        """What this node does, without its inputs: one line of explain."""
        raise NotImplementedError

    @property
    def essence(self) -> str:
        """Of the label, what the results depend on."""
        return self.label

    @cached_property
    def identity(self) -> str:
        """The content of the sub-plan as a short hash: equal sub-plans have equal state."""
        text = "\n".join([self.essence, *(node.identity for node in self.inputs)])
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, eq=False)
class Input(Node):
    """A stream of the store."""

    stream: str
    columns: Schema
    of_points: bool
    may_be_open: bool = False
    static: bool = False
    """A table: complete from the start, valid for ever."""
    made_endless: bool = False
    """The output of a query that makes events that never end."""
    back: bool = False
    """The back edge of a cycle: the result that it is a part of, one epoch later."""
    of_cycle: bool = False
    """The output of a query that depends on a cycle."""

    @cached_property
    def schema(self) -> Schema:
        return self.columns

    @cached_property
    def points(self) -> bool:
        return self.of_points

    @cached_property
    def open_ended(self) -> bool:
        return self.may_be_open or self.static

    @cached_property
    def endless(self) -> bool:
        return self.made_endless or self.static

    @cached_property
    def cyclic(self) -> bool:
        return self.back or self.of_cycle

    @property
    def kind(self) -> str:
        return "table" if self.static else "back edge" if self.back else "stream"

    @property
    def label(self) -> str:
        shape = " of points" if self.of_points else " open-ended" if self.may_be_open else ""
        return f"{self.kind} {self.stream} ({self.columns}){shape}"


@dataclass(frozen=True, eq=False)
class Unary(Node):
    """Over one input; unless it says otherwise, with the same columns."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True, eq=False)
class Ended(Unary):
    """Whatever goes in, every result ends."""

    @cached_property
    def open_ended(self) -> bool:
        return False

    @cached_property
    def endless(self) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class Filter(Unary):
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
    def stateless(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return f"filter {self.predicate!r}"


@dataclass(frozen=True, eq=False)
class Project(Unary):
    columns: tuple[tuple[str, Expr], ...]

    def __post_init__(self) -> None:
        assert self.schema  # checks names and types now, where the user's line is on the stack

    @cached_property
    def schema(self) -> Schema:
        types = {name: expr.type_in(self.input.schema) for name, expr in self.columns}
        if len(types) < len(self.columns):
            names = [name for name, _ in self.columns]
            raise ConfigError("SCHEMA.DUPLICATE_COLUMN", column=next(n for n in names if names.count(n) > 1))
        return Schema.of({name: "string" if kind == "null" else kind for name, kind in types.items()})

    @property
    def stateless(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return "project " + ", ".join(name if repr(e) == name else f"{e!r} as {name}" for name, e in self.columns)


@dataclass(frozen=True, eq=False)
class Explode(Unary):
    """Select-many: one event for every element of an array, with the same lifetime; none for an empty one or null."""

    column: str
    array: Expr

    def __post_init__(self) -> None:
        assert self.schema

    @cached_property
    def schema(self) -> Schema:
        kind = self.array.type_in(self.input.schema)
        element = element_type(kind)
        if element is None:
            fix = "It takes an array, such as wc.split(wc.col('text'), ' ') or wc.array(a, b)."
            raise ConfigError("EXPR.WRONG_TYPE", what=f"explode of {self.array!r}", types=kind, fix=fix)
        return Schema.of({**dict(self.input.schema), self.column: element})

    @property
    def stateless(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return f"explode {self.array!r} as {self.column}"


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
