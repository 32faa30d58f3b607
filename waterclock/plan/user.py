"""User code in a plan: aggregates, state machines per key, and operators in steps of time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr
from waterclock.plan.aggregate import Aggregate
from waterclock.plan.guarded import FAIL, Attempt, Guarded, OnError
from waterclock.plan.nodes import Node
from waterclock.plan.window import Window
from waterclock.schema import Schema
from waterclock.time import show_duration
from waterclock.usercode import Code
from waterclock.usercode.aggregate import AggregateCode
from waterclock.usercode.elements import ElementCode
from waterclock.usercode.scalar import Scalar
from waterclock.usercode.stepper import OperatorCode


@dataclass(frozen=True)
class UserAggregate(Aggregate):
    """An aggregate function that the user wrote; ``function`` is its name."""

    algebra: AggregateCode | None = None

    def _type(self, kind: str) -> str:
        assert self.algebra is not None
        self.algebra.check(kind)
        return self.algebra.returns

    def __repr__(self) -> str:
        assert self.algebra is not None
        where = "" if self.where is None else f" where {self.where!r}"
        return f"{self.algebra.label}({self.arg!r}){where}"


@dataclass(frozen=True, eq=False)
class Track(Guarded):
    """A state per key, made by its first event and changed by each further one, in order of start, end and payload.

    ``initialize(key, event)`` and ``update(key, state, event)`` give the new state, None to drop it. A state is also
    dropped when ``timeout`` has passed since the last start. The result is the state from the start that made it to
    the next start of its key or to its end (``hold``), or a point at each start (``point``).
    """

    keys: tuple[str, ...]
    initialize: Code
    update: Code
    state: Schema
    timeout: int | None
    result: str = "hold"
    on_error: OnError = FAIL

    def __post_init__(self) -> None:
        if self.timeout is not None and self.timeout <= 0:
            raise ConfigError("PLAN.BAD_DURATION", what="the timeout of track", value=show_duration(self.timeout))
        if self.result not in ("hold", "point"):
            fix = "Choose 'hold' or 'point'."
            raise ConfigError("CONFIG.BAD_OPTION", option="result", value=self.result, fix=fix)
        assert self.schema
        assert self.label  # refuses code that cannot be part of a plan

    @cached_property
    def schema(self) -> Schema:
        return keyed_schema(self.input.schema, self.keys, self.state)

    @cached_property
    def points(self) -> bool:
        return self.result == "point"

    @cached_property
    def open_ended(self) -> bool:
        return self.result == "hold" and self.timeout is None

    @cached_property
    def endless(self) -> bool:
        return self.open_ended

    @property
    def task(self) -> str:
        keys = f" by {', '.join(self.keys)}" if self.keys else ""
        limit = "" if self.timeout is None else f" timeout {show_duration(self.timeout)}"
        functions = f"{self.initialize.label()}, {self.update.label()}"
        return f"track {functions} as ({self.state}){keys}{limit} result={self.result}"


@dataclass(frozen=True, eq=False)
class Apply(Guarded):
    """A user's operator: per key, it is given the events that start in each step of time, once no more can follow.

    Steps lie on a grid of event time, so nothing depends on when CTIs come. Steps without events of a key are not
    taken. Results live as long as their step unless they say otherwise.
    """

    keys: tuple[str, ...]
    operator: OperatorCode
    on_error: OnError = FAIL

    def __post_init__(self) -> None:
        assert self.schema
        assert self.label

    @cached_property
    def schema(self) -> Schema:
        return keyed_schema(self.input.schema, self.keys, self.operator.returns)

    @cached_property
    def points(self) -> bool:
        return False

    @cached_property
    def open_ended(self) -> bool:
        return True  # it may say so

    @cached_property
    def endless(self) -> bool:
        return False

    @property
    def steps(self) -> Window:
        return Window(self.operator.every, self.operator.every, self.operator.offset)

    @property
    def task(self) -> str:
        keys = f" by {', '.join(self.keys)}" if self.keys else ""
        return f"apply {self.operator.label}{keys} every {show_duration(self.operator.every)}"


@dataclass(frozen=True, eq=False)
class Elements(Guarded):
    """A user's function over each event alone, which keeps its lifetime."""

    function: ElementCode
    on_error: OnError = FAIL

    def __post_init__(self) -> None:
        assert self.label

    @cached_property
    def schema(self) -> Schema:
        return self.function.returns

    @property
    def stateless(self) -> bool:
        return True

    @property
    def task(self) -> str:
        return f"{self.function.mode} {self.function.label} as ({self.schema})"


def keyed_schema(source: Schema, keys: tuple[str, ...], columns: Schema) -> Schema:
    """Key columns, then what user code gives."""
    found = {key: source.type_of(key) for key in keys}
    for name, kind in columns:
        if name in found:
            raise ConfigError("SCHEMA.DUPLICATE_COLUMN", column=name)
        found[name] = kind
    return Schema.of(found)


UserCode = Scalar | AggregateCode | Track | Apply | Elements | Attempt


def user_code(*roots: Node) -> list[UserCode]:
    """The user code of plans, each piece once."""
    found: dict[str, UserCode] = {}
    for root in roots:
        for one in _walk(root):
            found.setdefault(one.identity if isinstance(one, Node) else one.label, one)
    return list(found.values())


def codes_of(found: UserCode) -> tuple[Code, ...]:
    """The functions and classes in it."""
    if isinstance(found, Track):
        return found.initialize, found.update
    if isinstance(found, Apply):
        return (found.operator.code,)
    if isinstance(found, Attempt):
        return ()  # its functions are found themselves
    return (found.function.code if isinstance(found, Elements) else found.code,)


def _walk(value: Any) -> Iterator[UserCode]:
    if isinstance(value, UserCode):
        yield value
    if isinstance(value, tuple):
        for one in value:
            yield from _walk(one)
    elif isinstance(value, Node | Expr | Aggregate):
        assert dataclasses.is_dataclass(value)
        for field in dataclasses.fields(value):
            yield from _walk(getattr(value, field.name))
