"""Pins: events that somebody wants to keep, from a number on, whatever retention and the readers say."""

from __future__ import annotations

from dataclasses import dataclass

from waterclock.catalog.database import Database, transactional
from waterclock.catalog.streams import Streams
from waterclock.errors import StoreError


@dataclass(frozen=True)
class Pin:
    name: str
    stream: str
    seq: int
    """Kept from this number on."""
    added: int
    """In microseconds."""


class Pins:
    def __init__(self, db: Database, streams: Streams) -> None:
        self._db = db
        self._streams = streams

    @transactional
    def add(self, name: str, stream: str, seq: int | None) -> Pin | None:
        """From ``seq`` on, or from the first event that is there; None, and nothing done, if it is pinned by that name.

        Pins of several streams may have one name.
        """
        if any((pin.name, pin.stream) == (name, stream) for pin in self.all()):
            return None
        first = self._streams.get(stream).first
        if seq is not None and seq < first:
            raise StoreError("STREAM.TRIMMED", seq=seq, stream=stream, first=first)
        pin = Pin(name, stream, first if seq is None else seq, self._db.now())
        self._db.execute("INSERT INTO pins VALUES (?, ?, ?, ?)", pin.name, pin.stream, pin.seq, pin.added)
        return pin

    def all(self) -> list[Pin]:
        return [Pin(*row) for row in self._db.query("SELECT name, stream, seq, added FROM pins ORDER BY name, stream")]

    def remove(self, name: str) -> bool:
        """All of that name; False if there is none."""
        return bool(self._db.execute("DELETE FROM pins WHERE name = ?", name))

    @transactional
    def move(self, name: str, stream: str, seq: int) -> None:
        """Up to ``seq``, never back; it is added if it is not there."""
        moved = "UPDATE pins SET seq = greatest(seq, ?) WHERE name = ? AND stream = ?"
        if not self._db.execute(moved, seq, name, stream):
            self.add(name, stream, seq)
