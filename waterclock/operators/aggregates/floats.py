"""Sums, means and variances of floating-point numbers that do not depend on the order of adding.

A sum is exact until its result is rounded. A number x is cut in two whole numbers, ``x = high / 2**20 + low / 2**107``,
which are added up in 128 bits; this takes every number from about 3e-17 to 1e20 and has room for 2**40 of them. The
few others, infinities and NaN are kept as they are.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import polars as pl

from waterclock.operators.aggregates.bags import Bag, flattened
from waterclock.operators.aggregates.base import Algebra, Parts, canonical, one_by_one, root, rounded

_UNIT = 20
_BITS = 87
_SMALLEST, _LARGEST = 2.0**-55, 2.0**67
_TINY, _HUGE = 1e-140, 1e140


class FloatSum(Algebra):
    """The sum correctly rounded, as IEEE 754 has it for infinities and NaN; null when there is no value."""

    parts = ("h", "l", "n", "x")

    def value(self, arg: pl.Expr, kind: str) -> pl.Expr:
        return arg.cast(pl.Float64)

    def initial(self) -> tuple[object, ...]:
        return (0, 0, 0, [])

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> Parts:
        special = self.special(value)
        high, low, *_ = self.accumulate_plain(pl.when(~special).then(value), start)
        return high, low, value.count().cast(pl.Int64), value.filter(special).sort()

    def merge(self, *parts: pl.Expr) -> Parts:
        return *(part.sum() for part in parts[:3]), flattened(parts[3]).sort()

    def special(self, value: pl.Expr) -> pl.Expr:
        size = value.abs()
        return (size >= _LARGEST) | ((size < _SMALLEST) & (size != 0))

    def special_parts(self, *parts: pl.Expr) -> pl.Expr:
        return parts[3].list.len() > 0

    def accumulate_plain(self, value: pl.Expr, start: pl.Expr) -> Parts:
        high, low = (part.cast(pl.Int128).sum() for part in _cut(value))
        return high, low, value.count().cast(pl.Int64), pl.lit([], dtype=pl.List(pl.Float64))

    def merge_plain(self, *parts: pl.Expr) -> Parts:
        return *(part.sum() for part in parts[:3]), parts[3].first()

    def result(self, *parts: pl.Expr) -> pl.Expr:
        high, low, n, others = parts
        special = self.special_parts(*parts)
        exact = one_by_one(special, _total, h=high, l=low, x=others)
        return pl.when(n > 0).then(pl.when(special).then(exact).otherwise(_rounded(high, low)))


class FloatAvg(FloatSum):
    """The rounded sum divided by the number of values."""

    def result(self, *parts: pl.Expr) -> pl.Expr:
        return super().result(*parts) / parts[2]


def _cut(value: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """High and low part as whole floats; both steps are exact."""
    scaled = value * 2.0**_UNIT
    high = scaled.truncate()
    return high, (scaled - high) * 2.0**_BITS


def _rounded(high: pl.Expr, low: pl.Expr) -> pl.Expr:
    """``high / 2**20 + low / 2**107``, correctly rounded.

    The conversion of an integer rounds well, so the two are put into one of 128 bits. Where bits are left over, a last
    bit stands for them; it lies behind the bits that decide the rounding.
    """
    carry = low // 2**_BITS
    high, low = high + carry, low - carry * 2**_BITS  # now 0 <= low < 2**87
    large = high | (low != 0).cast(pl.Int128)
    cut = low // 2**17
    middle = (pl.when(high.abs() < 2**56).then(high).otherwise(0) * 2**70 + cut) | (cut * 2**17 != low).cast(pl.Int128)
    near = (high == 0) | (high == -1)
    small = pl.when(near).then(high).otherwise(0) * 2**_BITS + low
    return (
        pl.when(high.abs() >= 2**56)
        .then(large.cast(pl.Float64) * 2.0**-_UNIT)
        .when(near)
        .then(small.cast(pl.Float64) * 2.0 ** -(_UNIT + _BITS))
        .otherwise(middle.cast(pl.Float64) * 2.0**-90)
    )


def _total(group: dict[str, Any]) -> float:
    """Of a group with other numbers."""
    others: list[float] = group["x"]
    if not all(map(math.isfinite, others)):
        return sum(x for x in others if not math.isfinite(x))
    small = Fraction(group["h"], 2**_UNIT) + Fraction(group["l"], 2 ** (_UNIT + _BITS))
    total = sum(map(Fraction, others), small)
    return rounded(total)


class FloatVariance(Bag):
    """From the sorted values, so that it is the same for any cut; null for one value of a sample."""

    def __init__(self, sample: bool, root: bool) -> None:
        self._sample = sample
        self._root = root

    def value(self, arg: pl.Expr, kind: str) -> pl.Expr:
        return canonical(arg.cast(pl.Float64), "double")

    def result(self, *parts: pl.Expr) -> pl.Expr:
        values = parts[0]
        n = values.list.len().cast(pl.Int64)
        # Distances from a middle value are nearly exact, and so is their mean.
        element = pl.element()
        apart = element - element.get(element.len() // 2, null_on_oob=True)
        apart = apart - apart.mean()
        spread = values.list.agg((apart * apart).sum() - apart.sum() * apart.sum() / apart.len())
        variance = spread / (n - 1 if self._sample else n)
        fast = variance.sqrt() if self._root else variance
        width = values.list.last() - values.list.first()
        plain = (width == 0) | ((width > _TINY) & (width < _HUGE)) | (n <= int(self._sample))
        slow = one_by_one(~plain, self._exact, b=values)
        return pl.when(n > int(self._sample)).then(pl.when(plain).then(fast).otherwise(slow))

    def _exact(self, group: dict[str, Any]) -> float:
        """For numbers whose squares are too large or too small."""
        values = group["b"]
        if not all(map(math.isfinite, values)):
            return math.nan
        exact = [Fraction(value) for value in values]
        mean = sum(exact, Fraction()) / len(exact)
        variance = sum(((value - mean) ** 2 for value in exact), Fraction()) / (len(exact) - self._sample)
        return root(variance) if self._root else rounded(variance)
