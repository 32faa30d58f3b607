"""Aggregates that need the values themselves: a sorted list is the one part."""

from __future__ import annotations

from abc import abstractmethod

import polars as pl

from waterclock.operators.aggregates.base import Algebra, Parts, Way


def flattened(lists: pl.Expr) -> pl.Expr:
    """The elements of the lists of a group."""
    return lists.explode(empty_as_null=False, keep_nulls=False)


class Bag(Algebra):
    """All non-null values, sorted; NaN is the greatest."""

    parts = ("b",)
    way: Way = "recompute"

    def initial(self) -> tuple[object, ...]:
        return ([],)

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> Parts:
        return (self._kept(value.drop_nulls()),)

    def merge(self, *parts: pl.Expr) -> Parts:
        return (self._kept(flattened(parts[0])),)

    def _kept(self, values: pl.Expr) -> pl.Expr:
        return values.sort()

    @abstractmethod
    def result(self, *parts: pl.Expr) -> pl.Expr: ...


class CollectList(Bag):
    def result(self, *parts: pl.Expr) -> pl.Expr:
        return parts[0]


class CountDistinct(Bag):
    """Each value once."""

    way: Way = "merge"

    def _kept(self, values: pl.Expr) -> pl.Expr:
        return values.unique().sort()

    def result(self, *parts: pl.Expr) -> pl.Expr:
        return parts[0].list.len().cast(pl.Int64)


class TopK(Bag):
    """The values of rank at most k, ties included: no more can ever be needed."""

    way: Way = "merge"

    def __init__(self, k: int) -> None:
        self._k = k

    def _kept(self, values: pl.Expr) -> pl.Expr:
        ordered = values.sort(descending=True)
        return ordered.filter(ordered >= ordered.head(self._k).last())

    def result(self, *parts: pl.Expr) -> pl.Expr:
        return parts[0]


class PercentileDisc(Bag):
    """Element number ceil(p * n), the first for p = 0."""

    def __init__(self, fraction: float) -> None:
        self._fraction = fraction

    def result(self, *parts: pl.Expr) -> pl.Expr:
        n = parts[0].list.len().cast(pl.Float64)
        place = pl.max_horizontal((n * self._fraction).ceil(), pl.lit(1.0))
        return parts[0].list.get(place.cast(pl.Int64) - 1, null_on_oob=True)


class PercentileCont(Bag):
    """Interpolated between the neighbours of place p * (n - 1)."""

    def __init__(self, fraction: float) -> None:
        self._fraction = fraction

    def value(self, arg: pl.Expr, kind: str) -> pl.Expr:
        return super().value(arg.cast(pl.Float64), "double")

    def result(self, *parts: pl.Expr) -> pl.Expr:
        n = parts[0].list.len().cast(pl.Float64)
        place = (n - 1) * self._fraction
        below = parts[0].list.get(place.floor().cast(pl.Int64), null_on_oob=True)
        above = parts[0].list.get(place.ceil().cast(pl.Int64), null_on_oob=True)
        part = place - place.floor()
        return pl.when(n > 0).then(pl.when(below == above).then(below).otherwise(below + (above - below) * part))
