"""Expressions over one payload, by Spark SQL's rules: null in, null out, but for the functions that say otherwise.

A quotient by zero and a cast of a value that does not fit are null. Integers wrap around at their width.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import polars as pl

from waterclock.expr.functions import common
from waterclock.expr.nodes import Call, Cast, Column, End, Expr, Literal, Start, UserCall
from waterclock.schema import TYPES, Schema, element_type
from waterclock.time import FOREVER

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WIDTH = {"int": 32, "bigint": 64}


def value_of(expr: Expr, row: Mapping[str, Any], schema: Schema, life: tuple[int, int] | None = None) -> Any:
    """The value of ``expr`` over one payload and lifetime."""
    if isinstance(expr, Column):
        return row[expr.name]
    if isinstance(expr, Start | End):
        return _instant(expr, life)
    if isinstance(expr, Literal):
        return EPOCH + timedelta(microseconds=expr.value) if expr.type == "timestamp" else expr.value
    if isinstance(expr, Cast):
        return cast(value_of(expr.arg, row, schema, life), expr.to)
    if isinstance(expr, UserCall):
        return _user_value(expr, row, schema, life)
    assert isinstance(expr, Call)
    if expr.function == "unix_micros" and isinstance(expr.args[0], Start | End):
        return _micros(expr.args[0], life)  # also of times that no datetime can hold
    args = [value_of(arg, row, schema, life) for arg in expr.args]
    types = [arg.type_in(schema) for arg in expr.args]
    result = expr.type_in(schema)
    if expr.function == "is_in":
        args = [widen(arg, common(types) or "null") for arg in args]
    if expr.function in LAZY:
        return _fitted(widen(LAZY[expr.function](args), result), result)
    if any(arg is None for arg in args):
        return None
    if expr.function in COMPARISONS:
        shared = common(types) or "null"
        left, right = (order(widen(arg, shared)) for arg in args)
        return COMPARISONS[expr.function](left, right)
    if expr.function in ("add", "subtract", "multiply", "mod", "negate", "abs"):
        args = [widen(arg, result) for arg in args]
    return _fitted(widen(STRICT[expr.function](*args), result), result)


def _user_value(expr: UserCall, row: Mapping[str, Any], schema: Schema, life: tuple[int, int] | None) -> Any:
    """By calling it on one row."""
    given = [(value_of(arg, row, schema, life), arg.type_in(schema)) for arg in expr.args]
    columns = [pl.Series([value], dtype=pl.Null() if kind == "null" else TYPES[kind]) for value, kind in given]
    return expr.function.run(columns).to_list()[0]


def _fitted(value: Any, kind: str) -> Any:
    """A float with the digits that its type has."""
    if value is None:
        return None
    if (element := element_type(kind)) is not None:
        return [_fitted(part, element) for part in value]
    return single(value) if kind == "float" else value


def _micros(expr: Start | End, life: tuple[int, int] | None) -> int | None:
    assert life is not None, "a lifetime is read where there is none"
    time = life[0] if isinstance(expr, Start) else life[1]
    return None if time == FOREVER else time


def _instant(expr: Start | End, life: tuple[int, int] | None) -> datetime | None:
    time = _micros(expr, life)
    return None if time is None else EPOCH + timedelta(microseconds=time)


def widen(value: Any, kind: str) -> Any:
    """A value as the wider type that an operator asks for."""
    if value is None:
        return None
    if (element := element_type(kind)) is not None:
        return [widen(part, element) for part in value]
    if kind in WIDTH:
        half = 1 << (WIDTH[kind] - 1)
        return (value + half) % (2 * half) - half
    if kind in ("float", "double"):
        return float(value)
    if kind == "timestamp" and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value


def order(value: Any) -> Any:
    """A sort key: NaN equals itself and is greater than every number."""
    if isinstance(value, list):
        return tuple((part is not None, order(part)) for part in value)
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def single(value: float) -> float:
    """Rounded to 32 bits."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


# -- functions that look at nulls --------------------------------------------------------------------------


def _and(args: list[Any]) -> bool | None:
    return False if False in args else None if None in args else True


def _or(args: list[Any]) -> bool | None:
    return True if True in args else None if None in args else False


def _is_in(args: list[Any]) -> bool | None:
    value, choices = args[0], args[1:]
    return _or([None if value is None or choice is None else order(value) == order(choice) for choice in choices])


def _coalesce(args: list[Any]) -> Any:
    return next((arg for arg in args if arg is not None), None)


def _case(args: list[Any]) -> Any:
    for condition, value in zip(args[:-1:2], args[1::2], strict=True):
        if condition is True:
            return value
    return args[-1]


LAZY: dict[str, Callable[[list[Any]], Any]] = {
    "and": _and,
    "or": _or,
    "is_in": _is_in,
    "is_null": lambda args: args[0] is None,
    "coalesce": _coalesce,
    "case": _case,
    "array": list,
}

# -- functions that do not ---------------------------------------------------------------------------------

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def _div(a: int, b: int) -> int | None:
    if b == 0:
        return None
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def _mod(a: Any, b: Any) -> Any:
    if b == 0:
        return None
    if isinstance(a, int):
        return abs(a) % abs(b) * (-1 if a < 0 else 1)
    return math.nan if math.isinf(a) or math.isnan(a) or math.isnan(b) else math.fmod(a, b)


def _split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else list(text)


STRICT: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: None if b == 0 else float(a) / float(b),
    "div": _div,
    "mod": _mod,
    "negate": lambda a: -a,
    "abs": abs,
    "not": lambda a: not a,
    "lower": str.lower,
    "upper": str.upper,
    "trim": lambda a: a.strip(" "),
    "length": len,
    "contains": lambda a, b: b in a,
    "startswith": lambda a, b: a.startswith(b),
    "endswith": lambda a, b: a.endswith(b),
    "concat": lambda *parts: "".join(parts),
    "split": _split,
    "unix_micros": lambda a: (a - EPOCH) // timedelta(microseconds=1),
    "floor_to": lambda a, step, offset: a - (a - offset) % step if step > 0 else None,
    "ceil_to": lambda a, step, offset: a + (offset - a) % step if step > 0 else None,
}

# -- casts -------------------------------------------------------------------------------------------------


def cast(value: Any, to: str) -> Any:
    """A value as another type; null where it does not fit."""
    if value is None:
        return None
    if to == "boolean":
        if isinstance(value, str):
            return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}.get(value.lower())
        return value if isinstance(value, bool) else value != 0
    if to in WIDTH:
        return _to_integer(value, 1 << (WIDTH[to] - 1))
    if to in ("float", "double"):
        return _to_float(value, to)
    if to == "string":
        return _to_text(value)
    if to == "binary":
        return value.encode() if isinstance(value, str) else value
    if to in ("date", "timestamp"):
        return _to_time(value, to)
    return value


def _to_integer(value: Any, half: int) -> int | None:
    if isinstance(value, datetime):
        value = (value - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?[0-9]+", value):
            return None
        value = int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = math.trunc(value)
    number = int(value)
    return number if -half <= number < half else None


def _to_float(value: Any, to: str) -> float | None:
    try:
        return single(float(value)) if to == "float" else float(value)
    except ValueError:
        return None


def _to_time(value: Any, to: str) -> date | None:
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value) if to == "date" else datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        at = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return at.date() if to == "date" else at
    moment = widen(value, to)
    assert isinstance(moment, date)
    return moment


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    return str(value)
