"""A function of two values of one type, as an aggregate: it must not matter in which order it is applied."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import polars as pl

from waterclock.errors import UserError
from waterclock.schema import TYPES
from waterclock.usercode.aggregate import AggregateCode
from waterclock.usercode.code import Code
from waterclock.usercode.failure import bad_result, failed, short
from waterclock.usercode.values import fitted


@dataclass(frozen=True, eq=False)
class ReductionCode(AggregateCode):
    """``code`` is the function; the one part is what it gives of the values so far."""

    def made(self) -> Reduction:
        return Reduction(self.code, self.returns, self.problems)


class Reduction:
    def __init__(self, code: Code, kind: str, problems: list[UserError]) -> None:
        self._code = code
        self._kind = kind
        self._problems = problems

    def initial(self) -> tuple[None]:
        return (None,)

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> pl.Expr:
        return self.merge(value)

    def merge(self, value: pl.Expr) -> pl.Expr:
        return value.map_batches(self._reduced, returns_scalar=True, return_dtype=TYPES[self._kind])

    def result(self, value: pl.Expr) -> pl.Expr:
        return value

    def _reduced(self, values: pl.Series) -> Any:
        some = values.drop_nulls().sort().to_list()
        try:
            return reduce(self._combined, some) if some else None
        except UserError as error:
            self._problems[:] = [error]
            raise

    def _combined(self, left: Any, right: Any) -> Any:
        given = f"{short(left)}, {short(right)}"
        try:
            value = self._code.function(left, right)
        except Exception as error:
            raise failed(self._code, error, f"the values {given}", f"{self._code.name}({given})") from error
        try:
            return fitted(value, self._kind)
        except (TypeError, OverflowError) as error:
            fix = f"It must give a value of the type of its arguments, {self._kind}."
            raise bad_result(self._code, error, f"the values {given}", fix) from None
