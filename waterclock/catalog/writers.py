"""Which batch each writer outside of the apps has committed last, so that one that it makes again has no effect."""

from __future__ import annotations

from waterclock.catalog.database import Database


class Writers:
    def __init__(self, db: Database) -> None:
        self._db = db

    def last(self, writer: str, stream: str) -> int:
        """-1 before the first."""
        rows = self._db.query("SELECT batch FROM batches WHERE writer = ? AND stream = ?", writer, stream)
        return int(rows[0][0]) if rows else -1

    def take(self, writer: str, stream: str, batch: int) -> bool:
        """Inside the transaction that appends its events. False, and nothing done, if it was taken before."""
        taken = self._db.execute(
            """INSERT INTO batches (writer, stream, batch, taken) VALUES (?, ?, ?, ?)
               ON CONFLICT (writer, stream) DO UPDATE SET batch = excluded.batch, taken = excluded.taken
               WHERE batches.batch < excluded.batch""",
            writer, stream, batch, self._db.now(),
        )  # fmt: skip
        return bool(taken)
