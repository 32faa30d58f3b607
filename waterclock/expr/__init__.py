"""Scalar expressions: one typed tree, rendered to Polars."""

from waterclock.expr.nodes import (
    Call,
    Cast,
    Column,
    End,
    Expr,
    Literal,
    Start,
    array,
    coalesce,
    col,
    end,
    lit,
    split,
    start,
    when,
)
from waterclock.expr.polars import to_polars

__all__ = [
    "Call", "Cast", "Column", "End", "Expr", "Literal", "Start", "array", "coalesce", "col", "end", "lit", "split",
    "start", "to_polars", "when",
]  # fmt: skip
