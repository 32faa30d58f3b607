"""About how many different values there are, in bounded memory."""

from __future__ import annotations

import polars as pl

from waterclock.hashing import SPACE, hash_rows
from waterclock.operators.aggregates.bags import Bag
from waterclock.operators.aggregates.base import Way

SIZE = 4096
"""The relative error is about 1 / sqrt(SIZE): 1.6 %."""


class ApproxCountDistinct(Bag):
    """The least hashes of the values (a theta sketch): below ``SIZE`` values it is exact.

    It depends on nothing but the set of values, is as small as that set, and folds as fast as any list.
    """

    way: Way = "merge"

    def value(self, arg: pl.Expr, kind: str) -> pl.Expr:
        return super().value(arg, kind).map_batches(_hashes, return_dtype=pl.UInt64, is_elementwise=True)

    def _kept(self, values: pl.Expr) -> pl.Expr:
        return values.unique().sort().head(SIZE)

    def result(self, *parts: pl.Expr) -> pl.Expr:
        n = parts[0].list.len()
        last = parts[0].list.last().cast(pl.Float64)
        return (
            pl.when(n < SIZE)
            .then(n.cast(pl.Int64))
            .otherwise(((SIZE - 1) * float(SPACE) / last).round().cast(pl.Int64))
        )


def _hashes(values: pl.Series) -> pl.Series:
    hashes = pl.Series(values.name, hash_rows(values.to_frame("v"), ["v"]), dtype=pl.UInt64)
    if values.null_count():
        return hashes.to_frame("v").select(pl.when(values.is_not_null()).then("v").alias(values.name)).to_series()
    return hashes
