"""An aggregate of a user: a class that declares its algebra over Polars expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from waterclock.errors import UserError, WaterclockError
from waterclock.schema import TYPES
from waterclock.usercode.code import Code
from waterclock.usercode.failure import bad_result, failed, short


@dataclass(frozen=True, eq=False)
class AggregateCode:
    """A class that declares an algebra, see ``waterclock.operators.aggregates``."""

    code: Code
    returns: str
    parts: tuple[tuple[str, str], ...]
    """Name and type of what is kept of a bag of values."""
    additive: bool
    """Parts are whole numbers that merge by adding, so that what leaves a window is subtracted."""
    arguments: tuple[object, ...] = ()
    """What the class is made with."""

    @property
    def label(self) -> str:
        return self.code.label(self.returns, self.parts, self.additive, self.arguments)

    def made(self) -> Any:
        return self.called(lambda: self.code.function(*self.arguments), "its constructor")

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> tuple[pl.Expr, ...]:
        return self._parts(self.called(lambda: self.made().accumulate(value, start), "accumulate"), "accumulate")

    def merge(self, *parts: pl.Expr) -> tuple[pl.Expr, ...]:
        return self._parts(self.called(lambda: self.made().merge(*parts), "merge"), "merge")

    def result(self, *parts: pl.Expr) -> pl.Expr:
        found = self.called(lambda: self.made().result(*parts), "result")
        if not isinstance(found, pl.Expr):
            raise bad_result(self.code, repr(found), "result", "Give a Polars expression over the parts.")
        return found

    def initial(self) -> tuple[object, ...]:
        return tuple(self.called(lambda: self.made().initial(), "initial"))

    def check(self, kind: str) -> None:
        """Runs it over no rows: what does not fit together is seen where the query is written."""
        if kind in self._checked:
            return
        names = [name for name, _ in self.parts]
        rows = pl.DataFrame(schema={"_v": TYPES["string" if kind == "null" else kind], "_s": pl.Int64()})
        initial = self.initial()
        if len(initial) != len(names):
            fix = f"Give a value for each of the parts: {', '.join(names)}."
            raise bad_result(self.code, repr(initial), "initial", fix)
        first = self._named(self.accumulate(pl.col("_v"), pl.col("_s")))
        parts = self.called(lambda: rows.select(first), "accumulate")
        self.called(lambda: parts.select(self._named(self.merge(*map(pl.col, names)))), "merge")
        self.called(lambda: parts.select(self.result(*map(pl.col, names)).cast(TYPES[self.returns])), "result")
        self._checked.add(kind)

    @cached_property
    def problems(self) -> list[UserError]:
        """Errors met inside Polars, which does not bring them back as they were."""
        return []

    @cached_property
    def _checked(self) -> set[str]:
        return set()

    def _named(self, found: tuple[pl.Expr, ...]) -> list[pl.Expr]:
        return [expr.alias(name) for (name, _), expr in zip(self.parts, found, strict=True)]

    def _parts(self, found: Any, method: str) -> tuple[pl.Expr, ...]:
        found = (found,) if isinstance(found, pl.Expr) else found
        names = ", ".join(name for name, _ in self.parts)
        if not isinstance(found, tuple | list) or len(found) != len(self.parts):
            fix = f"Give a tuple of Polars expressions, one for each of the parts: {names}."
            raise bad_result(self.code, repr(found), method, fix)
        return tuple(expr.cast(TYPES[kind]) for expr, (_, kind) in zip(found, self.parts, strict=True))

    def called(self, call: Callable[[], Any], what: str) -> Any:
        """What a piece of the algebra gives; its errors become the user's."""
        try:
            return call()
        except WaterclockError:
            raise
        except Exception as error:
            raise self.problem(error, what) from error

    def problem(self, error: Exception, what: str) -> UserError:
        """An error of Polars as the user's."""
        if self.problems:
            return self.problems.pop()
        return failed(self.code, error, what, f"wc.check_aggregate({self.code.name}, values, type), with your values")

    def located(self, values: pl.Series, starts: pl.Series) -> UserError | None:
        """With a value that fails, by halves: the shortest beginning that fails ends with it. None if all is well."""
        error = self._fails(values, starts)
        if self.problems or error is None:
            return self.problems.pop() if self.problems else None
        low, high = 1, len(values)
        while low < high:
            middle = (low + high) // 2
            sooner = self._fails(values.head(middle), starts.head(middle))
            low, high, error = (middle + 1, high, error) if sooner is None else (low, middle, sooner)
        alone = self._fails(values.slice(low - 1, 1), starts.slice(low - 1, 1))
        value = values.slice(low - 1, 1).to_list()[0]
        if alone is not None:
            return failed(self.code, alone, f"the value {short(value)}", self._again([value], values.dtype))
        shown = f"the {low} values up to {short(value)} together, not for one of them alone"
        return failed(self.code, error, shown, self._again(values.head(low).to_list(), values.dtype))

    def _fails(self, values: pl.Series, starts: pl.Series) -> Exception | None:
        names = [name for name, _ in self.parts]
        try:
            rows = pl.DataFrame([values.alias("_v"), starts.alias("_s")])
            parts = rows.select(self._named(self.accumulate(pl.col("_v"), pl.col("_s"))))
            parts.select(self.result(*map(pl.col, names)).cast(TYPES[self.returns]))
        except Exception as error:
            return error
        return None

    def _again(self, values: list[Any], held: pl.DataType) -> str:
        given = [self.code.name, short(values), repr(_type_of(held)), *map(repr, self.arguments)]
        return f"wc.check_aggregate({', '.join(given)})"


def _type_of(held: pl.DataType) -> str:
    if isinstance(held, pl.List):
        return f"array<{_type_of(held.inner)}>"  # type: ignore[arg-type]
    return next((name for name, kind in TYPES.items() if kind == held), "string")
