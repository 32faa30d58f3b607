"""Aggregates that users wrote, as algebras like all others."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from waterclock.errors import UserError, WaterclockError
from waterclock.operators.aggregates.base import Algebra, Parts
from waterclock.usercode.aggregate import AggregateCode


class UserAlgebra(Algebra):
    def __init__(self, declared: AggregateCode) -> None:
        self.declared = declared
        self.parts = tuple(name for name, _ in declared.parts)
        self.way = "subtract" if declared.additive else "merge"

    def initial(self) -> tuple[object, ...]:
        return self.declared.initial()

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> Parts:
        return self.declared.accumulate(value, start)

    def merge(self, *parts: pl.Expr) -> Parts:
        return self.declared.merge(*parts)

    def result(self, *parts: pl.Expr) -> pl.Expr:
        return self.declared.result(*parts)


def user_error(algebras: Sequence[Algebra], error: Exception) -> UserError | None:
    """What went wrong while aggregates were computed, told as the user's error if it can be one."""
    for algebra in algebras:
        if isinstance(algebra, UserAlgebra) and not isinstance(error, WaterclockError):
            return algebra.declared.problem(error, "a batch of values")
    return None
