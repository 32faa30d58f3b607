"""Scalar expressions: one typed tree, rendered to Polars."""

from waterclock.expr.nodes import Call, Cast, Column, Expr, Literal, coalesce, col, lit, when
from waterclock.expr.polars import to_polars

__all__ = ["Call", "Cast", "Column", "Expr", "Literal", "coalesce", "col", "lit", "to_polars", "when"]
