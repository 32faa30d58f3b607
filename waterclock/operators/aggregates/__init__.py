"""Aggregates as vectorised algebra: what to keep of rows, how two parts merge, what the result is."""

from waterclock.operators.aggregates.base import AGGREGATES, Algebra

__all__ = ["AGGREGATES", "Algebra"]
