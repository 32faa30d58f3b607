"""Aggregates for ``agg``."""

from __future__ import annotations

from waterclock.expr.nodes import as_expr
from waterclock.plan.nodes import Aggregate


def count(value: object = None) -> Aggregate:
    """Number of events, or of non-null values."""
    return Aggregate("count", None if value is None else as_expr(value))


def sum(value: object) -> Aggregate:
    """Sum of the non-null values; null when there are none."""
    return Aggregate("sum", as_expr(value))


def avg(value: object) -> Aggregate:
    """Mean of the non-null values; null when there are none."""
    return Aggregate("avg", as_expr(value))


def min(value: object) -> Aggregate:
    """Least non-null value."""
    return Aggregate("min", as_expr(value))


def max(value: object) -> Aggregate:
    """Greatest non-null value."""
    return Aggregate("max", as_expr(value))
