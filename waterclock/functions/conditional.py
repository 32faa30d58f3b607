"""Choices between values.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def if_(condition: object, value: object, otherwise: object) -> Expr:
    """One value if the condition holds, the other if not or if it is null.

    Example: ``if(NULL, 1, 2) = 2``
    """
    return call("if", condition, value, otherwise)


def coalesce(*values: object) -> Expr:
    """The first value that is not null.

    Example: ``coalesce(NULL, 5, 6) = 5``
    """
    return call("coalesce", *values)


def nvl(value: object, otherwise: object) -> Expr:
    """The value, or the other if it is null.

    Example: ``nvl(NULL, 5) = 5``
    """
    return call("nvl", value, otherwise)


def nvl2(value: object, present: object, absent: object) -> Expr:
    """One value if the first is not null, the other if it is.

    Example: ``nvl2(NULL, 1, 2) = 2``
    """
    return call("nvl2", value, present, absent)


def nullif(value: object, other: object) -> Expr:
    """Null if they are equal, else the value.

    Example: ``nullif(5, 5) = NULL``
    """
    return call("nullif", value, other)


def nullifzero(value: object) -> Expr:
    """Null for zero, else the number.

    Example: ``nullifzero(0) = NULL``
    """
    return call("nullifzero", value)


def zeroifnull(value: object) -> Expr:
    """Zero for null, else the number.

    Example: ``zeroifnull(NULL) = 0``
    """
    return call("zeroifnull", value)


def nanvl(value: object, otherwise: object) -> Expr:
    """The value, or the other if it is NaN.

    Example: ``nanvl(double('NaN'), 1.5) = 1.5``
    """
    return call("nanvl", value, otherwise)


def greatest(first: object, second: object, *more: object) -> Expr:
    """The greatest of the values that are not null.

    Example: ``greatest(1, NULL, 3) = 3``
    """
    return call("greatest", first, second, *more)


def least(first: object, second: object, *more: object) -> Expr:
    """The least of the values that are not null.

    Example: ``least(1, NULL, 3) = 1``
    """
    return call("least", first, second, *more)


ifnull = nvl
