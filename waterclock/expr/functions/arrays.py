"""Arrays."""

from __future__ import annotations

import polars as pl

from waterclock.expr.functions.base import define, eg

TABLE = [
    define("array(values T...) array<T>", "The values as an array.", lambda *a: pl.concat_list(*a), eg(1, 2, gives=[1, 2])),
]  # fmt: skip
