"""Writing and reading streams: appends are durable before they are acknowledged, reads see only what is committed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from waterclock import crashpoints
from waterclock.catalog import Catalog, Lease, StreamRow
from waterclock.connect.base import Chunk, External, Written
from waterclock.errors import ConfigError, DataError, StoreError
from waterclock.hashing import digest
from waterclock.runtime.store import Store
from waterclock.schema import VE, VS, bounds
from waterclock.storage import Blob, encode, read
from waterclock.streams import Declaration, Piece, Rejected, Segment, admit, scan_piece
from waterclock.streams.border import EVER, extent_fits, row_of
from waterclock.streams.declaration import BAD_ROWS
from waterclock.streams.segment import external_stamp, scan_external
from waterclock.time import BEGINNING, FOREVER

LARGE = 8 << 20
"""Appends of this many bytes get a file of their own."""

_KEEP: Any = object()


def create_source(catalog: Catalog, declaration: Declaration, app: str | None = None) -> None:
    """The stream and those where its policies put rows that are not taken; ``app`` may declare empty ones anew."""

    def create() -> None:
        catalog.streams.create(declaration, app)
        for name, schema in declaration.side_streams().items():
            catalog.streams.create(Declaration(name, schema, None), app)

    catalog.transact(create)
    if catalog.streams.get(declaration.name).ended:  # perhaps under another policy, without these side streams
        _end_sides(catalog, declaration)


def create_pushed(catalog: Catalog, declaration: Declaration, app: str) -> None:
    """Without the lease: what a process runs may not change under it."""

    def create() -> None:
        running = f"app {app}" in catalog.leases.holders()
        create_source(catalog, declaration, None if running else app)

    catalog.transact(create)


def _end_sides(catalog: Catalog, declaration: Declaration) -> None:
    """Nothing can come there once the stream has ended."""
    for name in declaration.side_streams():
        row = catalog.streams.get(name)
        if not row.ended:
            catalog.streams.append(name, row.next, [Segment(row.next, 0, FOREVER, None, BEGINNING, BEGINNING)], FOREVER)


def wall_clock() -> int:
    return time.time_ns() // 1000


class Repeated(Exception):
    """A chunk with this token was taken before: nothing was done."""


@dataclass(frozen=True)
class Appended:
    first: int
    end: int
    cti: int


class StreamLog:
    """The writing end of a source stream. Any number of writers may race: each number is given once."""

    def __init__(
        self, store: Store, name: str, lease: Lease | None = None, clock: Callable[[], int] = wall_clock
    ) -> None:
        self.store = store
        self.name = name
        self._lease = lease
        self._clock = clock
        self._lock = threading.Lock()
        self.row = store.catalog.streams.get(name)

    def refresh(self) -> StreamRow:
        """What other writers have made of the stream meanwhile."""
        with self._lock:
            self._look()
            return self.row

    def append(self, chunk: Chunk, keep_position: bool = False) -> Appended:
        """Admits a chunk and makes it durable. Raises, with nothing taken, where the policy says fail.

        Raises ``Repeated`` if its token was taken before.
        """
        with self._lock:
            return self._append(chunk, _KEEP if keep_position else chunk.position)

    def append_in_place(self, chunks: Sequence[Chunk]) -> int:
        """Takes files that are read in place, in one commit, and says how many: the first ones whose rows all fit."""
        with self._lock:
            while not self.row.ended:
                segments = self._segments_of(chunks)
                if not segments:
                    break
                counters = {"rows": sum(segment.rows for segment in segments)}
                if self._commit(segments, segments[-1].cti, chunks[len(segments) - 1].position, counters, {}):
                    return len(segments)
                self._look()
            return 0

    def _segments_of(self, chunks: Sequence[Chunk]) -> list[Segment]:
        declaration, at, cti, now = self.row.declaration, self.row.next, self.row.cti, self._clock()
        found: list[Segment] = []
        for chunk in chunks:
            file = chunk.external
            if file is None or not extent_fits(declaration, file.least_vs, file.greatest_vs, cti, now):
                break
            cti = max(cti, declaration.reached(file.greatest_vs))
            found.append(_in_place(file, at, cti))
            at += file.rows
        return found

    def advance(self, cti: int) -> None:
        """Moves the stream's time without events; ``FOREVER`` ends it."""
        with self._lock:
            while cti > self.row.cti:
                mark = Segment(self.row.next, 0, cti, None, BEGINNING, BEGINNING)
                if self._commit([mark], cti, _KEEP, {}, {}):
                    return
                self._look()

    def take_over(self, events: pl.DataFrame, cti: int) -> None:
        """Events that another store has admitted, with their lifetimes, and the time behind them."""
        with self._lock:
            cti = max(cti, self.row.cti)
            segments = [self._written(events, self.row.next, cti)] if events.height else []
            if not segments and cti > self.row.cti:
                segments = [Segment(self.row.next, 0, cti, None, BEGINNING, BEGINNING)]
            taken = self._commit(segments, cti, _KEEP, {"rows": events.height}, {})
            assert taken, "somebody else writes to a store that is being made"

    def fill(self, rows: pl.DataFrame) -> None:
        """Writes the rows of a table, once; afterwards checks that they are still the same."""
        content = {"rows": rows.height, "digest": digest(rows)}
        with self._lock:
            while not self.row.ended:
                events = rows.select(pl.lit(EVER, pl.Int64).alias(VS), pl.lit(FOREVER, pl.Int64).alias(VE), pl.all())
                empty = Segment(0, 0, FOREVER, None, BEGINNING, BEGINNING)
                segment = self._written(events, 0, FOREVER) if rows.height else empty
                if self._commit([segment], FOREVER, content, {"rows": rows.height}, {}):
                    return
                self._look()  # another app was faster, or the file was swept
            if self.row.position != content:
                raise ConfigError("PLAN.TABLE_CHANGED", name=self.name)

    def _look(self) -> None:
        self.row = self._checked(self.store.catalog.streams.get(self.name))

    def _checked(self, row: StreamRow) -> StreamRow:
        changed = self.row.declaration.difference(row.declaration)
        if changed is not None:  # it was empty and declared anew; what is written here is of the old kind
            raise ConfigError("PLAN.STREAM_CHANGED", name=self.name, difference=changed)
        return row

    def _append(self, chunk: Chunk, position: Any) -> Appended:
        while True:
            if chunk.token is not None and self.store.catalog.writers.last(chunk.token[0], self.name) >= chunk.token[1]:
                raise Repeated  # found here, for by now its rows may be late
            if self.row.ended:
                raise DataError("DATA.STREAM_ENDED", stream=self.name, store=self.store.root)
            declaration, first, cti, now = self.row.declaration, self.row.next, self.row.cti, self._clock()
            rows, written = chunk.rows, chunk.written
            if chunk.external is not None:  # not all of its rows fit: they are told apart one by one
                rows = scan_external(Path(chunk.external.path), chunk.external.format, declaration).collect()
            if written and not self._fits(written, now):
                names = declaration.schema.names
                rows = pl.concat(read(self.store.root, file.blob).select(names) for file in written)
                written = ()
            segments: list[Segment] = []
            sides: dict[str, pl.DataFrame] = {}
            bad = list(chunk.rejected)
            counters: dict[str, int] = {}
            if written:
                cti = max(cti, declaration.reached(_span(written)[1]))
                segments = _ready(written, first, self.row.cti, cti)
                counters = {"rows": sum(file.rows for file in written)}
            elif rows is not None:
                admitted = admit(rows, declaration, cti, now, chunk.place or row_of(chunk.where))
                bad += admitted.rejected
                self._check(bad)
                cti, counters = admitted.cti, admitted.counters
                sides = {declaration.late_stream: admitted.late, declaration.quarantine_stream: admitted.quarantined}
                if admitted.events.height:
                    segments.append(self._written(admitted.events, first, cti))
            else:
                self._check(bad)
            if bad:
                divert = declaration.on_bad == "divert"
                counters["bad_diverted" if divert else "bad_skipped"] = len(bad)
                if divert:
                    sides[declaration.bad_stream] = bad_frame(bad, now)
            if cti > self.row.cti and not segments:
                segments.append(Segment(first, 0, cti, None, BEGINNING, BEGINNING))
            if self._commit(segments, cti, position, counters, sides, chunk.token):
                return Appended(first, first + sum(segment.rows for segment in segments), cti)
            self._look()

    def _fits(self, written: Sequence[Written], now: int) -> bool:
        """Whether all rows of the files are taken as they are."""
        for file in written:
            if not (self.store.root / file.blob.path).exists():
                reason, fix = "it was swept before it was committed", "Write the rows again: nothing was taken."
                raise StoreError("STORE.DAMAGED", what=file.blob.path, reason=reason, fix=fix)
        every = all(file.extent is not None for file in written)
        return every and extent_fits(self.row.declaration, *_span(written), self.row.cti, now)

    def _check(self, bad: Sequence[Rejected]) -> None:
        if bad and self.row.declaration.on_bad == "fail":
            raise bad[0].error

    def _written(self, events: pl.DataFrame, first: int, cti: int) -> Segment:
        crashpoints.reach("ingest.before_write")
        blob = self._blob(self.name, events)
        return Segment(first, events.height, cti, blob, *bounds(events, VS))

    def _blob(self, name: str, frame: pl.DataFrame) -> Blob:
        file = self.store.growing(f"streams/{name}")
        blob = file.append(encode(frame))
        file.sync()
        return blob

    def _commit(
        self, segments: list[Segment], cti: int, position: Any, counters: dict[str, int],
        sides: dict[str, pl.DataFrame], token: tuple[str, int] | None = None,
    ) -> bool:  # fmt: skip
        streams = self.store.catalog.streams
        written = [(name, frame, self._blob(name, frame)) for name, frame in sides.items() if frame.height]
        blobs = [segment.blob for segment in segments if segment.blob is not None and segment.external is None]
        files = [self.store.root / blob.path for blob in (*blobs, *(blob for _, _, blob in written))]
        crashpoints.reach("ingest.before_commit")

        def write() -> StreamRow | None:
            if not all(file.exists() for file in files):
                return None  # this process slept so long that they were swept: all is written again
            if not streams.append(self.name, self.row.next, segments, cti, known=self.row.cti):
                return None
            if token is not None and not self.store.catalog.writers.take(token[0], self.name, token[1]):
                raise Repeated
            for name, frame, blob in written:
                at = streams.get(name).next
                streams.append(name, at, [Segment(at, frame.height, BEGINNING, blob, *bounds(frame, VS))], BEGINNING)
                streams.set_durable(name, at + frame.height)
            if cti == FOREVER:
                _end_sides(self.store.catalog, self.row.declaration)
            if position is not _KEEP:
                streams.set_position(self.name, position)
            streams.count(self.name, counters)
            row = self._checked(streams.get(self.name))
            streams.set_durable(self.name, row.next)
            return row

        row = self.store.catalog.transact(write, self._lease, durable=True)
        if row is None:
            return False
        self.row = row
        crashpoints.reach("ingest.after_commit")
        self.store.bell.ring()
        return True


def bad_frame(bad: Sequence[Rejected], now: int) -> pl.DataFrame:
    columns = {
        "where": [r.where for r in bad],
        "reason": [r.reason for r in bad],
        "row": [r.row for r in bad],
    }
    return pl.DataFrame({VS: [now] * len(bad), VE: [now + 1] * len(bad), **columns}, schema=BAD_ROWS.frame_schema())


def _span(written: Sequence[Written]) -> tuple[int, int]:
    """The least and the greatest start of all."""
    starts = [start for file in written for start in file.extent or ()]
    return min(starts), max(starts)


def _ready(written: Sequence[Written], first: int, before: int, cti: int) -> list[Segment]:
    """Files as segments. They are one chunk: time passes behind the last."""
    segments: list[Segment] = []
    for file in written:
        assert file.extent is not None
        time = cti if file is written[-1] else before
        segments.append(Segment(first, file.rows, time, file.blob, *file.extent))
        first += file.rows
    return segments


def _in_place(file: External, first: int, cti: int) -> Segment:
    stamp = external_stamp(Path(file.path))
    blob = Blob(file.path, 0, int(stamp.split(":")[0]), 0, file.format)
    return Segment(first, file.rows, cti, blob, file.least_vs, file.greatest_vs, external=stamp)


class StreamReader:
    """The reading end of any stream. Readers never wait for each other or for writers."""

    def __init__(self, catalog: Catalog, name: str) -> None:
        self._catalog = catalog
        self._name = name
        self._declaration = catalog.streams.get(name).declaration
        self._at = 0

    def register(self, seq: int) -> None:
        """Start reading at this sequence number."""
        row = self._catalog.streams.get(self._name)
        if seq < row.first:
            raise StoreError("STREAM.TRIMMED", seq=seq, stream=self._name, first=row.first)
        self._at = seq

    rewind = register

    def read_next(self, limit: int = 1 << 20) -> tuple[int, pl.DataFrame]:
        """The next committed events and the number of the first; no rows when there are none yet."""
        first = self._at
        end = min(self._catalog.streams.get(self._name).next, first + limit)
        frame = self.read(first, end)
        self._at = max(first, end)
        return first, frame

    def read(self, start: int, end: int) -> pl.DataFrame:
        frames: list[pl.LazyFrame] = []
        at = start
        for segment in self._catalog.streams.segments(self._name, start, end):
            assert segment.blob is not None
            if segment.first > at:
                break
            upto = min(end, segment.end)
            piece = Piece(segment.blob, at - segment.first, upto - at, segment.external)
            frames.append(scan_piece(self._catalog.root, piece, self._declaration))
            at = upto
        if at < end:
            first = self._catalog.streams.get(self._name).first
            raise StoreError("STREAM.TRIMMED", seq=at, stream=self._name, first=first)
        return pl.concat(frames).collect() if frames else self._declaration.schema.empty()
