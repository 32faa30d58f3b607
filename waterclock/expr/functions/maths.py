"""Mathematics. Results are doubles, if not said otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from waterclock.expr.functions.base import ByType, define, eg
from waterclock.expr.functions.buffers import over_arrays, quotient
from waterclock.schema import INTEGERS, TYPES

DOUBLE = TYPES["double"]


def _numpy(function: Callable[..., np.ndarray]) -> Callable[..., pl.Expr]:
    return lambda *args: over_arrays(function, DOUBLE, *args)


def _where(condition: pl.Expr, value: pl.Expr) -> pl.Expr:
    """Null where the function is not defined; NaN stays what it is."""
    return pl.when(condition).then(value)


def whole(a: pl.Expr) -> pl.Expr:
    """A double as a bigint, as Java casts it: NaN is 0 and what is too large is the largest."""
    inside = pl.when(a.abs() >= 2.0**63).then(0.0).otherwise(a).cast(pl.Int64)
    return (
        pl.when(a >= 2.0**63)
        .then(pl.when(a.is_nan()).then(0).otherwise(2**63 - 1))
        .when(a <= -(2.0**63))
        .then(-(2**63))
        .otherwise(inside)
    )


def _to_whole(rounding: Callable[[pl.Expr], pl.Expr]) -> ByType:
    def make(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
        if kinds[0] in INTEGERS:
            return lambda a: a
        return lambda a: whole(rounding(a.cast(pl.Float64)))

    return ByType(make)


def _rounded(half_even: bool) -> ByType:
    """Of the decimal digits that tell a double, not of its bits: 2.675 to two digits is 2.68."""

    def make(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
        rounding = _round_integers if result in INTEGERS else _round_doubles
        return lambda a, digits: over_arrays(lambda values: rounding(values, digits, half_even), TYPES[result], a)

    return ByType(make)


def _round_integers(values: np.ndarray, digits: int, half_even: bool) -> np.ndarray:
    if digits >= 0:
        return values
    if digits < -18:
        return np.zeros_like(values)
    step = 10**-digits
    wide = values.astype(np.int64)
    rest = np.fmod(wide, step)
    low = (wide - rest) // step
    tie = np.abs(rest) == step // 2
    further = (np.abs(rest) > step // 2) | (tie & (low % 2 != 0) if half_even else tie)
    found: np.ndarray = (low + np.sign(rest) * further) * step
    return found


def _round_doubles(values: np.ndarray, digits: int, half_even: bool) -> np.ndarray:
    wide = values.astype(np.float64)
    size, scale = np.abs(wide), 10.0 ** min(abs(digits), 22)
    if digits > 22:
        return wide + 0.0
    if digits < -22:
        return np.where(np.isfinite(wide), 0.0, wide)
    low = np.floor(size * scale if digits >= 0 else size / scale)
    # Quotients of whole numbers are exact to the last bit: the middle is the double that its digits tell.
    middle = (2 * low + 1) / (2 * scale) if digits >= 0 else (low + 0.5) * scale
    here = size.astype(values.dtype)
    tie = here == middle.astype(values.dtype)
    further = ~tie & (size > middle) | (tie & (low % 2 != 0) if half_even else tie)
    found = (low + further) / scale if digits >= 0 else (low + further) * scale
    exact = (size * scale >= 2.0**52) if digits >= 0 else np.zeros(1, dtype=bool)
    return np.where(np.isfinite(wide) & ~exact, np.copysign(found, wide), wide) + 0.0


FACTORIALS = [math.factorial(n) for n in range(21)]


def _log(base: pl.Expr, a: pl.Expr) -> pl.Expr:
    return _where(((base > 0) | base.is_nan()) & ((a > 0) | a.is_nan()), quotient(a.log(), base.log()))


def _pow(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Java gives NaN for a one to an infinite or unknown power, where C gives one."""
    odd = (a.abs() == 1) & ~b.is_finite()
    return pl.when(odd & a.is_not_nan()).then(float("nan")).otherwise(over_arrays(np.power, DOUBLE, a, b))


def _bucket(a: pl.Expr, low: pl.Expr, high: pl.Expr, count: pl.Expr) -> pl.Expr:
    rising = low < high
    below = pl.when(rising).then(a < low).otherwise(a > low)
    above = pl.when(rising).then(a >= high).otherwise(a <= high)
    inner = whole(quotient(count * (a - low), high - low)) + 1
    found = pl.when(below).then(0).when(above).then(count + 1).otherwise(inner)
    bad = (count <= 0) | a.is_nan() | (low == high) | ~low.is_finite() | ~high.is_finite()
    return pl.when(~bad & a.is_not_null()).then(found)


TABLE = [
    define("sqrt(value double) double", "The square root; NaN below zero.", lambda a: a.sqrt(), eg(9, gives=3.0)),
    define("cbrt(value double) double", "The cube root.", _numpy(np.cbrt), eg(27, gives=3.0), approximate=True),
    define("exp(value double) double", "e to a power.", lambda a: a.exp(), eg(0, gives=1.0), approximate=True),
    define("expm1(value double) double", "e to a power, less 1.", _numpy(np.expm1), eg(0, gives=0.0), approximate=True),
    define("ln(value double) double", "The natural logarithm; null unless positive.", lambda a: _where((a > 0) | a.is_nan(), a.log()),
           eg(1, gives=0.0), approximate=True),
    define("log(base double, value double) double", "The logarithm to a base; null unless both are positive.", _log, eg(2, 8, gives=3.0),
           approximate=True),
    define("log10(value double) double", "The logarithm to base 10; null unless positive.", lambda a: _where((a > 0) | a.is_nan(), over_arrays(np.log10, DOUBLE, a)),
           eg(1000, gives=3.0), approximate=True),
    define("log2(value double) double", "The logarithm to base 2; null unless positive.",
           lambda a: _where((a > 0) | a.is_nan(), over_arrays(np.log2, DOUBLE, a)), eg(8, gives=3.0), approximate=True),
    define("log1p(value double) double", "The natural logarithm of 1 more; null unless greater than -1.",
           lambda a: _where((a > -1) | a.is_nan(), a.log1p()), eg(0, gives=0.0), approximate=True),
    define("pow(value double, power double) double", "To a power.", _pow, eg(2, 10, gives=1024.0), aliases=("power",), approximate=True),
    define("floor(value number) bigint", "Down to a whole number.", _to_whole(lambda a: a.floor()), eg(-1.5, gives=-2)),
    define("ceil(value number) bigint", "Up to a whole number.", _to_whole(lambda a: a.ceil()), eg(1.2, gives=2), aliases=("ceiling",)),
    define("rint(value double) double", "To the next whole number, halves to the even one.", _numpy(np.rint), eg(2.5, gives=2.0)),
    define("round(value N, digits const int = 0) N", "To so many decimal digits, halves away from zero.", _rounded(False),
           eg(2.675, 2, gives=2.68)),
    define("bround(value N, digits const int = 0) N", "To so many decimal digits, halves to the even digit.", _rounded(True), eg(2.5, gives=2.0)),
    define("sign(value double) double", "-1, 0 or 1.", lambda a: a.sign(), eg(-3, gives=-1.0), aliases=("signum",)),
    define("factorial(value int) bigint", "The product of 1 to the number; null unless from 0 to 20.",
           lambda a: a.replace_strict(list(range(21)), FACTORIALS, default=None, return_dtype=pl.Int64), eg(5, gives=120)),
    define("hypot(a double, b double) double", "The length of the diagonal.", _numpy(np.hypot), eg(3, 4, gives=5.0), approximate=True),
    define("width_bucket(value double, low double, high double, count bigint) bigint",
           "The number of the bucket, of so many equal ones between low and high.", _bucket, eg(5.3, 0.2, 10.6, 5, gives=3)),
    define("sin(value double) double", "The sine.", lambda a: a.sin(), eg(0, gives=0.0), approximate=True),
    define("cos(value double) double", "The cosine.", lambda a: a.cos(), eg(0, gives=1.0), approximate=True),
    define("tan(value double) double", "The tangent.", lambda a: a.tan(), eg(0, gives=0.0), approximate=True),
    define("cot(value double) double", "The cotangent.", lambda a: 1 / a.tan(), eg(1, gives=0.6420926159343306), approximate=True),
    define("sec(value double) double", "The secant.", lambda a: 1 / a.cos(), eg(0, gives=1.0), approximate=True),
    define("csc(value double) double", "The cosecant.", lambda a: 1 / a.sin(), eg(1, gives=1.1883951057781212), approximate=True),
    define("asin(value double) double", "The angle of a sine.", lambda a: a.arcsin(), eg(0, gives=0.0), approximate=True),
    define("acos(value double) double", "The angle of a cosine.", lambda a: a.arccos(), eg(1, gives=0.0), approximate=True),
    define("atan(value double) double", "The angle of a tangent.", lambda a: a.arctan(), eg(0, gives=0.0), approximate=True),
    define("atan2(y double, x double) double", "The angle of a point.", _numpy(lambda y, x: np.arctan2(y + 0.0, x + 0.0)), eg(0, 1, gives=0.0), approximate=True),
    define("sinh(value double) double", "The hyperbolic sine.", _numpy(np.sinh), eg(0, gives=0.0), approximate=True),
    define("cosh(value double) double", "The hyperbolic cosine.", _numpy(np.cosh), eg(0, gives=1.0), approximate=True),
    define("tanh(value double) double", "The hyperbolic tangent.", _numpy(np.tanh), eg(0, gives=0.0), approximate=True),
    define("asinh(value double) double", "The inverse hyperbolic sine.", _numpy(np.arcsinh), eg(0, gives=0.0), approximate=True),
    define("acosh(value double) double", "The inverse hyperbolic cosine.", _numpy(np.arccosh), eg(1, gives=0.0), approximate=True),
    define("atanh(value double) double", "The inverse hyperbolic tangent.", _numpy(np.arctanh), eg(0, gives=0.0), approximate=True),
    define("degrees(value double) double", "Radians as degrees.", lambda a: a * (180 / math.pi), eg(0, gives=0.0), approximate=True),
    define("radians(value double) double", "Degrees as radians.", lambda a: a * (math.pi / 180), eg(0, gives=0.0), approximate=True),
    define("pi() double", "π.", lambda: pl.lit(math.pi), eg(gives=math.pi)),
    define("e() double", "Euler's number.", lambda: pl.lit(math.e), eg(gives=math.e)),
]  # fmt: skip
