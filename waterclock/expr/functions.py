"""Every scalar function: its type rule and its Polars form. Adding one is adding one entry here.

Names, types and null rules are Spark SQL's. A type rule takes the argument types and gives the result type,
or None where the function does not take them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from waterclock.schema import INTEGERS, NUMBERS, ORDERED, TYPES

TypeRule = Callable[[list[str]], str | None]
Render = Callable[..., pl.Expr]


@dataclass(frozen=True)
class Function:
    symbol: str
    takes: str
    rule: TypeRule
    polars: Render


def wider(left: str, right: str) -> str | None:
    """The common type of two operands, or None."""
    if left == right:
        return left
    if "null" in (left, right):
        return right if left == "null" else left
    if left in NUMBERS and right in NUMBERS:
        return NUMBERS[max(NUMBERS.index(left), NUMBERS.index(right))]
    if {left, right} == {"date", "timestamp"}:
        return "timestamp"
    return None


def common(types: list[str]) -> str | None:
    result: str | None = "null"
    for kind in types:
        result = wider(result, kind) if result else None
    return result


def _number(types: list[str]) -> str | None:
    kind = common(types)
    return kind if kind in NUMBERS else None


def _divide(types: list[str]) -> str | None:
    return "double" if _number(types) else None


def _integer_divide(types: list[str]) -> str | None:
    return "bigint" if all(kind in INTEGERS for kind in types) else None


def _compare(types: list[str]) -> str | None:
    return "boolean" if common(types) in (*ORDERED, "null") else None


def _only(result: str | None, *accepted: str) -> TypeRule:
    def rule(types: list[str]) -> str | None:
        if not all(kind in accepted or kind == "null" for kind in types):
            return None
        return result or common(types)

    return rule


def _any(result: str) -> TypeRule:
    return lambda types: result


def _conditional(types: list[str]) -> str | None:
    """CASE: condition, value, condition, value, ..., otherwise."""
    conditions, values = types[:-1:2], [*types[1::2], types[-1]]
    return common(values) if all(kind in ("boolean", "null") for kind in conditions) else None


def _case(*args: pl.Expr) -> pl.Expr:
    result = args[-1]
    for condition, value in reversed(list(zip(args[:-1:2], args[1::2], strict=True))):
        result = pl.when(condition.cast(pl.Boolean)).then(value).otherwise(result)
    return result


def _array(types: list[str]) -> str | None:
    kind = common(types)
    return f"array<{'string' if kind == 'null' else kind}>" if kind and types else None


def _floor_to(a: pl.Expr, step: pl.Expr, offset: pl.Expr) -> pl.Expr:
    return pl.when(step > 0).then(a - (a - offset) % step)  # Polars' % is never negative for a positive step


def _ceil_to(a: pl.Expr, step: pl.Expr, offset: pl.Expr) -> pl.Expr:
    return pl.when(step > 0).then(a + (offset - a) % step)


def _bool(a: pl.Expr) -> pl.Expr:
    return a.cast(pl.Boolean)  # only a bare null is not one already


def _text(a: pl.Expr) -> pl.Expr:
    return a.cast(pl.String)  # only a bare null is not one already


def _split(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    # Polars does not broadcast a single text over a column of separators.
    text = pl.concat_str([_text(a), _text(b).str.slice(0, 0)])
    return text.str.split(_text(b))


def _truncated_division(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    # Spark's div rounds towards zero; Polars' // rounds down.
    whole = a.cast(pl.Int64).abs() // b.cast(pl.Int64).abs()
    return pl.when(b == 0).then(None).otherwise(whole * (a.sign() * b.sign()).cast(pl.Int64))


def _remainder(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    # The remainder has the sign of the dividend, as in Spark.
    whole = (
        pl.when(b.cast(pl.Float64).is_infinite() & a.cast(pl.Float64).is_finite())
        .then(a.abs())
        .otherwise(a.abs() % b.abs())
    )
    return pl.when(b == 0).then(None).otherwise(whole * a.sign())


FUNCTIONS: dict[str, Function] = {
    "add": Function("+", "numbers", _number, lambda a, b: a + b),
    "subtract": Function("-", "numbers", _number, lambda a, b: a - b),
    "multiply": Function("*", "numbers", _number, lambda a, b: a * b),
    "divide": Function("/", "numbers", _divide, lambda a, b: pl.when(b == 0).then(None).otherwise(a.cast(pl.Float64) / b)),
    "div": Function("div", "integers", _integer_divide, _truncated_division),
    "mod": Function("%", "numbers", _number, _remainder),
    "negate": Function("-", "a number", _only(None, *NUMBERS), lambda a: -a),
    "abs": Function("abs", "a number", _only(None, *NUMBERS), lambda a: a.abs()),
    "eq": Function("==", "two values of one type", _compare, lambda a, b: a == b),
    "ne": Function("!=", "two values of one type", _compare, lambda a, b: a != b),
    "lt": Function("<", "two values of one type", _compare, lambda a, b: a < b),
    "le": Function("<=", "two values of one type", _compare, lambda a, b: a <= b),
    "gt": Function(">", "two values of one type", _compare, lambda a, b: a > b),
    "ge": Function(">=", "two values of one type", _compare, lambda a, b: a >= b),
    "and": Function("&", "booleans", _only("boolean", "boolean"), lambda a, b: _bool(a) & _bool(b)),
    "or": Function("|", "booleans", _only("boolean", "boolean"), lambda a, b: _bool(a) | _bool(b)),
    "not": Function("~", "a boolean", _only("boolean", "boolean"), lambda a: ~_bool(a)),
    "is_null": Function("is_null", "any value", _any("boolean"), lambda a: a.is_null()),
    "is_in": Function("is_in", "values of one type", _compare, lambda a, *b: pl.any_horizontal(pl.lit(False), *(a == x for x in b))),
    "coalesce": Function("coalesce", "values of one type", common, lambda *a: pl.coalesce(*a)),
    "case": Function("when", "conditions and values of one type", _conditional, _case),
    "unix_micros": Function("unix_micros", "a timestamp", _only("bigint", "timestamp"), lambda a: a.to_physical()),
    "timestamp_micros": Function("timestamp_micros", "an integer", _only("timestamp", *INTEGERS), lambda a: a.cast(pl.Int64).cast(TYPES["timestamp"])),
    "floor_to": Function("floor_to", "integers", _only("bigint", *INTEGERS), lambda a, *b: _floor_to(*(x.cast(pl.Int64) for x in (a, *b)))),
    "ceil_to": Function("ceil_to", "integers", _only("bigint", *INTEGERS), lambda a, *b: _ceil_to(*(x.cast(pl.Int64) for x in (a, *b)))),
    "array": Function("array", "values of one type", _array, lambda *a: pl.concat_list(*a)),
    "split": Function("split", "strings", _only("array<string>", "string"), _split),
    "lower": Function("lower", "a string", _only("string", "string"), lambda a: _text(a).str.to_lowercase()),
    "upper": Function("upper", "a string", _only("string", "string"), lambda a: _text(a).str.to_uppercase()),
    "trim": Function("trim", "a string", _only("string", "string"), lambda a: _text(a).str.strip_chars(" ")),
    "length": Function("length", "a string", _only("int", "string"), lambda a: _text(a).str.len_chars().cast(pl.Int32)),
    "contains": Function("contains", "strings", _only("boolean", "string"), lambda a, b: _text(a).str.contains(_text(b), literal=True)),
    "startswith": Function("startswith", "strings", _only("boolean", "string"), lambda a, b: _text(a).str.starts_with(_text(b))),
    "endswith": Function("endswith", "strings", _only("boolean", "string"), lambda a, b: _text(a).str.ends_with(_text(b))),
    "concat": Function("concat", "strings", _only("string", "string"), lambda *a: pl.concat_str([_text(part) for part in a])),
}  # fmt: skip
