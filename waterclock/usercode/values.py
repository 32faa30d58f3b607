"""Values that user code gives: of the declared type, exactly as they would come back from a file."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from waterclock.schema import TYPES, element_type

_BITS = {"int": 31, "bigint": 63}


def fitted(value: Any, kind: str) -> Any:
    """A Python value as one of type ``kind``; raises ``TypeError`` or ``OverflowError`` where it is none."""
    if value is None:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    element = element_type(kind)
    if element is not None and isinstance(value, list | tuple):
        return [fitted(one, element) for one in value]
    if kind in _BITS and isinstance(value, int) and not isinstance(value, bool):
        if not -(1 << _BITS[kind]) <= value < 1 << _BITS[kind]:
            raise OverflowError(f"{value}, which does not fit {kind}")
        return value
    if kind in ("float", "double") and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if kind == "double" else float(struct.unpack("f", struct.pack("f", value))[0])
    if kind == "timestamp" and isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if kind == "date" and isinstance(value, date) and not isinstance(value, datetime):
        return value
    plain = {"boolean": bool, "string": str, "binary": bytes}.get(kind)
    if plain is not None and isinstance(value, plain):
        return value
    raise TypeError(f"{value!r} ({type(value).__name__}) where {kind} was declared")


def series_of(values: Any, kind: str, length: int) -> pl.Series:
    """A column that user code gave, as Polars series, Arrow or NumPy array; raises ``TypeError`` if it is none."""
    found = pl.Series(values) if isinstance(values, pa.Array | pa.ChunkedArray | np.ndarray) else values
    if not isinstance(found, pl.Series):
        raise TypeError(f"{_short(values)} ({type(values).__name__}) where a Polars series was expected")
    if len(found) != length:
        raise TypeError(f"{len(found)} values for {length} rows")
    wanted = TYPES[kind]
    if not _fits(found.dtype, wanted):
        raise TypeError(f"a series of {found.dtype} where {kind} was declared")
    try:
        if isinstance(found.dtype, pl.Datetime) and found.dtype.time_zone is None:
            found = found.dt.replace_time_zone("UTC")
        return found.cast(wanted)
    except pl.exceptions.PolarsError as error:
        raise TypeError(f"a series of {found.dtype} that does not fit {kind}: {error}") from None


def _fits(found: pl.DataType, wanted: pl.DataType) -> bool:
    """Without loss, but for whole numbers that are checked one by one."""
    if isinstance(found, pl.List) and isinstance(wanted, pl.List):
        return _fits(found.inner, wanted.inner)  # type: ignore[arg-type]
    if isinstance(found, pl.Datetime) and isinstance(wanted, pl.Datetime):
        return True
    if found.is_integer():
        return wanted.is_numeric()
    if found.is_float():
        return wanted.is_float()
    return found in (wanted, pl.Null()) or (isinstance(found, pl.Categorical | pl.Enum) and wanted == pl.String())


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
