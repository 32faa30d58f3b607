"""Expressions and aggregates of the case file.

A string is a field, anything else that is no list a constant; ``["const", x]``, ``[op, a, b]``,
``["in", field, [literals]]``. Aggregates are ``[function, field, argument]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from waterclock.expr.nodes import Expr, call, col, lit
from waterclock.plan import Aggregate
from waterclock.schema import INTEGERS, Schema


class BadCase(Exception):
    """The case cannot be read: an operator, parameter or function that is not known."""


Fields = Callable[[str], Expr]
"""What a field name stands for."""


def expression(tree: Any, schema: Schema, fields: Fields = col) -> Expr:
    if isinstance(tree, str):
        return fields(tree)
    if not isinstance(tree, list):
        return lit(tree)
    if not tree or not isinstance(tree[0], str):
        raise BadCase(f"{tree!r} is no expression")
    op, *rest = tree
    if op == "const":
        return lit(rest[0])
    if op == "in":
        return expression(rest[0], schema, fields).is_in(rest[1])
    args = [expression(arg, schema, fields) for arg in rest]
    if op in ("and", "or") and args:
        return reduce(lambda a, b: call(op, a, b), args)
    if op in ("//", "%") and len(args) == 2:
        return _rounded_down(op, args[0], args[1], schema)
    if (op, len(args)) in SIMPLE:
        return SIMPLE[op, len(args)](*args)
    raise BadCase(f"unknown expression {tree!r}")


SIMPLE: dict[tuple[str, int], Callable[..., Expr]] = {
    ("==", 2): lambda a, b: call("eq", a, b),
    ("!=", 2): lambda a, b: call("ne", a, b),
    (">", 2): lambda a, b: a > b,
    (">=", 2): lambda a, b: a >= b,
    ("<", 2): lambda a, b: a < b,
    ("<=", 2): lambda a, b: a <= b,
    ("+", 2): lambda a, b: a + b,
    ("-", 2): lambda a, b: a - b,
    ("-", 1): lambda a: -a,
    ("*", 2): lambda a, b: a * b,
    ("/", 2): lambda a, b: a / b,
    ("not", 1): lambda a: ~a,
    ("int", 1): lambda a: a.cast("bigint"),
    ("is_null", 1): lambda a: a.is_null(),
}


def _rounded_down(op: str, a: Expr, b: Expr, schema: Schema) -> Expr:
    """The file's ``//`` and ``%`` round down, SQL's towards zero."""
    modulo = ((a % b) + b) % b
    if op == "%":
        return modulo
    whole = all(arg.type_in(schema) in INTEGERS for arg in (a, b))
    return (a - modulo) // b if whole else (a - modulo) / b


FUNCTIONS: Mapping[str, tuple[str, bool]] = {
    "count_not_null": ("count", False),
    "count_distinct": ("count_distinct", False),
    "approx_count_distinct": ("approx_count_distinct", False),
    "sum": ("sum", False),
    "avg": ("avg", False),
    "min": ("min", False),
    "max": ("max", False),
    "variance": ("variance", False),
    "var_pop": ("var_pop", False),
    "stddev": ("stddev", False),
    "stddev_pop": ("stddev_pop", False),
    "first": ("first", False),
    "last": ("last", False),
    "collect_list": ("collect_list", False),
    "pct_disc": ("percentile_disc", True),
    "pct_cont": ("percentile_cont", True),
    "percentile_disc": ("percentile_disc", True),
    "percentile_cont": ("percentile_cont", True),
    "topk": ("top_k", True),
    "top_k": ("top_k", True),
}
"""By name in the file: ours, and whether it takes a number."""


def aggregates(given: Any, schema: Schema) -> tuple[tuple[str, Aggregate], ...]:
    if not isinstance(given, dict):
        raise BadCase(f"aggs is {given!r}, not an object")
    return tuple((name, _aggregate(tree, schema)) for name, tree in given.items())


def _aggregate(tree: Any, schema: Schema) -> Aggregate:
    parts: list[Any] = [tree] if isinstance(tree, str) else list(tree)
    function, args = parts[0], parts[1:]
    if function == "count" and not args:
        return Aggregate("count")
    if function == "count":
        function = "count_not_null"
    if function == "count_where" and len(args) == 1:
        return Aggregate("count", where=expression(args[0], schema))
    ours, takes = FUNCTIONS.get(function, ("", False))
    if not ours or len(args) != 1 + takes:
        raise BadCase(f"unknown aggregate {tree!r}")
    return Aggregate(ours, expression(args[0], schema), param=args[1] if takes else None)
