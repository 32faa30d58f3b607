"""Choices between values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from waterclock.expr.functions.base import Resolved, common, define, eg, unify


def _case_types(types: Sequence[str], values: Sequence[Any]) -> Resolved | None:
    """Condition, value, condition, value, ..., otherwise."""
    if len(types) < 3 or len(types) % 2 == 0:
        return None
    pairs = ["boolean", "T"] * (len(types) // 2)
    return unify([*pairs, "T"], types, "T")


def _case(*args: pl.Expr) -> pl.Expr:
    result = args[-1]
    for condition, value in reversed(list(zip(args[:-1:2], args[1::2], strict=True))):
        result = pl.when(condition).then(value).otherwise(result)
    return result


def _case_sql(*args: str) -> str:
    pairs = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(args[:-1:2], args[1::2], strict=True))
    return f"CASE {pairs} ELSE {args[-1]} END"


def _extreme(args: Sequence[pl.Expr], greatest: bool) -> pl.Expr:
    """Nulls are skipped. Polars' own skips NaN too, which is greater than every number here."""
    best = args[0]
    for arg in args[1:]:
        better = (arg > best) if greatest else (arg < best)
        best = pl.when(best.is_null() | better).then(pl.coalesce(arg, best)).otherwise(best)
    return best


def _at_least_two(types: Sequence[str], values: Sequence[Any]) -> Resolved | None:
    return unify(["O"] * len(types), types, "O") if len(types) > 1 and common(types) else None


TABLE = [
    define("case(condition boolean, value T, more T...) T", "The value of the first condition that holds; the last value if none does.",
           _case, eg(False, "a", True, "b", "c", gives="b"), _case_sql, "when", resolver=_case_types),
    define("if(condition boolean, value T, otherwise T) T", "One value if the condition holds, the other if not or if it is null.",
           lambda c, a, b: pl.when(c).then(a).otherwise(b), eg(None, 1, 2, gives=2)),
    define("coalesce(values T...) T", "The first value that is not null.", lambda *a: pl.coalesce(*a), eg(None, 5, 6, gives=5)),
    define("nvl(value T, otherwise T) T", "The value, or the other if it is null.", lambda a, b: pl.coalesce(a, b), eg(None, 5, gives=5),
           aliases=("ifnull",)),
    define("nvl2(value any, present T, absent T) T", "One value if the first is not null, the other if it is.",
           lambda a, b, c: pl.when(a.is_not_null()).then(b).otherwise(c), eg(None, 1, 2, gives=2)),
    define("nullif(value O, other O) O", "Null if they are equal, else the value.",
           lambda a, b: pl.when((a == b).fill_null(False)).then(None).otherwise(a), eg(5, 5, gives=None)),
    define("nullifzero(value N) N", "Null for zero, else the number.", lambda a: pl.when(a != 0).then(a), eg(0, gives=None)),
    define("zeroifnull(value N) N", "Zero for null, else the number.", lambda a: a.fill_null(0), eg(None, gives=0),
           resolver=lambda types, values: unify(["N"], ["int" if types[0] == "null" else types[0]], "N")),
    define("nanvl(value double, otherwise double) double", "The value, or the other if it is NaN.",
           lambda a, b: pl.when(a.is_nan()).then(b).otherwise(a), eg(float("nan"), 1.5, gives=1.5)),
    define("greatest(first O, second O, more O...) O", "The greatest of the values that are not null.", lambda *a: _extreme(a, True),
           eg(1, None, 3, gives=3), resolver=_at_least_two),
    define("least(first O, second O, more O...) O", "The least of the values that are not null.", lambda *a: _extreme(a, False),
           eg(1, None, 3, gives=1), resolver=_at_least_two),
]  # fmt: skip
