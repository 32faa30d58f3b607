"""Aggregates for ``agg``. Each takes ``where``: only the events that satisfy it count."""

from __future__ import annotations

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr, as_expr
from waterclock.plan.aggregate import Aggregate


def count(value: object = None, where: Expr | None = None) -> Aggregate:
    """Number of events, or of non-null values."""
    return Aggregate("count", None if value is None else as_expr(value), where)


def count_distinct(value: object, where: Expr | None = None) -> Aggregate:
    """Number of different non-null values, exactly."""
    return Aggregate("count_distinct", as_expr(value), where)


def approx_count_distinct(value: object, where: Expr | None = None) -> Aggregate:
    """Number of different non-null values, within about 2 %, in little memory."""
    return Aggregate("approx_count_distinct", as_expr(value), where)


def sum(value: object, where: Expr | None = None) -> Aggregate:
    """Sum of the non-null values; null when there are none."""
    return Aggregate("sum", as_expr(value), where)


def avg(value: object, where: Expr | None = None) -> Aggregate:
    """Mean of the non-null values; null when there are none."""
    return Aggregate("avg", as_expr(value), where)


def min(value: object, where: Expr | None = None) -> Aggregate:
    """Least non-null value."""
    return Aggregate("min", as_expr(value), where)


def max(value: object, where: Expr | None = None) -> Aggregate:
    """Greatest non-null value."""
    return Aggregate("max", as_expr(value), where)


def variance(value: object, where: Expr | None = None, population: bool = False) -> Aggregate:
    """Variance of a sample (null for one value), or of the population."""
    return Aggregate("var_pop" if population else "variance", as_expr(value), where)


def stddev(value: object, where: Expr | None = None, population: bool = False) -> Aggregate:
    """Standard deviation of a sample (null for one value), or of the population."""
    return Aggregate("stddev_pop" if population else "stddev", as_expr(value), where)


def first(value: object, where: Expr | None = None) -> Aggregate:
    """The value of the event that starts first; of several, the least."""
    return Aggregate("first", as_expr(value), where)


def last(value: object, where: Expr | None = None) -> Aggregate:
    """The value of the event that starts last; of several, the greatest."""
    return Aggregate("last", as_expr(value), where)


def percentile_disc(value: object, fraction: float, where: Expr | None = None) -> Aggregate:
    """The value at a fraction of the sorted values: one of them."""
    return Aggregate("percentile_disc", as_expr(value), where, _fraction(fraction))


def percentile_cont(value: object, fraction: float, where: Expr | None = None) -> Aggregate:
    """The value at a fraction of the sorted values, interpolated."""
    return Aggregate("percentile_cont", as_expr(value), where, _fraction(fraction))


def top_k(value: object, k: int, where: Expr | None = None) -> Aggregate:
    """The values of rank at most ``k``, greatest first, with ties, as an array."""
    if k < 1:
        raise ConfigError("PLAN.BAD_COUNT", what="top_k", value=k)
    return Aggregate("top_k", as_expr(value), where, k)


def collect_list(value: object, where: Expr | None = None) -> Aggregate:
    """The non-null values, in their own order, as an array."""
    return Aggregate("collect_list", as_expr(value), where)


def _fraction(value: float) -> float:
    if not 0 <= value <= 1:
        fix = "It is a fraction from 0 to 1, such as 0.95."
        raise ConfigError("CONFIG.BAD_OPTION", option="fraction", value=value, fix=fix)
    return float(value)
