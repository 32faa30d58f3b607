"""The interface of an aggregate."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal

import polars as pl

from waterclock.schema import TYPES

Way = Literal["subtract", "merge", "recompute"]
Parts = tuple[pl.Expr, ...]


class Algebra(ABC):
    """Partial results of a bag of values, as columns that the caller names.

    ``merge`` is associative and commutative with ``initial`` as its unit; parts are canonical: the same bag gives the
    same parts, whatever its order and however it was cut.
    """

    parts: tuple[str, ...]
    way: Way = "merge"
    """The cheapest way over overlapping windows. With ``subtract`` every part is a number and merging is adding."""

    def value(self, arg: pl.Expr, kind: str) -> pl.Expr:
        """The argument as ``accumulate`` takes it."""
        return canonical(arg, kind)

    @abstractmethod
    def initial(self) -> tuple[object, ...]:
        """The parts of the empty bag."""

    @abstractmethod
    def accumulate(self, value: pl.Expr, start: pl.Expr) -> Parts:
        """Over the rows of a group: one expression per part."""

    @abstractmethod
    def merge(self, *parts: pl.Expr) -> Parts:
        """Over the partial results of a group: one expression per part."""

    def retract(self, parts: Sequence[pl.Expr], gone: Sequence[pl.Expr]) -> Parts:
        """Row by row, the parts without those of a contained bag; only where ``subtract`` is the way."""
        assert self.way == "subtract", "not an additive aggregate"
        return tuple(part - lost for part, lost in zip(parts, gone, strict=True))

    @abstractmethod
    def result(self, *parts: pl.Expr) -> pl.Expr:
        """The value of a group."""

    # A part that few values need costs a lot where it is made for all. These say, before a fold, whether it can be
    # left out.

    def special(self, value: pl.Expr) -> pl.Expr | None:
        """Whether a row needs the costly part; None where there is no such part."""
        return None

    def special_parts(self, *parts: pl.Expr) -> pl.Expr | None:
        """The same of a partial result."""
        return None

    def accumulate_plain(self, value: pl.Expr, start: pl.Expr) -> Parts:
        """``accumulate`` where no row is special."""
        return self.accumulate(value, start)

    def merge_plain(self, *parts: pl.Expr) -> Parts:
        """``merge`` where no partial result is special."""
        return self.merge(*parts)


def canonical(arg: pl.Expr, kind: str) -> pl.Expr:
    """A value of the type, with a single zero; a bare null is taken as text, as in the schema of its result."""
    value = arg.cast(TYPES["string" if kind == "null" else kind])
    if kind in ("float", "double"):
        return pl.when(value == 0).then(pl.lit(0.0, dtype=TYPES[kind])).otherwise(value)
    return value


def one_by_one(wanted: pl.Expr, value: Callable[[dict[str, Any]], float | None], **fields: pl.Expr) -> pl.Expr:
    """A float for the few rows that are wanted, by Python from the named fields; null for the others."""

    def batch(rows: pl.Series) -> pl.Series:
        frame = rows.struct.unnest().with_row_index("_row")
        some = frame.filter("_wanted")
        found = pl.Series("_value", [value(row) for row in some.iter_rows(named=True)], dtype=pl.Float64)
        placed = some.select("_row").with_columns(found)
        return frame.select("_row").join(placed, on="_row", how="left", maintain_order="left")["_value"]

    named = pl.struct(wanted.alias("_wanted"), *(field.alias(name) for name, field in fields.items()))
    return named.map_batches(batch, return_dtype=pl.Float64, is_elementwise=True)


def rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def root(square: Fraction) -> float:
    """The rounded square root, also where the square itself is too large or too small for a float."""
    if not square:
        return 0.0
    bits = (square.denominator.bit_length() - square.numerator.bit_length()) // 2 + 64
    return rounded(Fraction(math.isqrt(int(square * Fraction(4) ** bits))) / Fraction(2) ** bits)
