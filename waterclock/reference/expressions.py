"""Expressions over one payload, by Spark SQL's rules: null in, null out, but for the functions that say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from waterclock.expr.functions import FUNCTIONS as TABLE
from waterclock.expr.nodes import Call, Cast, Column, End, Expr, Literal, Start, UserCall
from waterclock.reference.casts import cast
from waterclock.reference.functions import LAZY, STRICT
from waterclock.reference.values import EPOCH, converted, order
from waterclock.schema import TYPES, Schema
from waterclock.time import FOREVER

__all__ = ["order", "value_of"]


def value_of(expr: Expr, row: Mapping[str, Any], schema: Schema, life: tuple[int, int] | None = None) -> Any:
    """The value of ``expr`` over one payload and lifetime."""
    if isinstance(expr, Column):
        return row[expr.name]
    if isinstance(expr, Start | End):
        return _instant(expr, life)
    if isinstance(expr, Literal):
        return EPOCH + timedelta(microseconds=expr.value) if expr.type == "timestamp" else expr.value
    if isinstance(expr, Cast):
        return cast(value_of(expr.arg, row, schema, life), expr.arg.type_in(schema), expr.to)
    if isinstance(expr, UserCall):
        return _user_value(expr, row, schema, life)
    assert isinstance(expr, Call)
    name = TABLE[expr.function].name
    if name == "unix_micros" and isinstance(expr.args[0], Start | End):
        return _micros(expr.args[0], life)  # also of times that no datetime can hold
    kinds, result = expr.resolved(schema)
    args = [converted(value_of(arg, row, schema, life), kind) for arg, kind in zip(expr.complete, kinds, strict=True)]
    if name in LAZY:
        return converted(LAZY[name](*args), result)
    if name not in STRICT:
        raise NotImplementedError(f"{name} is not in the reference: use a function that is, or compare with batch mode")
    return None if any(arg is None for arg in args) else converted(STRICT[name](*args), result)


def _user_value(expr: UserCall, row: Mapping[str, Any], schema: Schema, life: tuple[int, int] | None) -> Any:
    """By calling it on one row."""
    given = [(value_of(arg, row, schema, life), arg.type_in(schema)) for arg in expr.args]
    columns = [pl.Series([value], dtype=pl.Null() if kind == "null" else TYPES[kind]) for value, kind in given]
    return expr.function.run(columns).to_list()[0]


def _micros(expr: Start | End, life: tuple[int, int] | None) -> int | None:
    assert life is not None, "a lifetime is read where there is none"
    time = life[0] if isinstance(expr, Start) else life[1]
    return None if time == FOREVER else time


def _instant(expr: Start | End, life: tuple[int, int] | None) -> datetime | None:
    time = _micros(expr, life)
    return None if time is None else EPOCH + timedelta(microseconds=time)
