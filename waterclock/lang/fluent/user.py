"""Decorators that make aggregates and operators of users' code; scalar functions are in ``waterclock.expr.user``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr, as_expr
from waterclock.plan.user import UserAggregate
from waterclock.schema import VS, Schema, type_name
from waterclock.time import Duration, micros, show_duration
from waterclock.usercode import Code, register
from waterclock.usercode.aggregate import AggregateCode
from waterclock.usercode.stepper import OperatorCode


class AggregateFunction:
    """A registered aggregate: called with a column it is what ``agg`` takes."""

    kind = "aggregate"

    def __init__(self, declared: AggregateCode) -> None:
        self.declared = declared
        self.code = declared.code
        self.name = declared.code.name
        self.__doc__ = declared.code.function.__doc__

    def __call__(self, value: object, *arguments: object, where: Expr | None = None) -> UserAggregate:
        """Over a column or an expression; further arguments go to the class."""
        made = replace(self.declared, arguments=arguments)
        assert made.label
        return UserAggregate(self.name, as_expr(value), where, algebra=made)

    def __repr__(self) -> str:
        return f"<aggregate {self.name} returns {self.declared.returns}>"


def aggregate(
    returns: object, parts: Mapping[str, object], *, additive: bool = False, name: str | None = None
) -> Callable[[type], AggregateFunction]:
    """Makes an aggregate of a class with ``initial``, ``accumulate``, ``merge`` and ``result`` over Polars expressions.

    ``parts`` are the names and types of what is kept of a bag of values. ``accumulate(value, start)`` makes them of the
    rows of a group, ``merge(*parts)`` of the parts of several, ``result(*parts)`` gives the value, ``initial()`` the
    parts of nothing. ``additive`` says that the parts are whole numbers and merging adds them up: overlapping windows
    then subtract what leaves. ``wc.check_aggregate`` tries its laws.
    """
    kinds = tuple((part, type_name(kind)) for part, kind in parts.items())
    if not kinds:
        raise ConfigError("CONFIG.BAD_OPTION", option="parts", value=parts, fix="Name at least one part and its type.")
    if additive and any(kind not in ("int", "bigint") for _, kind in kinds):
        fix = "Only whole numbers can be subtracted again exactly."
        raise ConfigError("CONFIG.BAD_OPTION", option="additive", value=additive, fix=fix)
    result = type_name(returns)

    def decorate(found: type) -> AggregateFunction:
        for method in ("initial", "accumulate", "merge", "result"):
            if not callable(getattr(found, method, None)):
                fix = f"Write a class with the method {method}."
                raise ConfigError("USER.NOT_CODE", what="an aggregate", found=repr(found), fix=fix)
        made = AggregateFunction(AggregateCode(Code.of(found, name), result, kinds, additive))
        register(made)
        return made

    return decorate


class OperatorFunction:
    """A registered operator, for ``apply``. One that is a class is first called with its arguments."""

    kind = "operator"

    def __init__(self, declared: OperatorCode) -> None:
        self.declared = declared
        self.code = declared.code
        self.name = declared.code.name
        self.__doc__ = declared.code.function.__doc__

    def __call__(self, *arguments: object) -> OperatorFunction:
        if not inspect.isclass(self.code.function):
            fix = "Give it to apply as it is: stream.apply(operator)."
            raise ConfigError("USER.BAD_ARGUMENTS", name=self.name, reason="it is a function", fix=fix)
        return OperatorFunction(replace(self.declared, arguments=arguments))

    def on_step(
        self, events: pl.DataFrame | Sequence[Mapping[str, Any]], state: pl.DataFrame | Sequence[Mapping[str, Any]] = ()
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Its results and new state for one step, here and now: to try it, and to do again what failed."""
        declared = self.declared
        given = events if isinstance(events, pl.DataFrame) else pl.DataFrame(events)
        kept = state if isinstance(state, pl.DataFrame) else pl.DataFrame(state, schema=declared.no_state().schema)
        first = int(given[VS][0]) if VS in given.columns else 0
        return declared.run(first - (first - declared.offset) % declared.every, given, kept)

    def __repr__(self) -> str:
        return f"<operator {self.name} returns ({self.declared.returns})>"


def operator(
    returns: Mapping[str, object], *, every: Duration, state: Mapping[str, object] | None = None,
    timeout: Duration | None = None, offset: Duration = 0, name: str | None = None,
) -> Callable[[Callable[..., Any]], OperatorFunction]:  # fmt: skip
    """Makes an operator: per key and step of time, a frame of events in, a frame of results out.

    It is called with the events that start in a step of length ``every``, in order, with their lifetimes in ``_vs`` and
    ``_ve``: ``f(events)``. With ``state`` (columns and types) also with the state's rows as they were left, and then it
    gives a pair, results and new state: ``f(events, state)``. Results live as long as the step unless they have columns
    ``_vs`` and ``_ve``. The state of a key is forgotten ``timeout`` after its last step. Of a class it is ``step``.
    """
    length, limit = micros(every), None if timeout is None else micros(timeout)
    for what, value in (("the step of an operator", length), ("the timeout of an operator", limit)):
        if value is not None and value <= 0:
            raise ConfigError("PLAN.BAD_DURATION", what=what, value=show_duration(value))
    columns = Schema.of(returns)
    kept = None if state is None else Schema.of(state)

    def decorate(found: Callable[..., Any]) -> OperatorFunction:
        if inspect.isclass(found) and not callable(getattr(found, "step", None)):
            fix = "Write a class with the method step(events) or step(events, state)."
            raise ConfigError("USER.NOT_CODE", what="an operator", found=repr(found), fix=fix)
        code = Code.of(found, name)
        _check_parameters(code, state is not None)
        made = OperatorFunction(OperatorCode(code, length, columns, kept, limit, micros(offset)))
        register(made)
        return made

    return decorate


def _check_parameters(code: Code, has_state: bool) -> None:
    """It must take what it will be called with: said where it is declared, not in its first step."""
    given = ("events", "state") if has_state else ("events",)
    is_class = inspect.isclass(code.function)
    called = code.function.step if is_class else code.function
    try:
        inspect.signature(called).bind(*(("self", *given) if is_class else given))
    except TypeError as error:
        shape = f"{'step' if is_class else code.name}({', '.join(given)})"
        fix = f"{'With' if has_state else 'Without'} state= it is called as {shape}."
        raise ConfigError("USER.BAD_ARGUMENTS", name=code.name, reason=error, fix=fix) from None
