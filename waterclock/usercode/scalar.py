"""A scalar function of a user: columns in, a column out, or row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from waterclock.errors import UserError
from waterclock.schema import TYPES
from waterclock.usercode import checking
from waterclock.usercode.code import Code
from waterclock.usercode.failure import bad_result, failed, not_deterministic, short, show
from waterclock.usercode.values import fitted, series_of


@dataclass(frozen=True, eq=False)
class Scalar:
    code: Code
    returns: str
    form: str
    """What it takes: ``polars`` series, ``arrow`` arrays, or the values of one ``row``."""

    @property
    def label(self) -> str:
        return self.code.label(self.returns, self.form)

    def run(self, columns: Sequence[pl.Series]) -> pl.Series:
        """One value for every row. Errors name the first row that fails."""
        if not len(columns[0]):
            return pl.Series([], dtype=TYPES[self.returns])
        result = self._guarded(columns)
        if checking.on():
            self._compare(columns, result)
        return result

    def _guarded(self, columns: Sequence[pl.Series]) -> pl.Series:
        if self.form == "row":
            values = [self._of_row(row) for row in zip(*(column.to_list() for column in columns), strict=True)]
            return pl.Series(values, dtype=TYPES[self.returns], strict=True)
        try:
            return self._of_columns(columns)
        except UserError:
            raise
        except Exception as error:
            raise self._located(columns, error) from error

    def _of_row(self, row: tuple[Any, ...]) -> Any:
        try:
            value = self.code.function(*row)
        except Exception as error:
            raise failed(self.code, error, self._show(row), self._again(row)) from error
        try:
            return fitted(value, self.returns)
        except (TypeError, OverflowError) as error:
            raise bad_result(self.code, error, self._show(row), self._fix) from None

    def _of_columns(self, columns: Sequence[pl.Series]) -> pl.Series:
        given = [column.to_arrow() for column in columns] if self.form == "arrow" else columns
        length = len(columns[0])
        result = self.code.function(*given)
        try:
            return series_of(result, self.returns, length)
        except TypeError as error:
            row = f"a batch of {length} rows, the first of them {self._show(self._row(columns, 0))}"
            raise bad_result(self.code, error, row, self._fix) from None

    def _located(self, columns: Sequence[pl.Series], error: Exception) -> UserError:
        """By halves: the shortest beginning of the batch that fails ends with the row; often that row fails alone."""
        low, high, found = 0, len(columns[0]), error
        while low < high:
            middle = (low + high) // 2
            problem = self._problem([column.head(middle) for column in columns])
            if problem is None:
                low = middle + 1
            else:
                high, found = middle, problem
        at = max(low - 1, 0)
        alone = self._problem([column.slice(at, 1) for column in columns])
        row = self._row(columns, at)
        if alone is not None or low <= 1:
            return failed(self.code, alone or found, self._show(row), self._again(row))
        batch = ", ".join(short(column.head(low).to_list()) for column in columns)
        shown = f"the {low} rows up to {self._show(row)} together, not for one of them alone"
        return failed(self.code, found, shown, f"{self.code.name}.on_batch({batch})")

    def _problem(self, columns: Sequence[pl.Series]) -> Exception | None:
        try:
            self._of_columns(columns)
        except Exception as error:
            return error
        return None

    def _compare(self, columns: Sequence[pl.Series], result: pl.Series) -> None:
        """Again, in two parts: it must not depend on what else is in the batch."""
        length = len(result)
        parts = [[column.head(length // 2) for column in columns], [column.slice(length // 2) for column in columns]]
        again = [value for part in parts if len(part[0]) for value in self._guarded(part).to_list()]
        for at, (one, other) in enumerate(zip(result.to_list(), again, strict=True)):
            if repr(one) != repr(other):
                row = self._show(self._row(columns, at))
                raise not_deterministic(self.code, short(one), short(other), row)

    def _row(self, columns: Sequence[pl.Series], at: int) -> tuple[Any, ...]:
        return tuple(column.slice(at, 1).to_list()[0] for column in columns)

    def _show(self, row: Sequence[Any]) -> str:
        names = self.code.parameters()
        names = [*names[: len(row)], *(f"argument {n + 1}" for n in range(len(names), len(row)))]
        return show(dict(zip(names, row, strict=False)))

    def _again(self, row: Sequence[Any]) -> str:
        return f"{self.code.name}.on_row({', '.join(short(value) for value in row)})"

    @property
    def _fix(self) -> str:
        if self.form == "row":
            return f"It must give a value of type {self.returns}, or None."
        return f"It must give a Polars series (or an Arrow array) of type {self.returns} with a value for every row."
