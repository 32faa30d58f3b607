"""Sums, means and variances of whole numbers: exact, in 128 bits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl

from waterclock.operators.aggregates.base import Algebra, Parts, one_by_one, root, rounded

_LOW = 2**64
_FITS = 2.0**124


class WholeSum(Algebra):
    """Null when there is no value. A sum that does not fit is an error of the result, not of a partial sum."""

    parts = ("s", "n")
    way = "subtract"

    def value(self, arg: pl.Expr, kind: str) -> pl.Expr:
        return arg.cast(pl.Int64)

    def initial(self) -> tuple[object, ...]:
        return (0, 0)

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> Parts:
        return value.cast(pl.Int128).sum(), value.count().cast(pl.Int64)

    def merge(self, *parts: pl.Expr) -> Parts:
        return tuple(part.sum() for part in parts)

    def result(self, *parts: pl.Expr) -> pl.Expr:
        return pl.when(parts[1] > 0).then(parts[0])


class WholeAvg(WholeSum):
    def result(self, *parts: pl.Expr) -> pl.Expr:
        total, n = parts
        return pl.when(n > 0).then(quotient(total, n.cast(pl.Int128)))


def quotient(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    """The correctly rounded quotient of 128-bit integers, the divisor in 1..2**60."""
    # Scaled up so that the whole quotient has more than 55 bits; then a last bit that says "and more" rounds well.
    room = 124 - (above.abs().cast(pl.Float64) + 1).log(2).ceil()
    scale = pl.lit(2.0).pow(room)
    scaled = above * scale.cast(pl.Int128)
    whole = scaled // below
    inexact = (whole * below != scaled).cast(pl.Int128)
    return (whole | inexact).cast(pl.Float64) / scale


class WholeVariance(Algebra):
    """Number, sum and sum of squares; the latter in two parts, because a square has 126 bits."""

    parts = ("n", "s", "h", "l")
    way = "subtract"

    def __init__(self, sample: bool, root: bool) -> None:
        self._sample = sample
        self._root = root

    def value(self, arg: pl.Expr, kind: str) -> pl.Expr:
        return arg.cast(pl.Int64)

    def initial(self) -> tuple[object, ...]:
        return (0, 0, 0, 0)

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> Parts:
        wide = value.cast(pl.Int128)
        square = wide * wide
        high = square // _LOW
        return value.count().cast(pl.Int64), wide.sum(), high.sum(), (square - high * _LOW).sum()

    def merge(self, *parts: pl.Expr) -> Parts:
        return tuple(part.sum() for part in parts)

    def result(self, *parts: pl.Expr) -> pl.Expr:
        n, total, high, low = parts
        wide = n.cast(pl.Int128)
        bound = (high.cast(pl.Float64) * float(_LOW) + low.cast(pl.Float64)) * n.cast(pl.Float64)
        fits = (bound < _FITS) | (n <= 1)
        high, total = pl.when(fits).then(high).otherwise(0), pl.when(fits).then(total).otherwise(0)
        spread = wide * (high * _LOW + low) - total * total
        below = (wide * (wide - 1) if self._sample else wide * wide).cast(pl.Float64)
        fast = spread.cast(pl.Float64) / below
        if self._root:
            fast = fast.sqrt()
        slow = one_by_one(~fits, self._exact, **dict(zip(self.parts, parts, strict=True)))
        return pl.when(n > int(self._sample)).then(pl.when(fits).then(fast).otherwise(slow))

    def _exact(self, group: dict[str, Any]) -> float | None:
        """For a group whose squares do not fit 128 bits."""
        n, total, squares = group["n"], group["s"], group["h"] * _LOW + group["l"]
        variance = Fraction(n * squares - total * total, n * (n - 1) if self._sample else n * n)
        return root(variance) if self._root else rounded(variance)
