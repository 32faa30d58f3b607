"""JSON lines. Types must match exactly, save that a whole number is also a double; a missing key is null.

A block is parsed at once by two libraries that complement each other: Polars takes only one object per line, but turns
numbers into text and passes over unknown keys; pyarrow does neither, but takes several objects per line, ``NaN``, and
crashes on a line that says ``null``. What either refuses goes line by line to find which lines are bad.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.json as pj

from waterclock.connect.formats.block import Block
from waterclock.connect.rows import ISO_DATE, cast_expr, check_names, iso_micros
from waterclock.errors import DataError
from waterclock.schema import TYPES
from waterclock.streams import Declaration, Rejected

_ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64(), "string": pa.string(),
    "float": pa.float64(), "binary": pa.binary(), "date": pa.string(), "timestamp": pa.timestamp("us", "UTC"),
}  # fmt: skip
SMALL = 64 << 10
_RANGE = {"int": 2**31, "bigint": 2**63, "timestamp": 2**63}


def parse(block: Block, declaration: Declaration) -> tuple[pl.DataFrame, list[Rejected]]:
    rows = _at_once(block.data, declaration)
    if rows is not None:
        return rows, []
    # One bad line must not make all of a large block go line by line.
    middle = block.data.find(b"\n", len(block.data) // 2) + 1
    if len(block.data) <= SMALL or not 0 < middle < len(block.data):
        return _by_line(block, declaration)
    first = replace(block, data=block.data[:middle])
    second = replace(block, data=block.data[middle:], line=block.line + first.data.count(b"\n"))
    (one, bad), (other, worse) = parse(first, declaration), parse(second, declaration)
    return pl.concat([one, other]), bad + worse


def lines(block: Block) -> Iterator[int]:
    """The numbers of the lines that rows stand on, good and bad ones."""
    return (number for number, line in enumerate(block.data.split(b"\n"), block.line) if line.strip())


def _at_once(data: bytes, declaration: Declaration) -> pl.DataFrame | None:
    """All rows, or None if anything at all is unusual."""
    try:
        height = pl.read_ndjson(data, schema={"\0": pl.String()}).height
        if height == 0:
            return pl.DataFrame(schema=declaration.schema.polars())
        options = pj.ParseOptions(explicit_schema=_schema(data, declaration), unexpected_field_behavior="error")
        reading = pj.ReadOptions(block_size=min(len(data) + 1, 4 << 20))
        frame = pl.DataFrame(pj.read_json(io.BytesIO(data), reading, options))
        dates = [name for name, kind in declaration.schema if kind == "date"]
        if frame.height != height or not all(frame[name].str.contains(ISO_DATE).all() for name in dates):
            return None
        return frame.select(
            cast_expr(pl.col(name), frame.schema[name], kind, strict=True).alias(name)
            for name, kind in declaration.schema
        )
    except (pl.exceptions.PolarsError, pa.ArrowInvalid, ValueError):
        return None


def _schema(data: bytes, declaration: Declaration) -> pa.Schema:
    """The first line shows how times are written: as text or as microseconds."""
    first = json.loads(data.lstrip().split(b"\n", 1)[0])
    return pa.schema(
        (name, pa.int64() if kind == "timestamp" and isinstance(first.get(name), int) else _ARROW[kind])
        for name, kind in declaration.schema
    )


def _by_line(block: Block, declaration: Declaration) -> tuple[pl.DataFrame, list[Rejected]]:
    columns: dict[str, list[Any]] = {name: [] for name in declaration.schema.names}
    rejected: list[Rejected] = []
    names = declaration.schema.names
    for number, line in enumerate(block.data.split(b"\n"), block.line):
        if not line.strip():
            continue
        at = f"{block.where} line {number}"
        try:
            row = _object(line, at)
            if not row.keys() <= columns.keys():
                check_names([*row, *(name for name in names if name not in row)], declaration, at)
            values = [_value(row.get(name), kind, name, at) for name, kind in declaration.schema]
        except DataError as error:
            if error.code == "DATA.UNKNOWN_COLUMN":
                raise
            text = line.decode(errors="replace").rstrip("\r")
            rejected.append(Rejected(at, error.message, text, error))
            continue
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    series = [_series(name, columns[name], kind) for name, kind in declaration.schema]
    return pl.DataFrame(series), rejected


def _object(line: bytes, at: str) -> dict[str, Any]:
    try:
        row = json.loads(line.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
        if isinstance(row, dict):
            if any(isinstance(value, str) and not value.isascii() and _lone(value) for value in row.values()):
                raise ValueError("half of a surrogate pair")
            return row
        reason = "the line is not a JSON object"
    except UnicodeDecodeError:
        reason = "the line is not UTF-8"
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at character {error.colno}"
    except (ValueError, RecursionError) as error:
        reason = f"not JSON: {error}"
    raise DataError("DATA.MALFORMED", where=at, reason=reason)


def _lone(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        twice = next(key for key, _ in pairs if sum(key == other for other, _ in pairs) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return row


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _value(value: Any, kind: str, column: str, at: str) -> Any:
    """The value as the column holds it: times as microseconds."""
    if value is None:
        return None
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind in _RANGE and whole and -_RANGE[kind] <= value < _RANGE[kind]:
        return value
    if kind in ("double", "float") and (whole or isinstance(value, float)):
        number = _double(value)
        if number is not None:
            return number
    elif kind == "boolean" and isinstance(value, bool):
        return value
    elif isinstance(value, str):
        if kind == "string":
            return value
        if kind == "binary":
            return value.encode()
        moment = _date(value) if kind == "date" else iso_micros(value) if kind == "timestamp" else None
        if moment is not None:
            return moment
    raise DataError("DATA.WRONG_TYPE", where=at, column=column, value=json.dumps(value, ensure_ascii=False), type=kind)


def _double(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 and text[4] == text[7] == "-" else None
    except ValueError:
        return None


def _series(name: str, values: list[Any], kind: str) -> pl.Series:
    if kind == "timestamp":
        return pl.Series(name, values, dtype=pl.Int64()).cast(TYPES[kind])
    return pl.Series(name, values, dtype=TYPES[kind])
