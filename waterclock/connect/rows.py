"""Rows from Python as a frame with exactly the declared columns and types, or an error that names the row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
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
    frame: pl.DataFrame, declaration: Declaration, where: str, lines: Sequence[int] | None = None, text: bool = False
) -> tuple[pl.DataFrame, list[Rejected]]:
    """Checks names, then casts; rows with a value that does not fit its type are rejected one by one.

    ``lines`` tells on which line of a file each row was, for errors. ``text`` says that everything was written as text,
    as in CSV; otherwise "7" is not a number and 7 is not a text.
    """
    if frame.schema == declaration.schema.polars():
        return frame, []
    check_names(frame.columns, declaration, where)
    try:
        return frame.select(_cast(frame, name, kind, text) for name, kind in declaration.schema), []
    except (pl.exceptions.InvalidOperationError, pl.exceptions.ComputeError):
        return _cast_rows(frame, declaration, where, lines, text)


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


def is_kin(found: pl.DataType, to: str) -> bool:
    """Whether values of one type can mean the other without guessing."""
    kind = TYPES[to]
    if found in (pl.Null, kind):
        return True
    if kind.is_numeric():
        return found.is_numeric()
    return {
        "string": found in (pl.Categorical, pl.Enum),
        "binary": found == pl.String,
        "date": found == pl.String,
        "timestamp": found in (pl.String, pl.Date, pl.Datetime) or found.is_integer(),
    }.get(to, False)


def cast_expr(column: pl.Expr, found: pl.DataType, to: str, strict: bool, text: bool = False) -> pl.Expr:
    """A value as the declared type, null where it cannot be (``strict``: or an error)."""
    kind = TYPES[to]
    if found == kind:
        return column
    if not text and not is_kin(found, to):
        return pl.lit(None, dtype=kind)
    if to == "timestamp":
        if found == pl.String:
            iso = pl.when(column.str.contains(ISO_TIME)).then(column)
            if strict:
                return iso.str.to_datetime(time_unit="us", time_zone="UTC", strict=True)
            # Polars guesses one format for a whole column: where they are mixed, each value is read by itself.
            return iso.map_elements(iso_micros, return_dtype=pl.Int64).cast(kind)
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


def _cast(frame: pl.DataFrame, name: str, to: str, text: bool) -> pl.Expr:
    found = frame.schema[name]
    column = cast_expr(pl.col(name), found, to, strict=True, text=text)
    if found == pl.Null:
        return pl.col(name).cast(TYPES[to])
    parsed = to in ("boolean", "date", "timestamp") and found == pl.String
    lossy = parsed or (TYPES[to].is_integer() and found.is_float()) or not (text or is_kin(found, to))
    if lossy and frame.select(column.is_null().ne(pl.col(name).is_null()).any()).item():
        raise pl.exceptions.InvalidOperationError(name)
    return column.alias(name)


def _cast_rows(
    frame: pl.DataFrame, declaration: Declaration, where: str, lines: Sequence[int] | None, text: bool
) -> tuple[pl.DataFrame, list[Rejected]]:
    """The slow way, taken only when some value does not fit: finds which."""
    loose = frame.select(
        cast_expr(pl.col(name), frame.schema[name], kind, strict=False, text=text).alias(name)
        for name, kind in declaration.schema
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
        return conform(pl.DataFrame({n: pl.Series(n, v, strict=True) for n, v in columns.items()}), declaration, where)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        return _one_by_one(columns, declaration, where)


def _one_by_one(
    columns: dict[str, list[Any]], declaration: Declaration, where: str
) -> tuple[pl.DataFrame, list[Rejected]]:
    """Columns of mixed Python values, which no frame can hold: each value by itself."""
    height = len(next(iter(columns.values())))
    good: list[int] = []
    rejected: list[Rejected] = []
    for index in range(height):
        row = {name: values[index] for name, values in columns.items()}
        wrong = [name for name, kind in declaration.schema if not _fits(row[name], kind)]
        if not wrong:
            good.append(index)
            continue
        at = f"{where} row {index}" if where else f"row {index}"
        kind = declaration.schema.type_of(wrong[0])
        error = DataError("DATA.WRONG_TYPE", where=at, column=wrong[0], value=repr(row[wrong[0]]), type=kind)
        rejected.append(Rejected(at, error.message, repr(row), error))
    series = [
        pl.Series(name, [_physical(columns[name][i], kind) for i in good], dtype=TYPES[kind])
        for name, kind in declaration.schema
    ]
    return pl.DataFrame(series), rejected


def _fits(value: Any, kind: str) -> bool:
    if value is None:
        return True
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind in ("int", "bigint"):
        return number and value == int(value) and abs(value) < (2**31 if kind == "int" else 2**63)
    if kind == "timestamp":
        whole = isinstance(value, int) and number and abs(value) < 2**63
        return whole or isinstance(value, date) or (isinstance(value, str) and iso_micros(value) is not None)
    if kind == "date":
        plain = isinstance(value, date) and not isinstance(value, datetime)
        return plain or (isinstance(value, str) and re.match(ISO_DATE, value) is not None)
    accepted = {"boolean": bool, "string": str, "binary": bytes | str}
    return number if kind in ("double", "float") else isinstance(value, accepted[kind])


def _physical(value: Any, kind: str) -> Any:
    if kind == "timestamp" and isinstance(value, str):
        return iso_micros(value)
    if kind == "timestamp" and isinstance(value, date):
        return instant(value if isinstance(value, datetime) else datetime(value.year, value.month, value.day))
    if kind == "date" and isinstance(value, str):
        return date.fromisoformat(value)
    if kind in ("int", "bigint") and value is not None:
        return int(value)
    return value.encode() if kind == "binary" and isinstance(value, str) else value
