"""What all aggregating operators do with their list of aggregates."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from waterclock.errors import DataError
from waterclock.expr import to_polars
from waterclock.operators.aggregates.base import Way
from waterclock.operators.aggregates.registry import algebra_of
from waterclock.operators.aggregates.user import user_error
from waterclock.plan.aggregate import Aggregate
from waterclock.schema import TYPES, VS, Schema


class Aggregates:
    """The aggregates of a node over its input's schema: which columns to take, how to fold them, what they result in.

    Rows carry ``_a0``, ``_a1``, ... (``values``), partial results the columns ``parts``. A group exists because of
    its rows, whatever their values are.
    """

    def __init__(self, aggregates: Sequence[tuple[str, Aggregate]], schema: Schema) -> None:
        self._schema = schema
        self._aggregates = tuple(aggregates)
        self.algebras = [algebra_of(aggregate, schema) for _, aggregate in aggregates]
        self.named = [[f"_{index}{part}" for part in algebra.parts] for index, algebra in enumerate(self.algebras)]
        """The part columns of each aggregate."""
        self.parts = [part for parts in self.named for part in parts]
        """All part columns."""
        self.inputs = [f"_a{index}" for index in range(len(self.algebras))]
        """The value columns of rows."""

    @property
    def way(self) -> Way:
        """The cheapest way that all of them allow."""
        ways = {algebra.way for algebra in self.algebras}
        return "recompute" if "recompute" in ways else "merge" if "merge" in ways else "subtract"

    def only(self, *indexes: int) -> Aggregates:
        """Some of them, with the columns they have here."""
        some = object.__new__(Aggregates)
        some._schema = self._schema
        some._aggregates = tuple(self._aggregates[index] for index in indexes)
        some.algebras = [self.algebras[index] for index in indexes]
        some.named = [self.named[index] for index in indexes]
        some.parts = [part for parts in some.named for part in parts]
        some.inputs = [self.inputs[index] for index in indexes]
        return some

    def values(self) -> list[pl.Expr]:
        """What to select from rows of the input, besides lifetime and keys."""
        found: list[pl.Expr] = []
        for column, (_, aggregate), algebra in zip(self.inputs, self._aggregates, self.algebras, strict=True):
            if aggregate.arg is None:
                value = pl.lit(1, dtype=pl.Int8)  # counted like a value that is never null
            else:
                kind = aggregate.arg.type_in(self._schema)
                value = algebra.value(to_polars(aggregate.arg, self._schema), kind)
            if aggregate.where is not None:
                value = pl.when(to_polars(aggregate.where, self._schema)).then(value)
            found.append(value.alias(column))
        return found

    def accumulate(self, start: str = VS, plain: bool = False) -> list[pl.Expr]:
        """For ``agg`` over rows with their start and the columns ``inputs``; gives ``parts``."""
        folded: list[pl.Expr] = []
        for column, algebra, parts in zip(self.inputs, self.algebras, self.named, strict=True):
            accumulate = algebra.accumulate_plain if plain else algebra.accumulate
            exprs = accumulate(pl.col(column), pl.col(start))
            folded += [expr.alias(part) for expr, part in zip(exprs, parts, strict=True)]
        return folded

    def merge(self, plain: bool = False) -> list[pl.Expr]:
        """For ``agg`` over partial results; gives ``parts``."""
        folded: list[pl.Expr] = []
        for algebra, parts in zip(self.algebras, self.named, strict=True):
            merge = algebra.merge_plain if plain else algebra.merge
            exprs = merge(*(pl.col(part) for part in parts))
            folded += [expr.alias(part) for expr, part in zip(exprs, parts, strict=True)]
        return folded

    def accumulated(
        self, rows: pl.LazyFrame | pl.DataFrame, by: Sequence[str | pl.Expr], start: str = VS
    ) -> pl.DataFrame:
        """Rows folded per group: ``by`` and ``parts``. Faster than ``accumulate`` where no value is special."""
        asked = [
            special
            for column, algebra in zip(self.inputs, self.algebras, strict=True)
            if (special := algebra.special(pl.col(column))) is not None
        ]
        rows, plain = _asked(rows, asked)
        return self._collected(rows.lazy().group_by(*by).agg(*self.accumulate(start, plain)), rows, start)

    def merged(self, rows: pl.LazyFrame | pl.DataFrame, by: Sequence[str | pl.Expr]) -> pl.DataFrame:
        """Partial results folded per group: ``by`` and ``parts``."""
        asked = [
            special
            for parts, algebra in zip(self.named, self.algebras, strict=True)
            if (special := algebra.special_parts(*(pl.col(part) for part in parts))) is not None
        ]
        rows, plain = _asked(rows, asked)
        return self._collected(rows.lazy().group_by(*by).agg(*self.merge(plain)))

    def results(self, groups: pl.DataFrame, *keep: str | pl.Expr) -> pl.DataFrame:
        """``keep`` and the values of the groups under their names; ``groups`` has the columns ``parts``."""
        values = (
            algebra.result(*(pl.col(part) for part in parts)).alias(name)
            for (name, _), algebra, parts in zip(self._aggregates, self.algebras, self.named, strict=True)
        )
        found = self._collected(groups.lazy().select(*keep, *values))
        types = {name: TYPES[aggregate.type_in(self._schema)] for name, aggregate in self._aggregates}
        for name, aggregate in self._aggregates:
            if found.schema[name] == pl.Int128 and _too_large(found[name]):
                raise DataError("DATA.OVERFLOW", what=repr(aggregate))
        return found.cast(types)  # type: ignore[arg-type]

    def _collected(
        self, query: pl.LazyFrame, rows: pl.LazyFrame | pl.DataFrame | None = None, start: str = VS
    ) -> pl.DataFrame:
        try:
            return query.collect()
        except Exception as error:
            given = None if rows is None else rows.lazy().select(start, *self.inputs).collect()
            problem = user_error(self.algebras, error, given, self.inputs, start)
            if problem is None:
                raise
            raise problem from error


def _asked(rows: pl.LazyFrame | pl.DataFrame, asked: list[pl.Expr]) -> tuple[pl.LazyFrame | pl.DataFrame, bool]:
    """The rows, and whether none of the conditions is ever true; they are computed only where that has to be seen."""
    if not asked:
        return rows, True
    rows = rows.lazy().collect()
    return rows, not rows.select(pl.any_horizontal(expr.any() for expr in asked)).item()


def _too_large(sums: pl.Series) -> bool:
    least, greatest = sums.min(), sums.max()
    return least is not None and bool(least < -(2**63) or greatest >= 2**63)  # type: ignore[operator]
