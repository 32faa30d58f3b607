"""Comparisons, where NaN equals itself and is greater than every number, and logic with null as unknown."""

from __future__ import annotations

import polars as pl

from waterclock.expr.functions.base import called, define, eg, infix

TABLE = [
    define("eq(left O, right O) boolean", "Whether they are equal.", lambda a, b: a == b, eg(2, 2.0, gives=True), infix("="), "=="),
    define("ne(left O, right O) boolean", "Whether they differ.", lambda a, b: a != b, eg("a", "b", gives=True), infix("<>"), "!="),
    define("lt(left O, right O) boolean", "Whether the left is less.", lambda a, b: a < b, eg(1, 2, gives=True), infix("<"), "<"),
    define("le(left O, right O) boolean", "Whether the left is less or equal.", lambda a, b: a <= b, eg(2, 2, gives=True), infix("<="), "<="),
    define("gt(left O, right O) boolean", "Whether the left is greater.", lambda a, b: a > b, eg("b", "a", gives=True), infix(">"), ">"),
    define("ge(left O, right O) boolean", "Whether the left is greater or equal.", lambda a, b: a >= b, eg(1, 2, gives=False), infix(">="), ">="),
    define("eq_null_safe(left O, right O) boolean", "Whether they are equal, or both null.", lambda a, b: a.eq_missing(b),
           eg(None, None, gives=True), infix("<=>"), "<=>", aliases=("equal_null",)),
    define("between(value O, low O, high O) boolean", "Whether it is at least low and at most high.", lambda a, low, high: (a >= low) & (a <= high),
           eg(5, 1, 5, gives=True), lambda a, low, high: f"{a} BETWEEN {low} AND {high}"),
    define("is_in(value O, choices O...) boolean", "Whether it is one of the choices; null if it is none but one is null.",
           lambda a, *b: pl.any_horizontal(pl.lit(False), *(a == x for x in b)), eg(2, 1, 2, gives=True),
           lambda a, *b: f"{a} IN ({', '.join(b)})" if b else "false"),
    define("and(left boolean, right boolean) boolean", "Whether both hold.", lambda a, b: a & b, eg(True, None, gives=None), infix("AND"), "&"),
    define("or(left boolean, right boolean) boolean", "Whether one of them holds.", lambda a, b: a | b, eg(True, None, gives=True), infix("OR"), "|"),
    define("not(value boolean) boolean", "Whether it does not hold.", lambda a: ~a, eg(False, gives=True), lambda a: f"NOT {a}", "~"),
    define("is_null(value any) boolean", "Whether it is null.", lambda a: a.is_null(), eg(None, gives=True), called("isnull"), aliases=("isnull",)),
    define("is_not_null(value any) boolean", "Whether it is not null.", lambda a: a.is_not_null(), eg(0, gives=True), called("isnotnull"),
           aliases=("isnotnull",)),
    define("is_true(value boolean) boolean", "Whether it is true, not false or null.", lambda a: a.fill_null(False), eg(None, gives=False),
           lambda a: f"{a} IS TRUE"),
    define("is_false(value boolean) boolean", "Whether it is false, not true or null.", lambda a: ~a.fill_null(True), eg(None, gives=False),
           lambda a: f"{a} IS FALSE"),
    define("isnan(value double) boolean", "Whether it is NaN; false for null.", lambda a: a.is_nan().fill_null(False), eg(float("nan"), gives=True)),
]  # fmt: skip
