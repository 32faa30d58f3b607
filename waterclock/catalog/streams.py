"""Streams and their segments. The first commit of a sequence number wins: an append names the number it expects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from waterclock.catalog import counters
from waterclock.catalog.arrivals import Arrivals
from waterclock.catalog.database import Database, transactional
from waterclock.errors import ConfigError, StoreError, did_you_mean
from waterclock.storage import Blob
from waterclock.streams import Declaration, Segment
from waterclock.time import BEGINNING, FOREVER

_SEGMENT = "first, rows, cti, path, at, length, checksum, format, least_vs, greatest_vs, level, external, arrived"


@dataclass(frozen=True)
class StreamRow:
    name: str
    declaration: Declaration
    first: int
    next: int
    durable: int
    cti: int
    ended: bool
    position: Any
    counters: dict[str, int]
    arrived: int | None
    """When the last events came, and when the CTI last moved, by the clock."""
    moved: int | None
    stalled: int | None
    """When the first events came behind its last move."""


class Streams:
    def __init__(self, db: Database) -> None:
        self._db = db
        self.arrivals = Arrivals(db)

    @transactional
    def create(self, declaration: Declaration, app: str | None = None) -> None:
        """Creates the stream, or checks that it was declared alike.

        One that nothing was ever in may be declared anew by ``app``, unless another app has to do with it.
        """
        text = declaration.to_json()
        rows = self._db.query("SELECT declaration FROM streams WHERE name = ?", declaration.name)
        changed = Declaration.from_json(rows[0][0]).difference(declaration) if rows else None
        if changed is not None:
            if not self._is_untouched(declaration.name, app):
                raise ConfigError("PLAN.STREAM_CHANGED", name=declaration.name, difference=changed)
            self._db.execute("DELETE FROM streams WHERE name = ?", declaration.name)
        if not rows or changed is not None:
            self._db.execute(
                """INSERT INTO streams (
                     name, declaration, first_seq, next_seq, durable_seq, cti, ended, position, counters)
                   VALUES (?, ?, 0, 0, 0, ?, 0, 'null', '{}')""",
                declaration.name,
                text,
                BEGINNING,
            )
            return
        self._db.execute("UPDATE streams SET declaration = ? WHERE name = ?", text, declaration.name)

    def _is_untouched(self, name: str, app: str | None) -> bool:
        """No event, no time, no position; nothing was computed with it, and no app but this one has to do with it."""
        empty = self._db.query(
            """SELECT 1 FROM streams WHERE name = ? AND next_seq = 0 AND cti = ? AND position = 'null'
               AND coalesce(owner, ?) = ?""",
            name, BEGINNING, app or "", app or "",
        )  # fmt: skip
        readers = self._db.query("SELECT inputs FROM vertices WHERE app != ? OR epoch >= 0", app or "")
        return bool(empty) and not any(name in json.loads(inputs) for (inputs,) in readers)

    @transactional
    def claim(self, name: str, app: str) -> None:
        """One app brings the events of a source into its stream."""
        owner = self._db.query("SELECT owner FROM streams WHERE name = ?", name)[0][0]
        if owner not in (None, app):
            raise ConfigError("PLAN.OF_ANOTHER_APP", name=name, app=owner)
        self._db.execute("UPDATE streams SET owner = ? WHERE name = ?", app, name)

    def names(self) -> list[str]:
        return [row[0] for row in self._db.query("SELECT name FROM streams ORDER BY name")]

    def get(self, name: str) -> StreamRow:
        rows = self._db.query("SELECT * FROM streams WHERE name = ?", name)
        if not rows:
            known = self.names()
            raise StoreError(
                "STORE.NO_STREAM",
                name=name,
                store=self._db.root,
                choices=", ".join(known) or "none",
                guess=did_you_mean(name, known),
            )
        _, declaration, _, first, following, durable, cti, ended, position, counted, arrived, moved, stalled = rows[0]
        return StreamRow(
            name, Declaration.from_json(declaration), first, following, durable, cti, bool(ended),
            json.loads(position), json.loads(counted), arrived, moved, stalled,
        )  # fmt: skip

    def marks(self) -> dict[str, tuple[int, int]]:
        """Of every stream: the next number and the CTI. One cheap query, made in every turn of the driver."""
        return {name: (seq, cti) for name, seq, cti in self._db.query("SELECT name, next_seq, cti FROM streams")}

    @transactional
    def append(self, name: str, expected: int, segments: Sequence[Segment], cti: int, known: int | None = None) -> bool:
        """Adds segments that start at ``expected``. False, and nothing done, if that number is taken.

        ``known`` is the stream's time that the segments were checked against: it must not have moved since.
        """
        rows, now = sum(segment.rows for segment in segments), self._db.now()
        done = self._db.execute(
            """UPDATE streams SET next_seq = next_seq + ?, cti = greatest(cti, ?), ended = greatest(ended, ?),
                 arrived = CASE WHEN ? > 0 THEN ? ELSE arrived END, moved = CASE WHEN ? > cti THEN ? ELSE moved END,
                 stalled = CASE WHEN ? > cti THEN NULL WHEN ? > 0 THEN coalesce(stalled, ?) ELSE stalled END
               WHERE name = ? AND next_seq = ? AND cti = coalesce(?, cti)""",
            rows, cti, int(cti == FOREVER), rows, now, cti, now, cti, rows, now, name, expected, known,
        )  # fmt: skip
        if not done:
            return False
        for segment in segments:
            self.put(name, replace(segment, arrived=now))
        return True

    def end(self, name: str, seq: int, times: Sequence[Segment]) -> None:
        """Of a stream in a scratch catalog, whose segments were put there: no more events, and its last times."""
        for time in times:
            self.put(name, time)
        self._db.execute(
            "UPDATE streams SET next_seq = ?, durable_seq = ?, cti = ?, ended = 1 WHERE name = ?",
            seq, seq, FOREVER, name,
        )  # fmt: skip

    def set_position(self, name: str, position: Any) -> None:
        self._db.execute("UPDATE streams SET position = ? WHERE name = ?", json.dumps(position), name)

    def count(self, name: str, numbers: dict[str, int]) -> None:
        counters.add(self._db, "streams", name, numbers)

    def set_durable(self, name: str, seq: int) -> None:
        self._db.execute("UPDATE streams SET durable_seq = greatest(durable_seq, ?) WHERE name = ?", seq, name)

    def segments(self, name: str, start: int, end: int) -> list[Segment]:
        """Those with rows in ``[start, end)``, in order."""
        rows = self._db.query(
            f"""SELECT {_SEGMENT} FROM segments WHERE stream = ? AND rows > 0 AND first < ? AND first + rows > ?
                AND first >= coalesce((SELECT max(first) FROM segments WHERE stream = ? AND first <= ? AND rows > 0), 0)
                ORDER BY first, id""",
            name, end, start, name, start,
        )  # fmt: skip
        return [_segment(row) for row in rows]

    def cti_at(self, name: str, seq: int) -> int:
        """The stream's time after the events below ``seq``."""
        rows = self._db.query(
            """SELECT cti FROM segments WHERE stream = ? AND first <= ? AND first + rows <= ?
               ORDER BY first DESC, id DESC LIMIT 1""",
            name, seq, seq,
        )  # fmt: skip
        return int(rows[0][0]) if rows else BEGINNING

    def last_finite_cti(self, name: str) -> int:
        """The stream's time before it ended."""
        rows = self._db.query("SELECT max(cti) FROM segments WHERE stream = ? AND cti < ?", name, FOREVER)
        return BEGINNING if rows[0][0] is None else int(rows[0][0])

    @transactional
    def replace(self, name: str, old: Sequence[Segment], new: Segment) -> bool:
        """Compaction: one segment in place of several. False, and nothing done, if they are no longer all there.

        Another app of the store may have been faster.
        """
        first, end = old[0].first, old[-1].end
        if [(each.first, each.blob) for each in self.segments(name, first, end)] != [(s.first, s.blob) for s in old]:
            return False
        self.arrivals.keep(name, old)
        self._db.execute(
            """DELETE FROM segments
               WHERE stream = ? AND first >= ? AND first + rows <= ? AND (rows > 0 OR first < ?)""",
            name, first, end, end,
        )  # fmt: skip
        self.put(name, replace(new, arrived=old[-1].arrived))
        return True

    @transactional
    def roll_back(self, name: str, seq: int, cti: int) -> None:
        """Forgets what was appended from ``seq`` on; its producer writes the same again."""
        self.arrivals.keep(name, self.segments(name, seq, FOREVER))
        self._db.execute(
            "DELETE FROM segments WHERE stream = ? AND first >= ? AND (rows > 0 OR cti > ?)",
            name,
            seq,
            cti,
        )
        self._db.execute("UPDATE streams SET next_seq = ?, cti = ?, ended = 0 WHERE name = ?", seq, cti, name)

    @transactional
    def trim(self, name: str, seq: int) -> int:
        """Forgets whole segments below ``seq``; gives the first number left."""
        rows = self._db.query(
            "SELECT min(first) FROM segments WHERE stream = ? AND rows > 0 AND first + rows > ?",
            name,
            seq,
        )
        first = rows[0][0] if rows[0][0] is not None else min(seq, self.get(name).next)
        self._db.execute(
            "DELETE FROM segments WHERE stream = ? AND first + rows <= ? AND first < ?",
            name,
            first,
            first,
        )
        self._db.execute("UPDATE streams SET first_seq = greatest(first_seq, ?) WHERE name = ?", first, name)
        self.arrivals.trim(name, first)
        return int(first)

    def drop_time_marks(self, name: str, seq: int) -> None:
        """Segments without rows that every reader has passed, except the newest, and those that another one follows."""
        self._db.execute(
            """DELETE FROM segments WHERE stream = ? AND rows = 0 AND (
                 (first < ? AND id < (SELECT max(id) FROM segments WHERE stream = ?))
                 OR EXISTS (SELECT 1 FROM segments AS later WHERE later.stream = segments.stream
                            AND later.first = segments.first AND later.id > segments.id
                            AND later.rows = 0 AND later.cti < ?))""",
            name, seq, name, FOREVER,
        )  # fmt: skip

    def paths(self) -> Iterable[str]:
        """Every file inside the store that a segment refers to."""
        return [
            row[0]
            for row in self._db.query("SELECT DISTINCT path FROM segments WHERE path IS NOT NULL AND external IS NULL")
        ]

    def paths_of(self, name: str, start: int) -> set[str]:
        """The files of the store that hold its events from ``start`` on."""
        rows = self._db.query(
            """SELECT DISTINCT path FROM segments
               WHERE stream = ? AND first + rows > ? AND path IS NOT NULL AND external IS NULL""",
            name, start,
        )  # fmt: skip
        return {row[0] for row in rows}

    def first_after(self, name: str, time: int, seq: int) -> int | None:
        """The first event from ``seq`` on that may start after ``time``: that of its segment."""
        rows = self._db.query(
            "SELECT min(first) FROM segments WHERE stream = ? AND rows > 0 AND first + rows > ? AND greatest_vs > ?",
            name, seq, time,
        )  # fmt: skip
        return None if rows[0][0] is None else max(seq, int(rows[0][0]))

    def row_size(self, name: str) -> float | None:
        """Bytes per row as they are stored; None before the first."""
        length, rows = self._db.query("SELECT sum(length), sum(rows) FROM segments WHERE stream = ?", name)[0]
        return float(length / rows) if rows else None

    def counts(self) -> tuple[int, int]:
        """Number of segments, and rows in all streams."""
        row = self._db.query("SELECT count(*), coalesce(sum(rows), 0) FROM segments")[0]
        return int(row[0]), int(row[1])

    def owned(self, app: str) -> list[str]:
        """The streams whose events this app brings in."""
        return [row[0] for row in self._db.query("SELECT name FROM streams WHERE owner = ? ORDER BY name", app)]

    def put(self, name: str, s: Segment) -> None:
        """The row of a segment alone."""
        blob = (s.blob.path, s.blob.offset, s.blob.length, s.blob.checksum, s.blob.format) if s.blob else (None,) * 5
        self._db.execute(
            f"INSERT INTO segments (stream, {_SEGMENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            name, s.first, s.rows, s.cti, *blob, s.least_vs, s.greatest_vs, s.level, s.external, s.arrived,
        )  # fmt: skip


def _segment(row: tuple[Any, ...]) -> Segment:
    first, rows, cti, path, at, length, checksum, form, least, greatest, level, external, arrived = row
    blob = Blob(path, at, length, checksum, form) if path is not None else None
    return Segment(first, rows, cti, blob, least, greatest, level, external, arrived)
