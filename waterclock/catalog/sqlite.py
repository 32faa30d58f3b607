"""The catalog in a file of the store: SQLite with a write-ahead log, for processes of one machine."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from waterclock.catalog.database import Database
from waterclock.errors import StoreError
from waterclock.storage.blobs import is_full

FILE = "catalog.sqlite"
WAIT = 30.0
"""Seconds for another process to end its transaction."""


class Sqlite(Database):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        try:
            self._connection = sqlite3.connect(root / FILE, isolation_level=None, check_same_thread=False, timeout=WAIT)
            self._connection.create_function("greatest", 2, max, deterministic=True)
            self._use_log()
            self._connection.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        except sqlite3.DatabaseError as error:
            raise self._translated(error) from error
        self._migrate()

    def _use_log(self) -> None:
        """SQLite does not wait by itself where another process does the same to a new file."""
        deadline = time.monotonic() + WAIT
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def now(self) -> int:
        return time.time_ns() // 1000

    def server(self) -> tuple[str, bool]:
        return f"SQLite {sqlite3.sqlite_version}", True

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _execute(self, sql: str, values: tuple[Any, ...]) -> int:
        return self._run(sql, values).rowcount

    def _query(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self._run(sql, values).fetchall()

    def _begin(self, durable: bool) -> None:
        self._run(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        self._run("BEGIN IMMEDIATE")

    def _begin_to_read(self) -> None:
        self._run("BEGIN")

    def _commit(self) -> None:
        self._run("COMMIT")

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _run(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(sql, values)
        except sqlite3.DatabaseError as error:
            raise self._translated(error) from error

    def _translated(self, error: sqlite3.DatabaseError) -> StoreError:
        path = self.root / FILE
        # Without space for the index of its log SQLite speaks of I/O.
        if "full" in str(error) or ("I/O" in str(error) and is_full(self.root)):
            return StoreError("STORE.FULL", path=path)
        if "locked" in str(error):
            return StoreError("STORE.LOCKED", path=path)
        return StoreError(
            "STORE.DAMAGED",
            what=str(path),
            reason=str(error),
            fix="Restore the store from a copy, or start a new one.",
        )
