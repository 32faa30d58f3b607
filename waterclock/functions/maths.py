"""Mathematics. Results are doubles, if not said otherwise.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def sqrt(value: object) -> Expr:
    """The square root; NaN below zero.

    Example: ``sqrt(9) = 3.0``
    """
    return call("sqrt", value)


def cbrt(value: object) -> Expr:
    """The cube root.

    Example: ``cbrt(27) = 3.0``
    """
    return call("cbrt", value)


def exp(value: object) -> Expr:
    """e to a power.

    Example: ``exp(0) = 1.0``
    """
    return call("exp", value)


def expm1(value: object) -> Expr:
    """e to a power, less 1.

    Example: ``expm1(0) = 0.0``
    """
    return call("expm1", value)


def ln(value: object) -> Expr:
    """The natural logarithm; null unless positive.

    Example: ``ln(1) = 0.0``
    """
    return call("ln", value)


def log(base: object, value: object) -> Expr:
    """The logarithm to a base; null unless both are positive.

    Example: ``log(2, 8) = 3.0``
    """
    return call("log", base, value)


def log10(value: object) -> Expr:
    """The logarithm to base 10; null unless positive.

    Example: ``log10(1000) = 3.0``
    """
    return call("log10", value)


def log2(value: object) -> Expr:
    """The logarithm to base 2; null unless positive.

    Example: ``log2(8) = 3.0``
    """
    return call("log2", value)


def log1p(value: object) -> Expr:
    """The natural logarithm of 1 more; null unless greater than -1.

    Example: ``log1p(0) = 0.0``
    """
    return call("log1p", value)


def pow(value: object, power: object) -> Expr:
    """To a power.

    Example: ``pow(2, 10) = 1024.0``
    """
    return call("pow", value, power)


def floor(value: object) -> Expr:
    """Down to a whole number.

    Example: ``floor(-1.5) = -2``
    """
    return call("floor", value)


def ceil(value: object) -> Expr:
    """Up to a whole number.

    Example: ``ceil(1.2) = 2``
    """
    return call("ceil", value)


def rint(value: object) -> Expr:
    """To the next whole number, halves to the even one.

    Example: ``rint(2.5) = 2.0``
    """
    return call("rint", value)


def round(value: object, digits: int = 0) -> Expr:
    """To so many decimal digits, halves away from zero.

    Example: ``round(2.675, 2) = 2.68``
    """
    return call("round", value, digits)


def bround(value: object, digits: int = 0) -> Expr:
    """To so many decimal digits, halves to the even digit.

    Example: ``bround(2.5) = 2.0``
    """
    return call("bround", value, digits)


def sign(value: object) -> Expr:
    """-1, 0 or 1.

    Example: ``sign(-3) = -1.0``
    """
    return call("sign", value)


def factorial(value: object) -> Expr:
    """The product of 1 to the number; null unless from 0 to 20.

    Example: ``factorial(5) = 120``
    """
    return call("factorial", value)


def hypot(a: object, b: object) -> Expr:
    """The length of the diagonal.

    Example: ``hypot(3, 4) = 5.0``
    """
    return call("hypot", a, b)


def width_bucket(value: object, low: object, high: object, count: object) -> Expr:
    """The number of the bucket, of so many equal ones between low and high.

    Example: ``width_bucket(5.3, 0.2, 10.6, 5) = 3``
    """
    return call("width_bucket", value, low, high, count)


def sin(value: object) -> Expr:
    """The sine.

    Example: ``sin(0) = 0.0``
    """
    return call("sin", value)


def cos(value: object) -> Expr:
    """The cosine.

    Example: ``cos(0) = 1.0``
    """
    return call("cos", value)


def tan(value: object) -> Expr:
    """The tangent.

    Example: ``tan(0) = 0.0``
    """
    return call("tan", value)


def cot(value: object) -> Expr:
    """The cotangent.

    Example: ``cot(1) = 0.6420926159343306``
    """
    return call("cot", value)


def sec(value: object) -> Expr:
    """The secant.

    Example: ``sec(0) = 1.0``
    """
    return call("sec", value)


def csc(value: object) -> Expr:
    """The cosecant.

    Example: ``csc(1) = 1.1883951057781212``
    """
    return call("csc", value)


def asin(value: object) -> Expr:
    """The angle of a sine.

    Example: ``asin(0) = 0.0``
    """
    return call("asin", value)


def acos(value: object) -> Expr:
    """The angle of a cosine.

    Example: ``acos(1) = 0.0``
    """
    return call("acos", value)


def atan(value: object) -> Expr:
    """The angle of a tangent.

    Example: ``atan(0) = 0.0``
    """
    return call("atan", value)


def atan2(y: object, x: object) -> Expr:
    """The angle of a point.

    Example: ``atan2(0, 1) = 0.0``
    """
    return call("atan2", y, x)


def sinh(value: object) -> Expr:
    """The hyperbolic sine.

    Example: ``sinh(0) = 0.0``
    """
    return call("sinh", value)


def cosh(value: object) -> Expr:
    """The hyperbolic cosine.

    Example: ``cosh(0) = 1.0``
    """
    return call("cosh", value)


def tanh(value: object) -> Expr:
    """The hyperbolic tangent.

    Example: ``tanh(0) = 0.0``
    """
    return call("tanh", value)


def asinh(value: object) -> Expr:
    """The inverse hyperbolic sine.

    Example: ``asinh(0) = 0.0``
    """
    return call("asinh", value)


def acosh(value: object) -> Expr:
    """The inverse hyperbolic cosine.

    Example: ``acosh(1) = 0.0``
    """
    return call("acosh", value)


def atanh(value: object) -> Expr:
    """The inverse hyperbolic tangent.

    Example: ``atanh(0) = 0.0``
    """
    return call("atanh", value)


def degrees(value: object) -> Expr:
    """Radians as degrees.

    Example: ``degrees(0) = 0.0``
    """
    return call("degrees", value)


def radians(value: object) -> Expr:
    """Degrees as radians.

    Example: ``radians(0) = 0.0``
    """
    return call("radians", value)


def pi() -> Expr:
    """π.

    Example: ``pi() = 3.141592653589793``
    """
    return call("pi")


def e() -> Expr:
    """Euler's number.

    Example: ``e() = 2.718281828459045``
    """
    return call("e")


power = pow
ceiling = ceil
signum = sign
