"""Which aggregate a reducing function is: the well-known ones are built in, any other is the user's code."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

from waterclock.expr.nodes import col
from waterclock.lang.fluent import aggregates
from waterclock.plan import Aggregate, UserAggregate
from waterclock.schema import Schema
from waterclock.usercode import Code
from waterclock.usercode.reduction import ReductionCode

BUILT_IN: dict[Any, str] = {
    operator.add: "sum", aggregates.sum: "sum", builtins.sum: "sum",
    builtins.min: "min", aggregates.min: "min", builtins.max: "max", aggregates.max: "max",
}  # fmt: skip


def reduced(function: Callable[..., Any], column: str, schema: Schema) -> Aggregate:
    """The values of a column, two at a time, down to one."""
    kind = schema.type_of(column)
    name = BUILT_IN.get(function)
    if name is not None and not (name == "sum" and kind == "string"):
        return Aggregate(name, col(column))
    made = ReductionCode(Code.of(function), kind, (("v", kind),), additive=False)
    return UserAggregate(made.code.name, col(column), algebra=made)


def combined(function: Callable[..., Any], left: Any, right: Any) -> Any:
    """Two values, as the reduction would."""
    if left is None or right is None:
        return right if left is None else left
    return _COMBINED.get(BUILT_IN.get(function, ""), function)(left, right)


def _rank(value: Any) -> tuple[bool, Any]:
    """NaN is greater than every number."""
    return value != value, value


_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "sum": operator.add,
    "min": lambda a, b: min(a, b, key=_rank),
    "max": lambda a, b: max(a, b, key=_rank),
}
