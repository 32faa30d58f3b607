"""Operators on numbers. Integers wrap around at their width; a quotient by zero is null.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def div(left: object, right: object) -> Expr:
    """The whole part of the quotient; null by zero.

    Example: ``div(-7, 2) = -3``
    """
    return call("div", left, right)


def pmod(left: object, right: object) -> Expr:
    """What a division leaves, never negative for a positive divisor; null by zero.

    Example: ``pmod(-7, 3) = 2``
    """
    return call("pmod", left, right)


def positive(value: object) -> Expr:
    """The number itself.

    Example: ``positive(-5) = -5``
    """
    return call("positive", value)


def abs(value: object) -> Expr:
    """The number without its sign.

    Example: ``abs(-2.5) = 2.5``
    """
    return call("abs", value)


def bitand(left: object, right: object) -> Expr:
    """The bits that both have.

    Example: ``bitand(12, 10) = 8``
    """
    return call("bitand", left, right)


def bitor(left: object, right: object) -> Expr:
    """The bits that one of them has.

    Example: ``bitor(12, 10) = 14``
    """
    return call("bitor", left, right)


def bitxor(left: object, right: object) -> Expr:
    """The bits in which they differ.

    Example: ``bitxor(12, 10) = 6``
    """
    return call("bitxor", left, right)


def bitnot(value: object) -> Expr:
    """Every bit turned.

    Example: ``bitnot(5) = -6``
    """
    return call("bitnot", value)


def bit_count(value: object) -> Expr:
    """How many bits are set.

    Example: ``bit_count(7) = 3``
    """
    return call("bit_count", value)


def shiftleft(value: object, distance: object) -> Expr:
    """The bits moved to the left.

    Example: ``shiftleft(3, 2) = 12``
    """
    return call("shiftleft", value, distance)


def shiftright(value: object, distance: object) -> Expr:
    """The bits moved to the right, keeping the sign.

    Example: ``shiftright(-8, 1) = -4``
    """
    return call("shiftright", value, distance)


def shiftrightunsigned(value: object, distance: object) -> Expr:
    """The bits moved to the right, filled with zeros.

    Example: ``shiftrightunsigned(-8, 28) = 15``
    """
    return call("shiftrightunsigned", value, distance)


def floor_to(value: object, step: object, offset: object = 0) -> Expr:
    """Down to the grid offset + n * step; null unless the step is positive.

    Example: ``floor_to(17, 5, 1) = 16``
    """
    return call("floor_to", value, step, offset)


def ceil_to(value: object, step: object, offset: object = 0) -> Expr:
    """Up to the grid offset + n * step; null unless the step is positive.

    Example: ``ceil_to(17, 5, 1) = 21``
    """
    return call("ceil_to", value, step, offset)
