"""The interface of an aggregate, and the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod

import polars as pl


class Algebra(ABC):
    """Parts are columns named by the caller's prefix; ``merge`` must be associative and commutative."""

    parts: tuple[str, ...]

    @abstractmethod
    def accumulate(self, value: pl.Expr) -> tuple[pl.Expr, ...]:
        """Over the rows of a group: one expression per part."""

    @abstractmethod
    def merge(self, *parts: pl.Expr) -> tuple[pl.Expr, ...]:
        """Over the partial results of a group: one expression per part."""

    @abstractmethod
    def result(self, *parts: pl.Expr) -> pl.Expr:
        """The value of a merged group."""


class Count(Algebra):
    """Number of events; of non-null values where an argument is given (the caller passes a literal for ``*``)."""

    parts = ("n",)

    def accumulate(self, value: pl.Expr) -> tuple[pl.Expr, ...]:
        return (value.count().cast(pl.Int64),)

    def merge(self, *parts: pl.Expr) -> tuple[pl.Expr, ...]:
        return (parts[0].sum(),)

    def result(self, *parts: pl.Expr) -> pl.Expr:
        return parts[0]


class Sum(Algebra):
    """Sum of the non-null values; null when there are none."""

    parts = ("s", "n")

    def accumulate(self, value: pl.Expr) -> tuple[pl.Expr, ...]:
        return value.sum(), value.count().cast(pl.Int64)

    def merge(self, *parts: pl.Expr) -> tuple[pl.Expr, ...]:
        return parts[0].sum(), parts[1].sum()

    def result(self, *parts: pl.Expr) -> pl.Expr:
        return pl.when(parts[1] > 0).then(parts[0])


class Avg(Sum):
    """Mean of the non-null values; null when there are none."""

    def result(self, *parts: pl.Expr) -> pl.Expr:
        return pl.when(parts[1] > 0).then(parts[0].cast(pl.Float64) / parts[1])


class Min(Algebra):
    parts = ("v",)

    def accumulate(self, value: pl.Expr) -> tuple[pl.Expr, ...]:
        return (value.min(),)

    def merge(self, *parts: pl.Expr) -> tuple[pl.Expr, ...]:
        return (parts[0].min(),)

    def result(self, *parts: pl.Expr) -> pl.Expr:
        return parts[0]


class Max(Min):
    def accumulate(self, value: pl.Expr) -> tuple[pl.Expr, ...]:
        return (value.nan_max(),)  # NaN is the greatest number, as in Spark

    def merge(self, *parts: pl.Expr) -> tuple[pl.Expr, ...]:
        return (parts[0].nan_max(),)


AGGREGATES: dict[str, Algebra] = {"count": Count(), "sum": Sum(), "avg": Avg(), "min": Min(), "max": Max()}
