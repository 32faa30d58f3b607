"""A stream's whole history as Parquet files that Spark reads: those of the user in place, the rest copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from waterclock.batch.expressions import big, quoted
from waterclock.batch.steps import read
from waterclock.catalog import Catalog, Filter
from waterclock.errors import StoreError
from waterclock.expr import to_polars
from waterclock.lang.sql.predicate import predicate
from waterclock.schema import VE, VS, Schema
from waterclock.streams import Declaration, Piece, Segment, scan_piece
from waterclock.streams.border import EVER
from waterclock.time import DAY, FOREVER

CHUNK = 4_000_000
"""Rows of one copied file, at least: bounds the memory that copying takes."""


@dataclass(frozen=True)
class History:
    rows: int
    copied: list[str]
    """Files with lifetimes."""
    in_place: list[str]
    """Files of the user with exactly the declared columns and types."""
    columns: list[str]
    life: str
    """How the lifetime of those is written in SQL."""

    def sql(self, copied: str, in_place: str) -> str:
        """The events, from views of both kinds of files."""
        columns = "".join(f", {quoted(name)}" for name in self.columns)
        parts = []
        if self.copied:
            parts.append(f"SELECT {VS}, {VE}{columns} FROM {copied}")
        if self.in_place:
            parts.append(f"SELECT {self.life}{columns} FROM {in_place}")
        return " UNION ALL ".join(parts)


def of_table(rows: pl.DataFrame, folder: Path) -> History:
    """Rows that are valid for ever."""
    life = pl.lit(EVER, pl.Int64).alias(VS), pl.lit(FOREVER, pl.Int64).alias(VE)
    return of_events(rows.select(*life, pl.all()), folder)


def of_events(events: pl.DataFrame, folder: Path) -> History:
    """Of rows with their lifetimes."""
    folder.mkdir(parents=True)
    path = folder / "events.parquet"
    events.write_parquet(path)
    return History(events.height, [str(path)], [], [name for name in events.columns if name not in (VS, VE)], "")


def of_stream(catalog: Catalog, stream: str, filters: Sequence[Filter], into: Path) -> History:
    """Copies go to the folder ``into``; without the rows that filters leave out."""
    row = catalog.streams.get(stream)
    if row.first > 0:
        raise StoreError("STREAM.TRIMMED", seq=0, stream=stream, first=row.first)
    in_place: list[str] = []
    copied: list[str] = []
    pending: list[pl.LazyFrame] = []
    rows = 0
    into.mkdir(parents=True)
    read(stream, 0, row.next)

    def copy() -> None:
        path = into / f"{len(copied):06d}.parquet"
        events = pl.concat(pending) if pending else row.declaration.schema.empty().lazy()
        events.collect().write_parquet(path, compression="lz4")
        copied.append(str(path))
        pending.clear()

    for segment in catalog.streams.segments(stream, 0, row.next):
        assert segment.blob is not None
        piece = Piece(segment.blob, 0, segment.rows, segment.external)
        frame = scan_piece(catalog.root, piece, row.declaration)  # also checks that the user's file is the one it was
        if filters:
            frame = _filtered(frame, segment.first, row.declaration, filters)
        elif _as_declared(segment, row.declaration):
            in_place.append(segment.blob.path)
            continue
        pending.append(frame)
        rows += segment.rows
        if rows >= CHUNK:
            copy()
            rows = 0
            read(stream, segment.end, row.next)
    if pending or not (copied or in_place):
        copy()
    read(stream, row.next, row.next)
    life = _life(row.declaration) if in_place else ""
    return History(row.next, copied, in_place, row.declaration.schema.names, life)


def _filtered(frame: pl.LazyFrame, first: int, declaration: Declaration, filters: Sequence[Filter]) -> pl.LazyFrame:
    numbered = frame.with_row_index("_row", first)
    for each in filters:
        held = pl.col("_row") >= each.since
        if each.until is not None:
            held &= pl.col("_row") < each.until
        bad = to_polars(predicate(each.predicate, each.stream, declaration.schema), declaration.schema)
        numbered = numbered.filter(~(held & bad.fill_null(False)))
    return numbered.drop("_row")


def _as_declared(segment: Segment, declaration: Declaration) -> bool:
    if segment.external is None or segment.blob is None or segment.blob.format != "parquet":
        return False
    found = pq.read_metadata(segment.blob.path)
    if found.num_rows != segment.rows:
        return False
    arrow = found.schema.to_arrow_schema()
    return all(name in arrow.names and _same(arrow.field(name).type, kind) for name, kind in declaration.schema)


def _same(found: pa.DataType, kind: str) -> bool:
    """Only what Spark reads as that type: of timestamps, those in microseconds UTC."""
    wanted = {
        "boolean": [pa.bool_()], "int": [pa.int32()], "bigint": [pa.int64()], "float": [pa.float32()],
        "double": [pa.float64()], "string": [pa.string(), pa.large_string()], "date": [pa.date32()],
        "binary": [pa.binary(), pa.large_binary()], "timestamp": [pa.timestamp("us", "UTC")],
    }  # fmt: skip
    return found in wanted.get(kind, [])


def _life(declaration: Declaration) -> str:
    assert declaration.time is not None
    start = _ticks(declaration.time, declaration.schema)
    if declaration.end is not None:
        end = f"coalesce({_ticks(declaration.end, declaration.schema)}, {big(FOREVER)})"
    else:
        end = f"{start} + {big(declaration.duration)}"
    return f"{start} AS {VS}, {end} AS {VE}"


def _ticks(column: str, schema: Schema) -> str:
    kind = schema.type_of(column)
    if kind == "timestamp":
        return f"unix_micros({quoted(column)})"
    return f"unix_date({quoted(column)}) * {big(DAY)}" if kind == "date" else f"CAST({quoted(column)} AS bigint)"
