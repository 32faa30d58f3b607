"""Select-many: one event for every element of an array. Output CTI: c. No state."""

from __future__ import annotations

import polars as pl

from waterclock.expr import to_polars
from waterclock.plan.nodes import Explode


def apply(node: Explode, frame: pl.LazyFrame) -> pl.LazyFrame:
    arrays = to_polars(node.array, node.input.schema).alias(node.column)
    return frame.with_columns(arrays).filter(pl.col(node.column).list.len() > 0).explode(node.column)
