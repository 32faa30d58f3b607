"""Operators on numbers. Integers wrap around at their width; a quotient by zero is null."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from waterclock.expr.functions.base import ByType, define, eg, infix
from waterclock.expr.functions.buffers import over_arrays, quotient
from waterclock.schema import INTEGERS, TYPES


def _remainder(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    """With the sign of the dividend, as Java's."""
    if result in INTEGERS:
        return lambda a, b: a - b * a.truncdiv(b)
    return lambda a, b: pl.when(b != 0).then(over_arrays(np.fmod, TYPES[result], a, b))


def _positive_remainder(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    remainder = _remainder(kinds, result)

    def form(a: pl.Expr, b: pl.Expr) -> pl.Expr:
        rest = remainder(a, b)
        return pl.when(rest < 0).then(remainder(rest + b, b)).otherwise(rest)

    return form


def _shift(operation: Callable[..., np.ndarray], unsigned: bool = False) -> ByType:
    """The distance is taken modulo the width."""

    def make(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
        width = 32 if result == "int" else 64
        inner = np.dtype(f"{'u' if unsigned else ''}int{width}")

        def shifted(a: np.ndarray, n: np.ndarray) -> np.ndarray:
            return operation(a.view(inner), (n & (width - 1)).astype(inner)).view(f"int{width}")

        return lambda a, n: over_arrays(shifted, TYPES[result], a, n)

    return ByType(make)


TABLE = [
    define("add(left N, right N) N", "The sum.", lambda a, b: a + b, eg(1, 2.5, gives=3.5), infix("+"), "+"),
    define("subtract(left N, right N) N", "The difference.", lambda a, b: a - b, eg(1, 3, gives=-2), infix("-"), "-"),
    define("multiply(left N, right N) N", "The product.", lambda a, b: a * b, eg(6, 7, gives=42), infix("*"), "*"),
    define(
        "divide(left double, right double) double", "The quotient as a double; null by zero.",
        lambda a, b: pl.when(b != 0).then(quotient(a, b)), eg(7, 2, gives=3.5), infix("/"), "/",
    ),
    define(
        "div(left bigint, right bigint) bigint", "The whole part of the quotient; null by zero.",
        lambda a, b: a.truncdiv(b), eg(-7, 2, gives=-3), infix("div"),
    ),
    define(
        "mod(left N, right N) N", "What a division leaves, with the sign of the dividend; null by zero.",
        ByType(_remainder), eg(-7, 3, gives=-1), infix("%"), "%",
    ),
    define(
        "pmod(left N, right N) N", "What a division leaves, never negative for a positive divisor; null by zero.",
        ByType(_positive_remainder), eg(-7, 3, gives=2),
    ),
    define("negate(value N) N", "The opposite.", lambda a: -a, eg(5, gives=-5), lambda a: f"- {a}", "-",
           aliases=("negative",)),
    define("positive(value N) N", "The number itself.", lambda a: a, eg(-5, gives=-5)),
    define("abs(value N) N", "The number without its sign.", lambda a: a.abs(), eg(-2.5, gives=2.5)),
    define("bitand(left I, right I) I", "The bits that both have.", lambda a, b: a & b, eg(12, 10, gives=8), infix("&"), "bitand"),
    define("bitor(left I, right I) I", "The bits that one of them has.", lambda a, b: a | b, eg(12, 10, gives=14), infix("|"), "bitor"),
    define("bitxor(left I, right I) I", "The bits in which they differ.", lambda a, b: a ^ b, eg(12, 10, gives=6), infix("^"), "bitxor"),
    define("bitnot(value I) I", "Every bit turned.", lambda a: -a - 1, eg(5, gives=-6), lambda a: f"~ {a}", "bitnot"),
    define("bit_count(value I) int", "How many bits are set.", lambda a: a.cast(pl.Int64).bitwise_count_ones(), eg(7, gives=3)),
    define("shiftleft(value I, distance int) I", "The bits moved to the left.", _shift(np.left_shift), eg(3, 2, gives=12)),
    define("shiftright(value I, distance int) I", "The bits moved to the right, keeping the sign.", _shift(np.right_shift), eg(-8, 1, gives=-4)),
    define("shiftrightunsigned(value I, distance int) I", "The bits moved to the right, filled with zeros.", _shift(np.right_shift, unsigned=True),
           eg(-8, 28, gives=15)),
    define(
        "floor_to(value bigint, step bigint, offset bigint = 0) bigint",
        "Down to the grid offset + n * step; null unless the step is positive.",
        lambda a, step, offset: pl.when(step > 0).then(a - (a - offset) % step), eg(17, 5, 1, gives=16),
        lambda a, step, offset: f"IF({step} > 0, {a} - pmod({a} - {offset}, {step}), NULL)", ours=True,
    ),
    define(
        "ceil_to(value bigint, step bigint, offset bigint = 0) bigint",
        "Up to the grid offset + n * step; null unless the step is positive.",
        lambda a, step, offset: pl.when(step > 0).then(a + (offset - a) % step), eg(17, 5, 1, gives=21),
        lambda a, step, offset: f"IF({step} > 0, {a} + pmod({offset} - {a}, {step}), NULL)", ours=True,
    ),
]  # fmt: skip
