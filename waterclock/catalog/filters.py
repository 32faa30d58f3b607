"""Rows that a vertex leaves out, though its program does not say so: events that it cannot digest.

A filter holds from the first epoch that is recorded with it, so doing an epoch again leaves out the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from waterclock.catalog.database import Database
from waterclock.catalog.epochs import Intent

_FILTER = "id, vertex, stream, predicate, added, since, until, removed"


@dataclass(frozen=True)
class Filter:
    id: int
    vertex: str
    stream: str
    predicate: str
    """Rows of the stream for which this holds are left out ..."""
    added: int
    """In microseconds."""
    since: int | None
    """... from this number on, ..."""
    until: int | None
    """... up to this one, if it was taken back."""
    removed: bool


class Filters:
    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, vertex: str, stream: str, predicate: str) -> Filter:
        return self._db.transact(lambda: self._add(vertex, stream, predicate), durable=True)

    def _add(self, vertex: str, stream: str, predicate: str) -> Filter:
        known = self._db.query("SELECT coalesce(max(id), 0) FROM filters")[0][0]
        self._db.execute(
            f"INSERT INTO filters ({_FILTER}) VALUES (?, ?, ?, ?, ?, NULL, NULL, 0)",
            known + 1, vertex, stream, predicate, self._db.now(),
        )  # fmt: skip
        return self.all()[-1]

    def put(self, each: Filter) -> None:
        """As it is in another catalog."""
        self._db.execute(
            f"INSERT INTO filters ({_FILTER}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            each.id, each.vertex, each.stream, each.predicate, each.added, each.since, each.until, int(each.removed),
        )  # fmt: skip

    def remove(self, number: int) -> bool:
        """From the next epoch on it does not hold; False if there is no such filter that holds."""
        return bool(self._db.execute("UPDATE filters SET removed = 1 WHERE id = ? AND removed = 0", number))

    def all(self) -> list[Filter]:
        rows = self._db.query(f"SELECT {_FILTER} FROM filters ORDER BY id")
        return [Filter(*(*row[:-1], bool(row[-1]))) for row in rows]

    def holding(self, vertex: str) -> list[Filter]:
        """Those that the next epoch of the vertex is recorded with."""
        return [each for each in self.all() if each.vertex == vertex and not each.removed]

    def applied(self, vertex: str, intent: Intent) -> None:
        """Inside the commit of an epoch: notes from where to where filters hold."""
        for each in self.all():
            if each.vertex != vertex:
                continue
            start = intent.inputs[each.stream].start
            if each.id in intent.filters and each.since is None:
                self._db.execute("UPDATE filters SET since = ? WHERE id = ?", start, each.id)
            if each.id not in intent.filters and each.since is not None and each.until is None:
                self._db.execute("UPDATE filters SET until = ? WHERE id = ?", start, each.id)
