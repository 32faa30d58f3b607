"""Renders the tree to Polars."""

from __future__ import annotations

import polars as pl

from waterclock.expr.casts import cast_polars
from waterclock.expr.functions import FUNCTIONS, ByType
from waterclock.expr.functions.base import coerced
from waterclock.expr.nodes import Call, Cast, Column, End, Expr, Literal, Start, UserCall, constant
from waterclock.schema import TYPES, VE, VS, Schema
from waterclock.time import FOREVER


def to_polars(expr: Expr, schema: Schema) -> pl.Expr:
    """The Polars form of ``expr`` over ``schema``; it and its parts are of exactly the types that ``type_in`` says."""
    if isinstance(expr, Column):
        return pl.col(expr.name)
    if isinstance(expr, Start):
        return pl.col(VS).cast(TYPES["timestamp"])
    if isinstance(expr, End):
        return pl.when(pl.col(VE) < FOREVER).then(pl.col(VE)).cast(TYPES["timestamp"])
    if isinstance(expr, Literal):
        return pl.lit(expr.value, dtype=TYPES.get(expr.type))
    if isinstance(expr, Cast):
        return cast_polars(to_polars(expr.arg, schema), expr.arg.type_in(schema), expr.to)
    if isinstance(expr, UserCall):
        return _user_call(expr, schema)
    assert isinstance(expr, Call)
    return _call(expr, schema)


def _call(expr: Call, schema: Schema) -> pl.Expr:
    function, args = FUNCTIONS[expr.function], expr.complete
    kinds, result = expr.resolved(schema)
    if result == "null":
        return pl.lit(None)
    given: list[object] = []
    for arg, kind, parameter in zip(args, kinds, function.matched(len(args)) or (), strict=True):
        if not parameter.constant:
            given.append(coerced(to_polars(arg, schema), arg.type_in(schema), kind))
            continue
        value = constant(arg)
        if value is None:
            return pl.lit(None, dtype=TYPES[result])
        given.append(value)
    form = function.polars.make(kinds, result) if isinstance(function.polars, ByType) else function.polars
    rendered: pl.Expr = form(*given)
    return rendered.cast(TYPES[result])


def _user_call(expr: UserCall, schema: Schema) -> pl.Expr:
    function = expr.function
    named = pl.struct(to_polars(arg, schema).alias(str(number)) for number, arg in enumerate(expr.args))
    # Not called elementwise: otherwise Polars would show it rows that a filter before it drops.
    return named.map_batches(
        lambda rows: function.run(rows.struct.unnest().get_columns()), return_dtype=TYPES[function.returns]
    )
