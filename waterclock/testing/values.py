"""Cells of a table as values of a stream's columns, and back. Timestamps are microseconds here."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import polars as pl

from waterclock.errors import ConfigError, did_you_mean
from waterclock.reference import Event
from waterclock.schema import TYPES, VE, VS, Schema
from waterclock.streams import Declaration
from waterclock.testing.tables import Cell, Mark, Table, plain, shown
from waterclock.testing.times import OPEN, Times
from waterclock.time import FOREVER, instant, micros

START = ("from", "at", "valid_from", VS)
END = ("to", "valid_to", VE)
"""Names of the lifetime, unless the stream has columns that are called so."""
WRITE = {
    "boolean": "true or false",
    "int": "a whole number below 2^31, such as 42",
    "bigint": "a whole number below 2^63, such as 42",
    "float": "a number such as 1.5",
    "double": "a number such as 1.5",
    "date": "a day such as 2026-01-05",
    "timestamp": "a time such as 10:00, 10:00:05.25 or 2026-01-05T10:00:05Z",
}
LIFETIME = (
    "Write 10:00, 10:00:05.25 or 2026-01-05T10:00:05Z; +5s is 5 seconds after the start of the row above, "
    "as an end after the start of its row."
)


def value_of(cell: Cell, kind: str, times: Times) -> Any:
    """Raises ValueError where the text is no such value."""
    text = cell.text
    if cell.null:
        return None
    if kind == "string":
        return text
    if kind == "binary":
        return text.encode()
    if kind == "boolean":
        return {"true": True, "false": False}[text.lower()]
    if kind in ("int", "bigint"):
        number = int(text)
        if abs(number) >= 2 ** (31 if kind == "int" else 63):
            raise ValueError(text)
        return number
    if kind in ("float", "double"):
        return float(text)
    if kind == "date":
        return date.fromisoformat(text)
    if kind == "timestamp":
        return times.read(text)
    value = json.loads(text)
    pl.Series([value], dtype=TYPES[kind], strict=True)
    return value


def text_of(value: Any, kind: str, times: Times) -> str:
    """The cell of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if kind == "timestamp":
        return times.show(value)
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, bytes):
        return shown(value.decode(errors="backslashreplace"))
    if isinstance(value, list | dict):
        return json.dumps(plain(value), ensure_ascii=False)
    if kind == "float":
        return f"{value:.7g}"
    return str(value)


def key_of(value: Any, kind: str) -> Any:
    """Equal for what counts as equal: floats by their first nine digits, of 32 bits by six; true is not 1."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.{6 if kind == 'float' else 9}g}") + 0.0
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return tuple(key_of(part, "") for part in value)
    if isinstance(value, dict):
        return tuple((name, key_of(part, "")) for name, part in value.items())
    return value


# -- what goes in ------------------------------------------------------------------------------------------


def rows_of(
    table: Table, cells: Sequence[Sequence[Cell]], declaration: Declaration, times: Times, last: int | None
) -> pl.DataFrame:
    """The rows of a table as a stream takes them. ``last`` is the start of the row above, for ``+5s``."""
    columns = [_column(table, cell, declaration) for cell in table.header]
    names = [name for name, _ in columns]
    if declaration.time not in names:
        fix = f"Add a column {declaration.time!r}, or 'from'."
        raise table.wrong(table.header[-1], f"no column says when an event of {declaration.name!r} starts", fix)
    found: dict[str, list[Any]] = {name: [] for name in declaration.schema.names}
    for row in cells:
        given = dict(zip(names, row, strict=True))
        start: int | None = None
        for name in sorted(given, key=lambda name: name != declaration.time):
            kind, cell = declaration.schema.type_of(name), given[name]
            if name == declaration.time:
                start = last = _time(table, cell, name, kind, times, last)
                found[name].append(start)
            elif name == declaration.end:
                found[name].append(_time(table, cell, name, kind, times, start))
            else:
                found[name].append(_value(table, cell, name, kind, times))
        for name in found.keys() - given.keys():
            found[name].append(None)
    return pl.DataFrame([_series(name, found[name], kind) for name, kind in declaration.schema])


def _series(name: str, values: list[Any], kind: str) -> pl.Series:
    if kind == "timestamp":
        return pl.Series(name, values, dtype=pl.Int64).cast(TYPES[kind])
    return pl.Series(name, values, dtype=TYPES[kind])


def _column(table: Table, cell: Cell, declaration: Declaration) -> tuple[str, Cell]:
    names = declaration.schema.names
    if cell.text in names:
        return cell.text, cell
    if cell.text in START and declaration.time is not None:
        return declaration.time, cell
    if cell.text in END and declaration.end is not None:
        return declaration.end, cell
    life = ["from", *(["to"] if declaration.end else [])]
    raise _unknown(table, cell, declaration.name, names, life)


def _unknown(table: Table, cell: Cell, where: str, names: list[str], life: list[str]) -> ConfigError:
    fix = f"Columns there: {', '.join(names)}; for the lifetime: {', '.join(life)}.{did_you_mean(cell.text, names)}"
    return table.wrong(cell, f"there is no column {cell.text!r} in {where!r}", fix)


def _value(table: Table, cell: Cell, name: str, kind: str, times: Times) -> Any:
    try:
        return value_of(cell, kind, times)
    except (ValueError, KeyError, ConfigError, pl.exceptions.PolarsError, TypeError):
        fix = f"Write {WRITE.get(kind, 'it as JSON, such as [1, 2]')}, or null."
        raise table.wrong(cell, f"column {name!r}: {cell.text!r} is not {kind}", fix) from None


def _time(table: Table, cell: Cell, name: str, kind: str, times: Times, before: int | None) -> Any:
    """A start or an end, ``before`` being what ``+5s`` is relative to."""
    if kind == "date":
        return _value(table, cell, name, kind, times)
    try:
        return instant_of(cell, times, before)
    except ConfigError:
        raise table.wrong(cell, f"column {name!r}: {cell.text!r} is not a time", LIFETIME) from None


def instant_of(cell: Cell, times: Times, before: int | None) -> int | None:
    """None for an open end."""
    if cell.null or cell.text in OPEN:
        return None
    if cell.text.startswith("+") and before is not None:
        return before + micros(cell.text[1:])
    return times.read(cell.text)


# -- what came out -----------------------------------------------------------------------------------------


class Expected:
    """Events that a test wants of an output; of some of its columns, with their lifetimes or without."""

    def __init__(self, columns: list[str], timed: bool, events: list[Event]) -> None:
        self.columns = columns
        self.timed = timed
        self.events = events


def expected_of(table: Table, output: str, schema: Schema, times: Times) -> Expected:
    kinds = dict(schema)
    life = {cell.text: cell for cell in table.header if cell.text not in kinds and cell.text in (*START, *END)}
    start = next((cell for name, cell in life.items() if name in START), None)
    end = next((cell for name, cell in life.items() if name in END), None)
    for cell in table.header:
        if cell.text not in kinds and cell.text not in life:
            raise _unknown(table, cell, output, schema.names, ["from", "to", "at"])
    points = start is not None and start.text == "at"
    if (start is None) != (end is None) and not points:
        lone = start or end
        assert lone is not None
        fix = "Write from and to, or at for events that are points."
        raise table.wrong(lone, f"{lone.text!r} alone is not a lifetime", fix)
    columns = [cell.text for cell in table.header if cell.text in kinds]
    events: list[Event] = []
    last: int | None = None
    for row in table.rows:
        if isinstance(row, Mark):
            fix = f"Put it between the rows that are fed: !{row.word} is no row."
            raise table.wrong(row.cell, "rows that are expected cannot crash or advance", fix)
        given = {head.text: cell for head, cell in zip(table.header, row, strict=True)}
        payload = {name: _value(table, given[name], name, kinds[name], times) for name in columns}
        vs, ve = 0, 1
        if start is not None:
            begin = _time(table, given[start.text], start.text, "bigint", times, last)
            if begin is None:
                raise table.wrong(given[start.text], "an event has no start", LIFETIME)
            vs = last = begin
            until = vs + 1 if end is None else _time(table, given[end.text], end.text, "bigint", times, vs)
            ve = FOREVER if until is None else until
        events.append((vs, ve, payload))
    return Expected(columns, start is not None, events)


def expected_rows(rows: Sequence[Mapping[str, Any]], output: str, schema: Schema, times: Times) -> Expected:
    """The same from dicts: values as they are, or as a cell would write them."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [" | ".join(names)] + [" | ".join(_cell_of(row.get(name), times) for name in names) for row in rows]
    return expected_of(Table("\n".join(lines), f"the rows for {output!r}", 0), output, schema, times)


def _cell_of(value: Any, times: Times) -> str:
    if isinstance(value, datetime):
        return times.show(instant(value))
    return text_of(value, "", times)


def events_of(frame: pl.DataFrame) -> list[Event]:
    """Rows of a stream, with timestamps in microseconds."""
    plain_frame = frame.with_columns(pl.selectors.datetime().to_physical())
    return [(row.pop(VS), row.pop(VE), row) for row in plain_frame.iter_rows(named=True)]


def projected(events: Sequence[Event], expected: Expected) -> list[Event]:
    """As much of the events as the test looks at."""
    lives = [(vs, ve) if expected.timed else (0, 1) for vs, ve, _ in events]
    payloads = [{name: payload[name] for name in expected.columns} for _, _, payload in events]
    return [(vs, ve, payload) for (vs, ve), payload in zip(lives, payloads, strict=True)]


def written(
    events: Sequence[Event], columns: Sequence[str], timed: bool, schema: Schema, times: Times
) -> tuple[list[str], list[list[str]]]:
    """Names and cells of a table of these events."""
    kinds = dict(schema)
    points = timed and bool(events) and all(ve == vs + 1 for vs, ve, _ in events)
    life = [] if not timed else ["at"] if points else ["from", "to"]
    rows = [
        [
            *(text_of(payload[name], kinds[name], times) for name in columns),
            *(times.show(t) for t in (vs, ve)[: len(life)]),
        ]
        for vs, ve, payload in events
    ]
    return [*columns, *life], rows
