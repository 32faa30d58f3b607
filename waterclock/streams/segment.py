"""A segment: an immutable piece of a stream. It records its first sequence number and row count; rows carry none."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from waterclock.errors import DataError
from waterclock.schema import VE, VS
from waterclock.storage import Blob, scan
from waterclock.streams.declaration import Declaration
from waterclock.time import FOREVER


@dataclass(frozen=True)
class Segment:
    first: int
    rows: int
    cti: int
    """The stream's time behind this segment. A segment of no rows only moves time."""
    blob: Blob | None
    least_vs: int
    greatest_vs: int
    level: int = 0
    external: str | None = None
    """For a file read in place: its size and modification time; its lifetimes are computed on reading."""
    arrived: int | None = field(default=None, compare=False)
    """When it was committed, by the clock; set by the catalog."""

    @property
    def end(self) -> int:
        return self.first + self.rows


@dataclass(frozen=True)
class Piece:
    """The rows ``[start, start + rows)`` of a segment."""

    blob: Blob
    start: int
    rows: int
    external: str | None = None
    first: int = 0
    """The number in the stream of the first of these rows."""


def with_lifetime(rows: pl.LazyFrame, declaration: Declaration) -> pl.LazyFrame:
    """Adds ``_vs`` and ``_ve`` to rows as the user wrote them."""
    assert declaration.time is not None

    def ticks(column: str) -> pl.Expr:
        value = pl.col(column).to_physical().cast(pl.Int64)
        return value * declaration.ticks(column) if declaration.ticks(column) != 1 else value

    vs = ticks(declaration.time)
    if declaration.end is not None:
        ve = ticks(declaration.end).fill_null(FOREVER)
    else:
        ve = vs + declaration.duration
    return rows.select(vs.alias(VS), ve.alias(VE), *declaration.schema.names)


def external_stamp(path: Path) -> str:
    stat = path.stat()
    return f"{stat.st_size}:{stat.st_mtime_ns}"


def scan_external(path: Path, form: str, declaration: Declaration) -> pl.LazyFrame:
    """The declared columns of a file that is read in place."""
    rows = pl.scan_parquet(path, glob=False) if form == "parquet" else pl.scan_ipc(path, glob=False)
    return rows.select(pl.col(name).cast(kind) for name, kind in declaration.schema.polars().items())


def scan_piece(root: Path, piece: Piece, declaration: Declaration) -> pl.LazyFrame:
    """The rows of a piece as a lazy frame with lifetimes."""
    if piece.external is not None:
        path = Path(piece.blob.path)
        if not path.exists() or external_stamp(path) != piece.external:
            raise DataError("DATA.FILE_CHANGED", path=path)
        rows = scan_external(path, piece.blob.format, declaration)
        return with_lifetime(rows.slice(piece.start, piece.rows), declaration)
    return scan(root, piece.blob).slice(piece.start, piece.rows)
