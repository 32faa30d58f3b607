"""Datasets of batch programs, to join a stream with: Spark data frames, without importing Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from waterclock.errors import ConfigError
from waterclock.lang.fluent import Stream
from waterclock.schema import type_name

MOST = 100_000
"""Rows of a data frame that are collected unless more are allowed."""


def is_data_frame(other: object) -> bool:
    """Whether it is a Spark data frame, or like one."""
    return callable(getattr(other, "toArrow", None)) and callable(getattr(other, "limit", None))


def collected(app: Any, frame: Any, name: str, most: int) -> Stream:
    """A data frame as a table of the app."""
    table: pa.Table = frame.limit(most + 1).toArrow()
    if table.num_rows > most:
        raise ConfigError("PLAN.TABLE_TOO_LARGE", name=name, most=most)
    columns = {field.name: _type(field.type) for field in table.schema}
    made: Stream = app.table(name, columns, table)
    return made


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"array<{_type(kind.value_type)}>"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    names = {
        "bool": "boolean", "int8": "int", "int16": "int", "int32": "int", "int64": "bigint", "float": "float",
        "double": "double", "string": "string", "large_string": "string", "binary": "binary",
        "large_binary": "binary", "date32[day]": "date",
    }  # fmt: skip
    return type_name(names.get(str(kind), str(kind)))
