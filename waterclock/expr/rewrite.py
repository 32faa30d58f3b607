"""Expressions made anew from parts of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from waterclock.expr.functions import arithmetic, comparison, conditional
from waterclock.expr.nodes import Call, Cast, Column, End, Expr, UserCall, call

_LIGHT = {function.name for family in (arithmetic, comparison, conditional) for function in family.TABLE}
_FEW = 8
"""So many light calls may be made once more."""


def parts(expr: Expr) -> tuple[Expr, ...]:
    """What an expression is made of, one step down."""
    if isinstance(expr, Call | UserCall):
        return expr.args
    return (expr.arg,) if isinstance(expr, Cast) else ()


def rebuilt(expr: Expr, args: Sequence[Expr]) -> Expr:
    """The same expression over other parts."""
    if all(old is new for old, new in zip(parts(expr), args, strict=True)):
        return expr
    if isinstance(expr, Call | UserCall):
        return replace(expr, args=tuple(args))
    assert isinstance(expr, Cast)
    return Cast(args[0], expr.to)


def substituted(expr: Expr, columns: Mapping[str, Expr]) -> Expr:
    """With expressions in the place of columns; columns that are not named stay."""
    if isinstance(expr, Column):
        return columns.get(expr.name, expr)
    return rebuilt(expr, [substituted(part, columns) for part in parts(expr)])


def every_part(expr: Expr) -> list[Expr]:
    """It and all it is made of."""
    return [expr, *(inner for part in parts(expr) for inner in every_part(part))]


def has_user_code(expr: Expr) -> bool:
    return any(isinstance(part, UserCall) for part in every_part(expr))


def reads_end(expr: Expr) -> bool:
    """Whether it looks at the end of the event."""
    return any(isinstance(part, End) for part in every_part(expr))


def is_light(expr: Expr) -> bool:
    """Whether computing it twice is nothing against moving a row: a few calls of arithmetic and comparison."""
    calls = [part for part in every_part(expr) if parts(part)]
    return len(calls) <= _FEW and all(not isinstance(e, UserCall) and _is_light_call(e) for e in calls)


def _is_light_call(expr: Expr) -> bool:
    return isinstance(expr, Cast) or (isinstance(expr, Call) and expr.function in _LIGHT)


def conjuncts(predicate: Expr) -> list[Expr]:
    """The conditions that must all hold."""
    if isinstance(predicate, Call) and predicate.function == "and":
        return [part for arg in predicate.args for part in conjuncts(arg)]
    return [predicate]


def conjunction(predicates: Sequence[Expr]) -> Expr:
    """One condition of several, in their order."""
    return reduce(lambda one, other: call("and", one, other), predicates)
