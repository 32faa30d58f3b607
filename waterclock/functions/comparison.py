"""Comparisons, where NaN equals itself and is greater than every number, and logic with null as unknown.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def between(value: object, low: object, high: object) -> Expr:
    """Whether it is at least low and at most high.

    Example: ``between(5, 1, 5) = true``
    """
    return call("between", value, low, high)


def is_null(value: object) -> Expr:
    """Whether it is null.

    Example: ``is_null(NULL) = true``
    """
    return call("is_null", value)


def is_not_null(value: object) -> Expr:
    """Whether it is not null.

    Example: ``is_not_null(0) = true``
    """
    return call("is_not_null", value)


def is_true(value: object) -> Expr:
    """Whether it is true, not false or null.

    Example: ``is_true(NULL) = false``
    """
    return call("is_true", value)


def is_false(value: object) -> Expr:
    """Whether it is false, not true or null.

    Example: ``is_false(NULL) = false``
    """
    return call("is_false", value)


def isnan(value: object) -> Expr:
    """Whether it is NaN; false for null.

    Example: ``isnan(double('NaN')) = true``
    """
    return call("isnan", value)


isnull = is_null
isnotnull = is_not_null
