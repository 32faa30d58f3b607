"""Functions in a line or two of plain Python. Arguments are of the types that the signature asks for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from waterclock.reference.values import EPOCH, MICROSECOND, order


def _either(*args: bool | None) -> bool | None:
    return True if True in args else None if None in args else False


def _all(*args: bool | None) -> bool | None:
    return False if False in args else None if None in args else True


def _equal(a: Any, b: Any) -> bool | None:
    return None if a is None or b is None else order(a) == order(b)


def _case(*args: Any) -> Any:
    for condition, value in zip(args[:-1:2], args[1::2], strict=True):
        if condition is True:
            return value
    return args[-1]


def _present(*args: Any) -> list[Any]:
    return [arg for arg in args if arg is not None]


LAZY: dict[str, Callable[..., Any]] = {
    "and": _all,
    "or": _either,
    "eq_null_safe": lambda a, b: a is None and b is None if None in (a, b) else order(a) == order(b),
    "between": lambda a, low, high: _all(
        None if None in (a, low) else order(a) >= order(low), None if None in (a, high) else order(a) <= order(high)
    ),
    "is_in": lambda a, *choices: _either(*(_equal(a, choice) for choice in choices)),
    "is_null": lambda a: a is None,
    "is_not_null": lambda a: a is not None,
    "is_true": lambda a: a is True,
    "is_false": lambda a: a is False,
    "isnan": lambda a: a is not None and math.isnan(a),
    "coalesce": lambda *args: next(iter(_present(*args)), None),
    "nvl": lambda a, b: b if a is None else a,
    "nvl2": lambda a, b, c: c if a is None else b,
    "nullif": lambda a, b: None if _equal(a, b) else a,
    "zeroifnull": lambda a: 0 if a is None else a,
    "nanvl": lambda a, b: b if a is not None and math.isnan(a) else a,
    "greatest": lambda *args: max(_present(*args), key=order, default=None),
    "least": lambda *args: min(_present(*args), key=order, default=None),
    "case": _case,
    "if": lambda c, a, b: a if c else b,
    "array": lambda *args: list(args),
}
"""Functions that look at nulls."""


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


def _literal_split(text: str, pattern: str) -> list[str]:
    return list(text) or [""] if not pattern else re.split(_python(pattern), text)


def _python(pattern: str) -> str:
    """What is between \\Q and \\E as Python takes it."""
    return re.sub(r"\\Q(.*?)\\E", lambda match: re.escape(match.group(1)), pattern, flags=re.DOTALL)


STRICT: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: None if b == 0 else a / b,
    "div": _div,
    "mod": _mod,
    "negate": lambda a: -a,
    "positive": lambda a: a,
    "abs": abs,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
    "bitnot": lambda a: ~a,
    "floor_to": lambda a, step, offset: a - (a - offset) % step if step > 0 else None,
    "ceil_to": lambda a, step, offset: a + (offset - a) % step if step > 0 else None,
    "eq": lambda a, b: order(a) == order(b),
    "ne": lambda a, b: order(a) != order(b),
    "lt": lambda a, b: order(a) < order(b),
    "le": lambda a, b: order(a) <= order(b),
    "gt": lambda a, b: order(a) > order(b),
    "ge": lambda a, b: order(a) >= order(b),
    "not": lambda a: not a,
    "nullifzero": lambda a: None if a == 0 else a,
    "lower": str.lower,
    "upper": str.upper,
    "trim": lambda a: a.strip(" "),
    "length": len,
    "contains": lambda a, b: b in a,
    "startswith": lambda a, b: a.startswith(b),
    "endswith": lambda a, b: a.endswith(b),
    "concat": lambda *parts: "".join(parts) if isinstance(parts[0], str) else [x for part in parts for x in part],
    "split": _literal_split,
    "unix_micros": lambda a: (a - EPOCH) // MICROSECOND,
}
"""Functions that give null where an argument is null."""
