"""Filters that Spark pushes down, as expressions of Polars; those that could mean something else are not taken."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

import polars as pl
from pyspark.sql import datasource as spark

from waterclock.connect.validity import FROM, TO
from waterclock.schema import TYPES, VE, VS
from waterclock.streams.border import EVER
from waterclock.time import BEGINNING, FOREVER, instant

_VALUES = {
    "boolean": bool, "int": int, "bigint": int, "float": float, "double": float, "string": str, "date": date,
    "timestamp": datetime,
}  # fmt: skip
"""What a literal for a column has to be, exactly."""
_COMPARED: dict[type, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    spark.EqualTo: operator.eq, spark.EqualNullSafe: pl.Expr.eq_missing,
    spark.GreaterThan: operator.gt, spark.GreaterThanOrEqual: operator.ge,
    spark.LessThan: operator.lt, spark.LessThanOrEqual: operator.le,
}  # fmt: skip
_TEXT: dict[type, Callable[[pl.Expr, str], pl.Expr]] = {
    spark.StringStartsWith: lambda column, text: column.str.starts_with(text),
    spark.StringEndsWith: lambda column, text: column.str.ends_with(text),
    spark.StringContains: lambda column, text: column.str.contains(text, literal=True),
}


def column(name: str) -> pl.Expr:
    """A column as Spark sees it: ends of lifetimes that are open are null."""
    if name == FROM:
        return pl.when(pl.col(VS) != EVER).then(pl.col(VS)).cast(TYPES["timestamp"])
    if name == TO:
        return pl.when(pl.col(VE) != FOREVER).then(pl.col(VE)).cast(TYPES["timestamp"])
    return pl.col(name)


def to_polars(given: spark.Filter, kinds: Mapping[str, str]) -> pl.Expr | None:
    """True for exactly the rows that Spark would keep, or None: nulls, NaN and the order of texts are alike in both."""
    if isinstance(given, spark.Not):
        inner = to_polars(given.child, kinds)
        return None if inner is None else ~inner
    path: tuple[str, ...] = getattr(given, "attribute", ())
    kind = kinds.get(path[0]) if len(path) == 1 else None  # else it is a field of a struct
    if kind is None:
        return None
    found = column(path[0])
    if isinstance(given, spark.IsNull):
        return found.is_null()
    if isinstance(given, spark.IsNotNull):
        return found.is_not_null()
    value: Any = getattr(given, "value", None)
    if isinstance(given, spark.In):
        if kind in ("float", "double") or not all(_is_a(kind, each) for each in value):
            return None
        return pl.any_horizontal(False, *(found == pl.lit(each, TYPES[kind]) for each in value))
    if not _is_a(kind, value):
        return None
    if type(given) in _TEXT:
        return _TEXT[type(given)](found, value)
    compared = _COMPARED.get(type(given))
    return None if compared is None else compared(found, pl.lit(value, TYPES[kind]))


def _is_a(kind: str, value: Any) -> bool:
    if type(value) is not _VALUES.get(kind):
        return False
    if isinstance(value, int) and kind == "int":
        return -(2**31) <= value < 2**31
    return not isinstance(value, datetime) or value.tzinfo is not None


def starts(given: spark.Filter) -> tuple[int, int]:
    """Between which starts, both included, the rows are that a filter keeps: whole segments need not be read."""
    if getattr(given, "attribute", None) == (FROM,) and isinstance(value := getattr(given, "value", None), datetime):
        at = instant(value)
        if isinstance(given, spark.EqualTo | spark.EqualNullSafe):
            return at, at
        if isinstance(given, spark.GreaterThan | spark.GreaterThanOrEqual):
            return at, FOREVER
        if isinstance(given, spark.LessThan | spark.LessThanOrEqual):
            return BEGINNING, at
    return BEGINNING, FOREVER
