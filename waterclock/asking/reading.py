"""What a question reads: events of streams up to a cut, and live rows of state, where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from waterclock.asking.asof import AsOf, trimmed
from waterclock.asking.ranges import Range
from waterclock.catalog import Catalog
from waterclock.catalog.arrivals import Mark
from waterclock.plan import Input
from waterclock.plan.guarded import DEAD_ROWS
from waterclock.storage import Blob
from waterclock.streams import Declaration, Segment
from waterclock.time import BEGINNING, FOREVER


@dataclass(frozen=True)
class Laid:
    """A stream as far as a question needs it: numbered anew, its files named by absolute paths."""

    declaration: Declaration
    segments: Sequence[Segment]
    cti: int
    """Its last time; there it ends."""

    @property
    def rows(self) -> int:
        return sum(segment.rows for segment in self.segments)

    @property
    def files(self) -> set[Path]:
        return {Path(segment.blob.path) for segment in self.segments if segment.blob is not None}


def lay(catalog: Catalog, stream: str, mark: Mark, asked: AsOf, wanted: Range) -> Laid:
    """The segments below the mark that may have events in the wanted range."""
    row = catalog.streams.get(stream)
    if not asked.is_now and row.first > 0:
        retention = row.declaration.retention
        since = None if retention is None or row.cti in (BEGINNING, FOREVER) else row.cti - retention
        if mark.seq < row.first or since is None or wanted.low < since:
            raise trimmed(stream, asked, row.first, None if mark.seq < row.first else since)
    found: list[Segment] = []
    at, cti = 0, BEGINNING
    for segment in catalog.streams.segments(stream, row.first, mark.seq):
        assert segment.blob is not None
        rows = min(segment.end, mark.seq) - segment.first
        cti = max(cti, segment.cti) if rows == segment.rows else cti  # of a part, its time is not known
        if segment.greatest_vs < wanted.low or segment.least_vs > wanted.high:
            continue
        blob = replace(segment.blob, path=str(catalog.root / segment.blob.path))
        found.append(replace(segment, first=at, rows=rows, cti=cti, blob=blob))
        at += rows
    return Laid(row.declaration, found, mark.cti)


def alone(declaration: Declaration, blob: Blob, rows: int) -> Laid:
    """Rows that were written for the question."""
    segment = Segment(0, rows, BEGINNING, blob, BEGINNING, FOREVER)
    return Laid(declaration, [segment] if rows else [], BEGINNING)


def input_of(catalog: Catalog, name: str) -> Input:
    """A stream of the store as the start of a plan, with what is known of its events."""
    declaration = catalog.streams.get(name).declaration
    if declaration.time is not None or declaration.static:
        return Input(name, declaration.schema, declaration.points, declaration.end is not None, declaration.static)
    parent, _, kind = name.rpartition(".")
    if kind in ("late", "quarantine") and parent in catalog.streams.names():
        return replace(input_of(catalog, parent), stream=name)
    if kind == "bad" or declaration.schema == DEAD_ROWS:
        return Input(name, declaration.schema, kind == "bad", kind != "bad")
    made = declaration.made
    return Input(
        name, declaration.schema, "points" in made, "open" in made, made_endless="endless" in made,
        of_cycle="cyclic" in made,
    )  # fmt: skip
