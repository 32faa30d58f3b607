"""Counts, extremes, first and last."""

from __future__ import annotations

import polars as pl

from waterclock.operators.aggregates.base import Algebra, Parts


class Count(Algebra):
    """Number of non-null values (the caller passes a literal to count events)."""

    parts = ("n",)
    way = "subtract"

    def value(self, arg: pl.Expr, kind: str) -> pl.Expr:
        return arg.cast(pl.Boolean) if kind == "null" else arg

    def initial(self) -> tuple[object, ...]:
        return (0,)

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> Parts:
        return (value.count().cast(pl.Int64),)

    def merge(self, *parts: pl.Expr) -> Parts:
        return (parts[0].sum(),)

    def result(self, *parts: pl.Expr) -> pl.Expr:
        return parts[0]


class Min(Algebra):
    """Least non-null value."""

    parts = ("v",)

    def initial(self) -> tuple[object, ...]:
        return (None,)

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> Parts:
        return (value.min(),)

    def merge(self, *parts: pl.Expr) -> Parts:
        return (parts[0].min(),)

    def result(self, *parts: pl.Expr) -> pl.Expr:
        return parts[0]


class Max(Min):
    """Greatest non-null value; NaN is greater than every number."""

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> Parts:
        return (value.nan_max(),)

    def merge(self, *parts: pl.Expr) -> Parts:
        return (parts[0].nan_max(),)


class First(Algebra):
    """The value of the earliest start; of simultaneous ones the least."""

    parts = ("t", "v")

    def initial(self) -> tuple[object, ...]:
        return (None, None)

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> Parts:
        return self.merge(pl.when(value.is_not_null()).then(start), value)

    def merge(self, *parts: pl.Expr) -> Parts:
        time, value = parts
        return time.min(), value.filter(time == time.min()).sort().first()

    def result(self, *parts: pl.Expr) -> pl.Expr:
        return parts[1]


class Last(First):
    """The value of the latest start; of simultaneous ones the greatest."""

    def merge(self, *parts: pl.Expr) -> Parts:
        time, value = parts
        return time.max(), value.filter(time == time.max()).sort(descending=True).first()
