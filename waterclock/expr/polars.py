"""Renders the tree to Polars."""

from __future__ import annotations

import polars as pl

from waterclock.expr.functions import FUNCTIONS
from waterclock.expr.nodes import Call, Cast, Column, Expr, Literal
from waterclock.schema import TYPES, Schema


def to_polars(expr: Expr, schema: Schema) -> pl.Expr:
    """The Polars form of ``expr`` over ``schema``, of exactly the type that ``type_in`` says."""
    kind = expr.type_in(schema)
    rendered = _render(expr)
    return rendered if kind == "null" or isinstance(expr, Column) else rendered.cast(TYPES[kind])


def _render(expr: Expr) -> pl.Expr:
    if isinstance(expr, Column):
        return pl.col(expr.name)
    if isinstance(expr, Literal):
        return pl.lit(expr.value, dtype=TYPES.get(expr.type))
    if isinstance(expr, Cast):
        return _render(expr.arg).cast(TYPES[expr.to])
    assert isinstance(expr, Call)
    return FUNCTIONS[expr.function].polars(*(_render(arg) for arg in expr.args))
