"""Results as frames with lifetimes: of a stream in a store, of what a sink wrote, of what Python holds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from waterclock.app import App
from waterclock.catalog import Catalog
from waterclock.connect.validity import FROM, TO
from waterclock.errors import ConfigError, did_you_mean
from waterclock.lang.fluent import Stream
from waterclock.plan import Input
from waterclock.runtime.log import StreamReader
from waterclock.schema import TYPES, VE, VS
from waterclock.streams import Segment
from waterclock.time import FOREVER, Instant, instant

JSON_LINES = (".jsonl", ".ndjson", ".json")
CHUNK = 1 << 20
"""Rows that are read at once."""
HOW = (
    "Write STORE:STREAM for a stream (./store:totals), or the path of what a sink wrote: a file of JSON lines, "
    "a Parquet file, or a directory of them."
)
_WRITTEN = "%Y-%m-%dT%H:%M:%S%.fZ"

Advance = Callable[[int, int], None]
"""Told how many rows were read now, and how many there are in all."""


@dataclass(frozen=True)
class Result:
    name: str
    rows: pl.DataFrame
    """The lifetime in ``_vs`` and ``_ve``, and the columns."""
    cti: int | None = None
    """It is complete up to here; None where nothing tells."""
    notes: tuple[str, ...] = ()
    """What else to know of it."""

    @property
    def columns(self) -> dict[str, pl.DataType]:
        return {name: kind for name, kind in self.rows.schema.items() if name not in (VS, VE)}


def ignore(rows: int, total: int) -> None:
    pass


def result_of(
    source: Any, start: int | None = None, end: int | None = None, *, like: Mapping[str, pl.DataType] | None = None,
    advance: Advance = ignore, name: str = "the frame",
) -> Result:  # fmt: skip
    """The rows that are alive in ``[start, end)`` of a stream, a place (see ``place_of``) or a frame.

    ``like`` are the types of columns that JSON lines alone do not tell.
    """
    if isinstance(source, Stream):
        if not isinstance(source._app, App) or not isinstance(source._plan, Input):
            fix = "Give it a name (.into('name')), run the app, and take app.read('name')."
            raise ConfigError("RESULT.UNREADABLE", what="This query", reason="it is not kept in the store", fix=fix)
        return of_stream(source._app.store, source._plan.stream, start, end, advance)
    if isinstance(source, str | os.PathLike):
        place = place_of(os.fspath(source))
        if isinstance(place, tuple):
            return of_stream(*place, start, end, advance)
        return Result(str(source), alive(with_lifetimes(_read(place, like), str(place)), start, end))
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if not isinstance(source, pl.DataFrame):
        if not hasattr(source, "__arrow_c_stream__"):
            fix = f"Give a frame with {VS} and {VE}, such as handle.frame('name'), or a stream: app.read('name')."
            raise ConfigError("RESULT.UNREADABLE", what=type(source).__name__, reason="it is no frame", fix=fix)
        source = pl.DataFrame(source)
    return Result(name, alive(with_lifetimes(source, name), start, end))


def between(start: Instant | None, end: Instant | None) -> tuple[int | None, int | None]:
    """The bounds of a time that is looked at."""
    low, high = None if start is None else instant(start), None if end is None else instant(end)
    if low is not None and high is not None and low >= high:
        raise ConfigError("CONFIG.BAD_OPTION", option="end", value=end, fix=f"It must be later than {start}.")
    return low, high


def is_untyped(source: Any) -> bool:
    """JSON lines: read them like something else."""
    return (
        isinstance(source, str | os.PathLike) and Path(source).suffix.lower() in JSON_LINES and Path(source).is_file()
    )


def place_of(text: str) -> Path | tuple[str, str]:
    """A path that is there; else the store and the stream of ``STORE:STREAM``, whose name has no colon."""
    path = Path(text)
    if path.exists():
        if Catalog.is_in(path):
            fix = f"Say which stream of it: {text}:NAME. 'waterclock streams --store {text}' shows them."
            raise ConfigError("RESULT.UNREADABLE", what=repr(text), reason="it is a store", fix=fix)
        return path
    store, colon, stream = text.rpartition(":")
    if not (store and colon and stream):
        raise ConfigError("RESULT.UNREADABLE", what=repr(text), reason="there is no such file", fix=HOW)
    return store, stream


def of_stream(
    store: str, name: str, start: int | None = None, end: int | None = None, advance: Advance = ignore
) -> Result:
    """What a stream has now."""
    catalog = Catalog.open(store)
    try:
        row = catalog.streams.get(name)
        reader = StreamReader(catalog, name)
        found = [row.declaration.schema.empty()]
        wanted = [s for s in catalog.streams.segments(name, row.first, row.next) if end is None or s.least_vs < end]
        total = sum(segment.rows for segment in wanted)
        for first, last in _stretches(wanted):
            found.append(alive(reader.read(max(first, row.first), min(last, row.next)), start, end))
            advance(last - first, total)
        return Result(f"{store}:{name}", pl.concat(found), row.cti, gone(catalog, [name]))
    finally:
        catalog.close()


def gone(catalog: Catalog, names: Iterable[str]) -> tuple[str, ...]:
    """What streams have no longer."""
    firsts = {name: catalog.streams.get(name).first for name in names}
    return tuple(f"retention has removed the first {n:,} events of {name}" for name, n in firsts.items() if n)


def _stretches(segments: Sequence[Segment]) -> Iterator[tuple[int, int]]:
    """Ranges of numbers of about ``CHUNK`` rows, without those between segments."""
    first = last = segments[0].first if segments else 0
    for segment in segments:
        if segment.first != last or last - first >= CHUNK:
            yield first, last
            first = segment.first
        last = segment.end
    if last > first:
        yield first, last


def alive(rows: pl.DataFrame, start: int | None, end: int | None) -> pl.DataFrame:
    """The rows whose lifetimes have a part in ``[start, end)``."""
    inside = [] if end is None else [pl.col(VS) < end]
    inside += [] if start is None else [pl.col(VE) > start]
    return rows.filter(*inside) if inside else rows


def with_lifetimes(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """``valid_from`` and ``valid_to``, as sinks write them, as ``_vs`` and ``_ve``."""
    start, end = (VS, VE) if {VS, VE} <= set(rows.columns) else (FROM, TO)
    missing = [column for column in (start, end) if column not in rows.columns]
    if missing:
        fix = (
            f"It needs {FROM} and {TO}, as sinks write them, or {VS} and {VE}. Its columns: {', '.join(rows.columns)}."
        )
        raise ConfigError("RESULT.UNREADABLE", what=name, reason=f"it has no column {missing[0]}", fix=fix)
    try:
        vs, ve = _instants(rows, start), _instants(rows, end).fill_null(FOREVER)
        found = rows.select(vs.alias(VS), ve.alias(VE), pl.exclude(start, end))
    except pl.exceptions.PolarsError as error:
        raise ConfigError("RESULT.UNREADABLE", what=name, reason=_first_line(error), fix=HOW) from error
    wrong = found.select(pl.col(VS).is_null() | (pl.col(VS) >= pl.col(VE))).to_series().arg_true()
    if wrong.len():
        fix = f"In every row {start} must be there, and before {end}."
        raise ConfigError("RESULT.UNREADABLE", what=name, reason=f"row {wrong[0]} has no lifetime", fix=fix)
    return found


def _instants(rows: pl.DataFrame, column: str) -> pl.Expr:
    kind = rows.schema[column]
    if kind == pl.String:
        return pl.col(column).str.to_datetime(_WRITTEN, time_unit="us", time_zone="UTC").to_physical()
    if isinstance(kind, pl.Datetime):
        return pl.col(column).dt.cast_time_unit("us").to_physical()
    return pl.col(column).cast(pl.Int64)


def check_column(name: str, columns: Sequence[str], where: str) -> None:
    if name not in columns:
        choices, guess = ", ".join(columns) or "none", did_you_mean(name, list(columns))
        raise ConfigError("SCHEMA.UNKNOWN_COLUMN", column=name, where=where, choices=choices, guess=guess)


def shown(values: pl.Series) -> list[str]:
    """Values as people read them, on one line each."""
    if isinstance(values.dtype, pl.Datetime):
        values = values.dt.strftime("%Y-%m-%d %H:%M:%S%.f")  # Python has no times beyond the year 9999
    return [_line(value) for value in values.to_list()]


def _line(value: object) -> str:
    found = "null" if value is None else str(value)
    return found if found.isprintable() else found.encode("unicode_escape").decode()


def _read(path: Path, like: Mapping[str, pl.DataType] | None) -> pl.DataFrame:
    try:
        if path.is_dir():
            files = sorted(file for file in path.glob("*.parquet") if file.name[0] not in "._")
            if files:
                return pl.concat([pl.scan_parquet(file, glob=False) for file in files]).collect()
            reason = "there is no Parquet file in it, and no store"
        elif path.suffix.lower() == ".parquet":
            return pl.read_parquet(path, glob=False)
        elif path.suffix.lower() in JSON_LINES:
            return _json_lines(path.read_bytes(), like or {})
        else:
            reason = f"{path.suffix or 'a file without a suffix'} is not known"
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        reason = _first_line(error)
    raise ConfigError("RESULT.UNREADABLE", what=repr(str(path)), reason=reason, fix=HOW)


def _first_line(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).split("\n")[0].rstrip(".")


def _json_lines(data: bytes, like: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """As the sink writes them: every key in every line, times as text and bytes in base64."""
    if not data.strip():
        return pl.DataFrame(schema={FROM: TYPES["timestamp"], TO: TYPES["timestamp"], **like})
    first = json.loads(data.lstrip().split(b"\n", 1)[0])
    known = {name: kind for name, kind in {**like, FROM: pl.String(), TO: pl.String()}.items() if name in first}
    asked = {name: pl.String() if _is_text(kind) else kind for name, kind in known.items()}
    rows = pl.read_ndjson(data, schema_overrides=asked, infer_schema_length=None)
    return rows.with_columns(_meant(name, kind) for name, kind in known.items() if _is_text(kind))


def _is_text(kind: pl.DataType) -> bool:
    return kind == pl.Date or kind == pl.Binary or isinstance(kind, pl.Datetime)


def _meant(name: str, kind: pl.DataType) -> pl.Expr:
    text = pl.col(name).str
    if kind == pl.Binary:
        return text.decode("base64")
    return text.to_date("%Y-%m-%d") if kind == pl.Date else text.to_datetime(_WRITTEN, time_unit="us", time_zone="UTC")
