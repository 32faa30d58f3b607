"""Reading: tasks are given pieces of segments by name, and read the files with Polars."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from waterclock.catalog import Catalog
from waterclock.connect.validity import FROM, TO, check_free
from waterclock.errors import ConfigError, StoreError
from waterclock.expr import to_polars
from waterclock.lang.sql.predicate import predicate
from waterclock.schema import TYPES, VE, VS, Schema
from waterclock.storage import Damaged
from waterclock.streams import Declaration, Piece, scan_piece
from waterclock.streams.border import EVER
from waterclock.time import BEGINNING, FOREVER

SHARE = 32 << 20
"""Bytes in the store that one task reads ..."""
MOST_ROWS = 1_000_000
"""... but no more rows than this."""
BATCH = 1 << 16
"""Rows of a record batch on its way to Spark."""


def columns_of(declaration: Declaration) -> dict[str, str]:
    """Names and types as Spark sees them, the lifetime first."""
    check_free(declaration.schema)
    return {FROM: "timestamp", TO: "timestamp", **dict(declaration.schema)}


def _column(name: str) -> pl.Expr:
    """A column as Spark sees it: an end of a lifetime that is open is null."""
    if name not in (FROM, TO):
        return pl.col(name)
    hidden, never = (VS, EVER) if name == FROM else (VE, FOREVER)
    return pl.when(pl.col(hidden) != never).then(pl.col(hidden)).cast(TYPES["timestamp"])


@dataclass
class Part(InputPartition):
    """What one task reads. Names of files are all it needs, unless they were merged meanwhile."""

    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Rows:
    """Which rows of a stream are asked for, and which columns of them."""

    store: str
    declaration: Declaration
    schema: StructType
    start: int
    """Their lifetimes overlap ``[start, end)``."""
    end: int
    where: str | None = None
    """A condition in SQL that they fulfil."""

    def __post_init__(self) -> None:
        kinds = columns_of(self.declaration)
        for field in self.schema:
            wanted, kind = field.dataType.simpleString(), Schema(tuple(kinds.items())).type_of(field.name)
            if wanted != kind:
                fix = f"The column {field.name!r} of {self.declaration.name!r} is {kind}: cast it behind .load()."
                raise ConfigError("CONFIG.BAD_OPTION", option="schema", value=f"{field.name} {wanted}", fix=fix)
        if self.where is not None:
            predicate(self.where, self.stream, self.declaration.schema)

    @property
    def stream(self) -> str:
        return self.declaration.name

    def parts(self, catalog: Catalog, start: int, end: int) -> list[Part]:
        """Of the events with numbers in ``[start, end)``, less the segments whose starts tell that nothing is there."""
        size = catalog.streams.row_size(self.stream) or 1.0
        share = int(min(MOST_ROWS, max(1, SHARE / size)))
        least, end_vs = self._starts()
        parts: list[list[Piece]] = [[]]
        room = share
        for piece, least_vs, greatest_vs in pieces(catalog, self.stream, start, end):
            if greatest_vs < least or least_vs >= end_vs:
                continue
            at = 0
            while at < piece.rows:
                size_here = min(room, piece.rows - at)
                parts[-1].append(replace(piece, start=piece.start + at, rows=size_here, first=piece.first + at))
                at, room = at + size_here, room - size_here
                if room == 0:
                    parts.append([])
                    room = share
        return [Part(tuple(part)) for part in parts if part]

    def _starts(self) -> tuple[int, int]:
        """Between which starts they are, as far as that is known."""
        d = self.declaration
        if self.start != BEGINNING and d.time is not None and d.end is None:  # they end ``duration`` later, or sooner
            return self.start - d.duration, self.end
        return BEGINNING, self.end

    def batches(self, part: Part) -> Iterator[pa.RecordBatch]:
        """What a task gives to Spark."""
        target = to_arrow_schema(self.schema, timezone="UTC")
        todo = deque(part.pieces)
        while todo:
            piece = todo.popleft()
            try:
                frame = self._frame(piece)
            except (Damaged, OSError, pl.exceptions.ComputeError) as error:
                todo.extendleft(reversed(self._moved(piece, error)))
                continue
            for some in frame.iter_slices(BATCH):
                yield from some.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(target).to_batches()

    def _frame(self, piece: Piece) -> pl.DataFrame:
        rows = scan_piece(Path(self.store), piece, self.declaration)
        if self.start != BEGINNING:
            rows = rows.filter(pl.col(VE) > self.start)
        if self.end != FOREVER:
            rows = rows.filter(pl.col(VS) < self.end)
        if self.where is not None:
            schema = self.declaration.schema
            rows = rows.filter(to_polars(predicate(self.where, self.stream, schema), schema))
        return rows.select(_column(field.name).alias(field.name) for field in self.schema).collect()

    def _moved(self, piece: Piece, error: Exception) -> list[Piece]:
        """Where its rows are now: a keeper may have merged the segment since the task was planned."""
        with closing(Catalog.open(self.store)) as catalog:
            found = [each for each, _, _ in pieces(catalog, self.stream, piece.first, piece.first + piece.rows)]
        if any(each.blob == piece.blob for each in found):
            fix = "If an app made it, start that app: what is missing of an output is computed again."
            reason = error.reason if isinstance(error, Damaged) else str(error)
            raise StoreError("STORE.DAMAGED", what=piece.blob.path, reason=reason, fix=fix) from error
        return found


def pieces(catalog: Catalog, stream: str, start: int, end: int) -> list[tuple[Piece, int, int]]:
    """The events ``[start, end)`` as they lie in segments, each with the least and the greatest start."""
    found: list[tuple[Piece, int, int]] = []
    at = start
    for segment in catalog.streams.segments(stream, start, end):
        assert segment.blob is not None
        if segment.first > at:
            break
        upto = min(end, segment.end)
        piece = Piece(segment.blob, at - segment.first, upto - at, segment.external, at)
        found.append((piece, segment.least_vs, segment.greatest_vs))
        at = upto
    if at < end:
        first = catalog.streams.get(stream).first
        raise StoreError("STREAM.TRIMMED", seq=at, stream=stream, first=first)
    return found


class BatchReader(DataSourceReader):
    """All durable events, so that nothing that Spark has seen can be taken back.

    Without ``pushFilters``: PySpark 4.3.0 keeps what it planned for one query and gives it to the next one on the same
    data frame, which then lacks rows (docs/design/2026-11-18-spark-source.md).
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def partitions(self) -> Sequence[InputPartition]:
        with closing(Catalog.open(self._rows.store)) as catalog:

            def planned() -> list[Part]:  # in one transaction: nothing is trimmed in between
                row = catalog.streams.get(self._rows.stream)
                return self._rows.parts(catalog, row.first, row.durable)

            return catalog.transact(planned)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, Part):  # without a part, Spark makes an empty one
            yield from self._rows.batches(partition)
