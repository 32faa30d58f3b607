"""Scalar expressions: one typed tree, rendered to Polars."""

from waterclock.expr.nodes import (
    Call,
    Cast,
    Column,
    End,
    Expr,
    Literal,
    Start,
    UserCall,
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
from waterclock.expr.user import Function, function, lookup

__all__ = [
    "Call", "Cast", "Column", "End", "Expr", "Function", "Literal", "Start", "UserCall", "array", "coalesce", "col",
    "end", "function", "lit", "lookup", "split", "start", "to_polars", "when",
]  # fmt: skip
