"""Rows from Python as a frame with exactly the declared columns and types, or an error that names the row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from waterclock.errors import ConfigError, DataError, did_you_mean
from waterclock.schema import TYPES
from waterclock.streams import Declaration, Rejected
from waterclock.time import instant

ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
ISO_TIME = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}(:\d{2}(:\d{2}(\.\d{1,9})?)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$"
"""Only these shapes have one meaning; Polars alone would also read 11/12/2026, as the 11th of December."""


def to_frame(rows: Any, declaration: Declaration, where: str = "") -> tuple[pl.DataFrame, list[Rejected]]:
    """Takes a list of dicts, a dict of columns, a Polars or pandas frame, or an Arrow table or batch."""
    schema = declaration.schema
    if isinstance(rows, pl.LazyFrame):
        rows = rows.collect()
    if isinstance(rows, pl.DataFrame):
        return conform(rows, declaration, where)
    if isinstance(rows, Mapping):
        rows = _columns(rows, where)
        return conform(rows, declaration, where)
    if isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
        return _from_dicts(rows, declaration, where)
    if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
        return conform(pl.DataFrame(rows), declaration, where)
    raise DataError("DATA.BAD_ROWS", value=f"{type(rows).__name__} for ({schema})")


def conform(
    frame: pl.DataFrame, declaration: Declaration, where: str, lines: Sequence[int] | None = None
) -> tuple[pl.DataFrame, list[Rejected]]:
    """Checks names, then casts; rows with a value that does not fit its type are rejected one by one.

    ``lines`` tells on which line of a file each row was, for errors.
    """
    check_names(frame.columns, declaration, where)
    try:
        return frame.select(_cast(frame, name, kind) for name, kind in declaration.schema), []
    except (pl.exceptions.InvalidOperationError, pl.exceptions.ComputeError):
        return _cast_rows(frame, declaration, where, lines)


def check_names(found: Sequence[str], declaration: Declaration, where: str) -> None:
    names = declaration.schema.names
    at = where or f"rows for {declaration.name!r}"
    for column in found:
        if column not in names:
            raise DataError(
                "DATA.UNKNOWN_COLUMN", where=at, column=column, stream=declaration.name,
                choices=", ".join(names), guess=did_you_mean(column, names),
            )  # fmt: skip
    for column in names:
        if column not in found:
            raise DataError(
                "DATA.MISSING_COLUMN", where=at, column=column,
                choices=", ".join(found), guess=did_you_mean(column, list(found)),
            )  # fmt: skip


def cast_expr(column: pl.Expr, found: pl.DataType, to: str, strict: bool) -> pl.Expr:
    """A value as the declared type: text is parsed as a person would write it."""
    kind = TYPES[to]
    if found == kind:
        return column
    if to == "timestamp":
        if found == pl.String:
            text = pl.when(column.str.contains(ISO_TIME)).then(column)
            if strict:
                return text.str.to_datetime(time_unit="us", time_zone="UTC", strict=True)
            # Polars guesses one format for a whole column: where they are mixed, each value is read by itself.
            return text.map_elements(iso_micros, return_dtype=pl.Int64).cast(kind)
        if isinstance(found, pl.Datetime) and found.time_zone is None:
            return column.cast(pl.Datetime("us"), strict=strict).dt.replace_time_zone("UTC")
    if to == "date" and found == pl.String:
        return pl.when(column.str.contains(ISO_DATE)).then(column).str.to_date("%Y-%m-%d", strict=strict)
    if to == "boolean" and found == pl.String:
        lowered = column.str.to_lowercase()
        return (
            pl.when(lowered.is_in(["true", "t", "1"])).then(True).when(lowered.is_in(["false", "f", "0"])).then(False)
        )
    if kind.is_integer() and found.is_float():
        # 1.5 is not an integer: strict casting would cut it.
        whole = pl.when(column == column.round(0)).then(column)
        return whole.cast(kind, strict=strict)
    return column.cast(kind, strict=strict)


def iso_micros(text: str) -> int | None:
    """ISO 8601 in microseconds, without a zone as UTC; None if it is something else."""
    try:
        return instant(text) if re.match(ISO_TIME, text) else None
    except ConfigError:
        return None


def _cast(frame: pl.DataFrame, name: str, to: str) -> pl.Expr:
    found = frame.schema[name]
    column = cast_expr(pl.col(name), found, to, strict=True)
    if found == pl.Null:
        return pl.col(name).cast(TYPES[to])
    parsed = to in ("boolean", "date", "timestamp") and found == pl.String
    lossy = parsed or (TYPES[to].is_integer() and found.is_float())
    if lossy and frame.select(column.is_null().ne(pl.col(name).is_null()).any()).item():
        raise pl.exceptions.InvalidOperationError(name)
    return column.alias(name)


def _cast_rows(
    frame: pl.DataFrame, declaration: Declaration, where: str, lines: Sequence[int] | None
) -> tuple[pl.DataFrame, list[Rejected]]:
    """The slow way, taken only when some value does not fit: finds which."""
    loose = frame.select(
        cast_expr(pl.col(name), frame.schema[name], kind, strict=False).alias(name) for name, kind in declaration.schema
    )
    broken = pl.DataFrame(
        {name: loose[name].is_null() & frame[name].is_not_null() for name in declaration.schema.names}
    )
    bad = broken.select(pl.any_horizontal(pl.all())).to_series()
    rejected: list[Rejected] = []
    shown = frame.with_columns(pl.selectors.temporal().cast(pl.String))  # Python has no times beyond the year 9999
    for index in bad.arg_true():
        row = shown.row(index, named=True)
        column = next(name for name in declaration.schema.names if broken[name][index])
        at = f"row {index}" if lines is None else f"line {lines[index]}"
        at = f"{where} {at}" if where else at
        error = DataError(
            "DATA.WRONG_TYPE",
            where=at,
            column=column,
            value=repr(row[column]),
            type=declaration.schema.type_of(column),
        )
        rejected.append(Rejected(at, error.message, repr(row), error))
    return loose.filter(~bad), rejected


def _columns(rows: Mapping[str, Any], where: str) -> pl.DataFrame:
    try:
        return pl.DataFrame(rows, strict=True)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise DataError("DATA.MALFORMED", where=where or "rows", reason=str(error)) from None


def _from_dicts(rows: Sequence[Any], declaration: Declaration, where: str) -> tuple[pl.DataFrame, list[Rejected]]:
    if not rows:
        return pl.DataFrame(schema=declaration.schema.polars()), []
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError("DATA.BAD_ROWS", value=f"{row!r} (item {index} of the list)")
    found = list(dict.fromkeys(name for row in rows for name in row))
    names = declaration.schema.names
    # A missing key is null; an unknown one is a mistake.
    check_names([*found, *(name for name in names if name not in found)], declaration, where)
    columns = {name: [row.get(name) for row in rows] for name in names}
    try:
        frame = pl.DataFrame(columns, schema=declaration.schema.polars(), strict=True)
        return frame, []
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        series = [_series(name, values) for name, values in columns.items()]
        return conform(pl.DataFrame(series), declaration, where)


def _series(name: str, values: list[Any]) -> pl.Series:
    """Mixed values as text, so that casting can tell which one does not fit."""
    try:
        return pl.Series(name, values, strict=True)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)
