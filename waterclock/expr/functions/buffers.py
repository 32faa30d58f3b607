"""NumPy over whole columns, for what Polars has no expression for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl


def over_arrays(function: Callable[..., np.ndarray], result: pl.DataType, *args: pl.Expr) -> pl.Expr:
    """``function`` over columns of numbers, given and giving arrays; null where an argument is null."""

    def apply(columns: Sequence[pl.Series]) -> pl.Series:
        with np.errstate(all="ignore"):
            found = function(*(column.fill_null(0).to_numpy() for column in columns))
        made = pl.Series(columns[0].name, np.atleast_1d(found)).cast(result, wrap_numerical=True)
        nulls = np.zeros(1, dtype=bool)
        for column in columns:
            if column.null_count():
                nulls = nulls | column.is_null().to_numpy()
        return made.set(pl.Series(np.broadcast_to(nulls, len(made))), None) if nulls.any() else made

    return pl.map_batches(args, apply, return_dtype=result, is_elementwise=True)


def quotient(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Rounded once. Polars multiplies with the reciprocal of a constant, so that 3 / 10 is 0.30000000000000004."""
    return over_arrays(np.divide, pl.Float64(), a, b)


def broadcast(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Columns of one height, constants repeated."""
    height = 0 if any(len(column) == 0 for column in columns) else max(map(len, columns))
    return [column if len(column) == height else column.new_from_index(0, height) for column in columns]
