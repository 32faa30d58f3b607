"""Renders the tree to Polars."""

from __future__ import annotations

import polars as pl

from waterclock.expr.functions import FUNCTIONS
from waterclock.expr.nodes import Call, Cast, Column, End, Expr, Literal, Start, UserCall
from waterclock.schema import NUMBERS, TYPES, VE, VS, Schema
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
        return _cast(to_polars(expr.arg, schema), expr.arg.type_in(schema), expr.to)
    if isinstance(expr, UserCall):
        return _user_call(expr, schema)
    assert isinstance(expr, Call)
    kind = expr.type_in(schema)
    if kind == "null":
        return pl.lit(None)
    args = [to_polars(arg, schema) for arg in expr.args]
    if kind in NUMBERS:
        args = [a.cast(TYPES[kind]) if e.type_in(schema) == "null" else a for a, e in zip(args, expr.args, strict=True)]
    rendered = FUNCTIONS[expr.function].polars(*args)
    return rendered.cast(TYPES[kind])


def _user_call(expr: UserCall, schema: Schema) -> pl.Expr:
    function = expr.function
    named = pl.struct(to_polars(arg, schema).alias(str(number)) for number, arg in enumerate(expr.args))
    # Not called elementwise: otherwise Polars would show it rows that a filter before it drops.
    return named.map_batches(
        lambda rows: function.run(rows.struct.unnest().get_columns()), return_dtype=TYPES[function.returns]
    )


def _cast(value: pl.Expr, kind: str, to: str) -> pl.Expr:
    """Null where a value does not fit, as a quotient by zero is null: one bad value must not stop a stream."""
    if kind != "string" or to not in ("boolean", "date", "timestamp"):
        return value.cast(TYPES[to], strict=False)
    if to == "boolean":
        lowered = value.str.to_lowercase()
        known = pl.when(lowered.is_in(["true", "t", "1"])).then(True)
        return known.when(lowered.is_in(["false", "f", "0"])).then(False).otherwise(None)
    if to == "date":
        return value.str.to_date("%Y-%m-%d", strict=False)
    # Formats are given, not guessed: a guess from the first row would depend on how rows are cut into epochs.
    plain = value.str.replace("T", " ", literal=True).str.strip_suffix("Z")
    forms = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M")
    return pl.coalesce(
        *(plain.str.to_datetime(form, time_unit="us", time_zone="UTC", strict=False) for form in forms),
        value.str.to_date("%Y-%m-%d", strict=False).cast(TYPES["timestamp"]),
    )
