"""Functions in a line or two of plain Python. Arguments are of the types that the signature asks for."""

from __future__ import annotations

import base64
import calendar
import hashlib
import math
import re
import zlib
from collections.abc import Callable
from datetime import timedelta
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


def _like(text: str, pattern: str, escape: str) -> bool:
    """By trying what each sign of the pattern can stand for, from the left."""
    if not pattern:
        return not text
    if pattern[0] == escape:
        return text[:1] == pattern[1] and _like(text[1:], pattern[2:], escape)
    if pattern[0] == "%":
        return any(_like(text[at:], pattern[1:], escape) for at in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and _like(text[1:], pattern[1:], escape)


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
    "size": lambda a: -1 if a is None else len(a),
    "array_append": lambda a, b: None if a is None else [*a, b],
    "array_prepend": lambda a, b: None if a is None else [b, *a],
    "concat_ws": lambda separator, *parts: None if separator is None else separator.join(_present(*parts)),
    "named_struct": lambda *pairs: dict(zip(pairs[::2], pairs[1::2], strict=True)),
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


def _substring(text: str, place: int, count: int) -> str:
    start = place - 1 if place > 0 else len(text) + place if place < 0 else 0
    return text[max(start, 0) : max(start + count, 0)]


def _capital(word: str) -> str:
    large = word[:1].upper()  # two letters for some
    return large[:1] + large[1:].lower() + word[1:]


def _present_in(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


STRICT: dict[str, Callable[..., Any]] = {
    "like": _like,
    "ilike": lambda a, pattern, escape: _like(a.lower(), pattern.lower(), escape),
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
    "initcap": lambda a: " ".join(_capital(word) for word in a.lower().split(" ")),
    "ltrim": lambda a: a.lstrip(" "),
    "rtrim": lambda a: a.rstrip(" "),
    "octet_length": len,
    "bit_length": lambda a: 8 * len(a),
    "substring": _substring,
    "left": lambda a, n: a[: max(n, 0)],
    "right": lambda a, n: a[max(len(a) - n, 0) :] if n > 0 else "",
    "lpad": lambda a, n, pad: (pad * n)[: max(n - len(a), 0)] + a[: max(n, 0)],
    "rpad": lambda a, n, pad: a[: max(n, 0)] + (pad * n)[: max(n - len(a), 0)],
    "repeat": lambda a, n: a * n,
    "space": lambda n: " " * n,
    "reverse": lambda a: a[::-1],
    "replace": lambda a, search, value: a.replace(search, value) if search else a,
    "instr": lambda a, part: a.find(part) + 1,
    "ascii": lambda a: ord(a[0]) if a else 0,
    "chr": lambda n: chr(n % 256) if n >= 0 else "",
    "unhex": lambda a: bytes.fromhex(a.zfill(len(a) + len(a) % 2)) if re.fullmatch("[0-9A-Fa-f]*", a) else None,
    "base64": lambda a: base64.b64encode(a).decode(),
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
    "sign": lambda a: a if math.isnan(a) or a == 0 else math.copysign(1.0, a),
    "factorial": lambda n: math.factorial(n) if 0 <= n <= 20 else None,
    "bit_count": lambda a: (a % 2**64).bit_count(),
    "pi": lambda: math.pi,
    "e": lambda: math.e,
    "year": lambda a: a.year,
    "quarter": lambda a: (a.month + 2) // 3,
    "month": lambda a: a.month,
    "weekofyear": lambda a: a.isocalendar().week,
    "day": lambda a: a.day,
    "dayofyear": lambda a: a.timetuple().tm_yday,
    "dayofweek": lambda a: a.isoweekday() % 7 + 1,
    "weekday": lambda a: a.weekday(),
    "hour": lambda a: a.hour,
    "minute": lambda a: a.minute,
    "second": lambda a: a.second,
    "last_day": lambda a: a.replace(day=calendar.monthrange(a.year, a.month)[1]),
    "datediff": lambda a, b: (a - b).days,
    "unix_date": lambda a: (a - EPOCH.date()).days,
    "date_from_unix_date": lambda n: EPOCH.date() + timedelta(days=n),
    "unix_seconds": lambda a: (a - EPOCH) // timedelta(seconds=1),
    "unix_millis": lambda a: (a - EPOCH) // timedelta(milliseconds=1),
    "unix_micros": lambda a: (a - EPOCH) // MICROSECOND,
    "timestamp_millis": lambda n: EPOCH + timedelta(milliseconds=n),
    "timestamp_micros": lambda n: EPOCH + MICROSECOND * n,
    "array_size": len,
    "element_at": lambda a, n: a[n - 1 if n > 0 else n] if n and -len(a) <= n <= len(a) else None,
    "get": lambda a, n: a[n] if 0 <= n < len(a) else None,
    "array_compact": _present_in,
    "array_max": lambda a: max(_present_in(a), key=order, default=None),
    "array_min": lambda a: min(_present_in(a), key=order, default=None),
    "array_position": lambda a, b: next((n for n, x in enumerate(a, 1) if _equal(x, b)), 0),
    "array_remove": lambda a, b: [x for x in a if not _equal(x, b)],
    "array_contains": lambda a, b: _either(*(_equal(x, b) for x in a)),
    "flatten": lambda a: None if None in a else [x for part in a for x in part],
    "get_field": lambda a, name: a[name],
    "md5": lambda a: hashlib.md5(a).hexdigest(),
    "sha1": lambda a: hashlib.sha1(a).hexdigest(),
    "crc32": zlib.crc32,
}
"""Functions that give null where an argument is null."""
