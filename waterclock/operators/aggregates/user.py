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


def user_error(
    algebras: Sequence[Algebra], error: Exception, rows: pl.DataFrame | None, inputs: Sequence[str], start: str
) -> UserError | None:
    """What went wrong while aggregates were computed, told as the user's error if it can be one.

    ``rows`` are those that were folded; merging and results know the values no more.
    """
    of_users = [(a.declared, column) for a, column in zip(algebras, inputs, strict=True) if isinstance(a, UserAlgebra)]
    if not of_users or isinstance(error, WaterclockError):
        return None
    for declared, column in of_users if rows is not None else ():
        assert rows is not None
        found = declared.located(rows[column], rows[start])
        if found is not None:
            return found
    return of_users[0][0].problem(error, "partial results" if rows is None else "a batch of values")
