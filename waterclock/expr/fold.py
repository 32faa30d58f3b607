"""Constant folding: what follows from constants alone is computed once, by the same rendering that would run."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from waterclock.expr.functions import FUNCTIONS, UNKNOWN
from waterclock.expr.nodes import Call, Cast, Expr, Literal, constant, lit
from waterclock.expr.polars import to_polars
from waterclock.expr.rewrite import has_user_code, parts, rebuilt
from waterclock.schema import VS, Schema

_KINDS = ("boolean", "int", "bigint", "double", "string", "null")
"""Types whose constants can be told apart by how they are written."""


def folded(expr: Expr, schema: Schema) -> Expr:
    """The same value in every row, with its constant parts computed. User code is never called."""
    made = rebuilt(expr, [folded(part, schema) for part in parts(expr)])
    if made is not expr and made.type_in(schema) != expr.type_in(schema):
        return expr
    shorter = _logic(made, schema)
    return _computed(made, schema) if shorter is None else shorter


def is_literal(expr: Expr, value: bool) -> bool:
    return isinstance(expr, Literal) and expr.value is value


def _logic(expr: Expr, schema: Schema) -> Expr | None:
    """AND and OR with a constant."""
    if not isinstance(expr, Call) or expr.function not in ("and", "or"):
        return None
    neutral = expr.function == "and"
    for one, other in (expr.args, expr.args[::-1]):
        if is_literal(one, neutral) and other.type_in(schema) == "boolean":
            return other
        if is_literal(one, not neutral) and not has_user_code(other):
            return one
    return None


def _is_constant(expr: Expr) -> bool:
    return isinstance(expr.arg if isinstance(expr, Cast) else expr, Literal) or constant(expr) is not UNKNOWN


def _computed(expr: Expr, schema: Schema) -> Expr:
    if isinstance(expr, Call):
        possible = constant(expr) is UNKNOWN and not FUNCTIONS[expr.function].approximate
    else:
        possible = isinstance(expr, Cast)
    kind = expr.type_in(schema)
    if not possible or kind not in _KINDS or not all(_is_constant(part) for part in parts(expr)):
        return expr
    try:
        value = pl.DataFrame({VS: [0]}).select(to_polars(expr, schema)).item()
    except Exception:
        return expr  # it fails where it is used, if it is
    made = _written(value, kind)
    return expr if made is None else made


def _written(value: Any, kind: str) -> Expr | None:
    """A constant of exactly that type; one that would be read as another type has a cast around it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    plain = lit(value)
    assert isinstance(plain, Literal)
    if plain.type == kind:
        return plain
    return Cast(plain, kind) if value is None or (plain.type, kind) == ("int", "bigint") else None
