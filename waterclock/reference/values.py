"""Values of each type in plain Python: their order, and how they become values of a wider type."""

from __future__ import annotations

import math
import struct
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from waterclock.schema import element_type, struct_fields

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
WIDTH = {"int": 32, "bigint": 64}


def converted(value: Any, kind: str) -> Any:
    """A value as the type that an operator asks for. Integers wrap around, floats have the digits that they have."""
    if value is None:
        return None
    if (element := element_type(kind)) is not None:
        return [converted(part, element) for part in value]
    if (fields := struct_fields(kind)) is not None:
        return {name: converted(value[name], part) for name, part in fields}
    if kind in WIDTH:
        half = 1 << (WIDTH[kind] - 1)
        return (value + half) % (2 * half) - half
    if kind == "float":
        return single(value)
    if kind == "double":
        return float(value)
    if kind == "timestamp" and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if kind == "date" and isinstance(value, datetime):
        return value.date()
    if kind == "binary" and isinstance(value, str):
        return value.encode()
    return value


def order(value: Any) -> Any:
    """A sort key: NaN equals itself and is greater than every number."""
    if isinstance(value, list):
        return tuple((part is not None, order(part)) for part in value)
    if isinstance(value, dict):
        return order(list(value.values()))
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def single(value: float | int) -> float:
    """Rounded once to 32 bits."""
    if isinstance(value, int):
        return float(np.int64(value).astype(np.float32))
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
