"""Aggregates as vectorised algebra: what to keep of rows, how two parts merge, what the result is."""

from waterclock.operators.aggregates.base import Algebra
from waterclock.operators.aggregates.fold import Aggregates
from waterclock.operators.aggregates.registry import ALGEBRAS, algebra_of

__all__ = ["ALGEBRAS", "Aggregates", "Algebra", "algebra_of"]
