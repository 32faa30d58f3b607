"""Joins of two streams: by equal keys, a residual condition, and overlap in time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr, uses_time
from waterclock.plan.nodes import Node
from waterclock.schema import INTEGERS, Schema
from waterclock.time import show_duration

KINDS = ("inner", "left", "full", "semi", "anti", "clip")
ONE_SIDED = ("semi", "anti", "clip")
"""Their result has the columns of the left side alone."""


@dataclass(frozen=True, eq=False)
class Join(Node):
    """``names`` gives each column of the right side its name in the result (and in the residual condition).

    A null key equals nothing, as in SQL.
    """

    kind: str
    left: Node
    right: Node
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    residual: Expr | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError("PLAN.BAD_JOIN", kind=self.kind, choices=", ".join(KINDS))
        check_keys(self.left, self.right, self.left_keys, self.right_keys)
        if self.residual is not None:
            if uses_time(self.residual):
                raise ConfigError("PLAN.TIME_IN_JOIN", expr=repr(self.residual))
            kind = self.residual.type_in(self.pair_schema)
            if kind not in ("boolean", "null"):
                fix = "The condition of a join is a boolean, such as wc.col('x') > wc.col('y')."
                raise ConfigError("EXPR.WRONG_TYPE", what="join", types=kind, fix=fix)
        assert self.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @cached_property
    def pair_schema(self) -> Schema:
        """The columns of both sides."""
        return pair_schema(self.left, self.right, self.names)

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema if self.kind in ONE_SIDED else self.pair_schema

    @cached_property
    def points(self) -> bool:
        if self.kind == "inner":
            return self.left.points or self.right.points
        return all(node.points for node in self.inputs) if self.kind == "full" else self.left.points

    @cached_property
    def open_ended(self) -> bool:
        return self._both("open_ended")

    @cached_property
    def endless(self) -> bool:
        return self._both("endless") and self.kind != "clip"

    def _both(self, what: str) -> bool:
        left, right = bool(getattr(self.left, what)), bool(getattr(self.right, what))
        if self.kind == "inner":
            return left and right
        return left or right if self.kind == "full" else left

    @property
    def label(self) -> str:
        keys = ", ".join(f"{a} == {b}" for a, b in zip(self.left_keys, self.right_keys, strict=True))
        where = "" if self.residual is None else f" where {self.residual!r}"
        return f"{self.kind} join on {keys or 'nothing'}{where}{show_names(self.right, self.names)}"


@dataclass(frozen=True, eq=False)
class AsOf(Node):
    """Each left event with the last right events of its key that started at or before its start.

    Only starts count; the result has the lifetime of the left event. Rights that started together all match.
    ``tolerance`` bounds how far back; ``kind`` is inner or left (null-extended where there is none).
    """

    kind: str
    left: Node
    right: Node
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    tolerance: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("inner", "left"):
            raise ConfigError("PLAN.BAD_JOIN", kind=self.kind, choices="inner, left")
        if self.tolerance is not None and self.tolerance < 0:
            raise ConfigError("PLAN.BAD_DURATION", what="tolerance", value=show_duration(self.tolerance))
        check_keys(self.left, self.right, self.left_keys, self.right_keys)
        assert self.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @cached_property
    def schema(self) -> Schema:
        return pair_schema(self.left, self.right, self.names)

    @cached_property
    def points(self) -> bool:
        return self.left.points

    @cached_property
    def open_ended(self) -> bool:
        return self.left.open_ended

    @cached_property
    def endless(self) -> bool:
        return self.left.endless

    @property
    def label(self) -> str:
        keys = ", ".join(f"{a} == {b}" for a, b in zip(self.left_keys, self.right_keys, strict=True))
        within = "" if self.tolerance is None else f" within {show_duration(self.tolerance)}"
        return f"{self.kind} as-of join on {keys or 'nothing'}{within}{show_names(self.right, self.names)}"


def show_names(right: Node, names: tuple[tuple[str, str], ...]) -> str:
    """The right columns that have another name in the result, and those that have none."""
    given = dict(names)
    shown = [f"{a} as {b}" for a, b in names if a != b]
    shown += [f"without {name}" for name in right.schema.names if name not in given]
    return f" ({', '.join(shown)})" if shown else ""


def pair_schema(left: Node, right: Node, names: tuple[tuple[str, str], ...]) -> Schema:
    columns = dict(left.schema)
    for source, name in names:
        if name in columns:
            raise ConfigError("SCHEMA.DUPLICATE_COLUMN", column=name)
        columns[name] = right.schema.type_of(source)
    return Schema.of(columns)


def check_keys(left: Node, right: Node, left_keys: tuple[str, ...], right_keys: tuple[str, ...]) -> None:
    if len(left_keys) != len(right_keys):
        raise ConfigError("PLAN.JOIN_KEYS", left=", ".join(left_keys), right=", ".join(right_keys))
    for a, b in zip(left_keys, right_keys, strict=True):
        one, other = left.schema.type_of(a, "the left side"), right.schema.type_of(b, "the right side")
        if one != other and not (one in INTEGERS and other in INTEGERS):
            raise ConfigError("PLAN.JOIN_TYPES", left=a, left_type=one, right=b, right_type=other)
