"""SQLite behind the few calls that the catalog needs, so that another database can stand in its place."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from waterclock.catalog.migrations import MIGRATIONS
from waterclock.errors import StoreError

FILE = "catalog.sqlite"


class Database:
    """One connection shared by the threads of a process; transactions of one process take turns."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.RLock()
        self._depth = 0
        try:
            self._connection = sqlite3.connect(root / FILE, isolation_level=None, check_same_thread=False, timeout=30)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._migrate()
        except sqlite3.DatabaseError as error:
            raise self._translated(error) from error

    def execute(self, sql: str, *values: Any) -> int:
        """Runs a statement and gives the number of rows it touched."""
        with self._lock:
            try:
                return self._connection.execute(sql, values).rowcount
            except sqlite3.DatabaseError as error:
                raise self._translated(error) from error

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.DatabaseError as error:
                raise self._translated(error) from error

    @contextmanager
    def transaction(self, durable: bool = False) -> Iterator[None]:
        """All or nothing. ``durable``: when it returns, this and everything before it survives a power cut."""
        with self._lock:
            if self._depth:
                yield  # part of the outer transaction
                return
            if durable:
                self.execute("PRAGMA synchronous=FULL")
            self.execute("BEGIN IMMEDIATE")
            self._depth = 1
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._depth = 0
                if durable:
                    self._connection.execute("PRAGMA synchronous=NORMAL")

    def sync(self) -> None:
        """Makes every transaction committed so far survive a power cut."""
        with self.transaction(durable=True):
            self.execute("UPDATE meta SET value = value WHERE key = 'format'")

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _migrate(self) -> None:
        with self.transaction(durable=True):
            self.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
            rows = self.query("SELECT value FROM meta WHERE key = 'format'")
            found = int(rows[0][0]) if rows else 0
            if found > len(MIGRATIONS):
                raise StoreError("STORE.NEWER", store=self.root, found=found, known=len(MIGRATIONS))
            for step in MIGRATIONS[found:]:
                for statement in step:
                    self.execute(statement)
            if found < len(MIGRATIONS):
                self.execute("INSERT OR REPLACE INTO meta VALUES ('format', ?)", str(len(MIGRATIONS)))

    def _translated(self, error: sqlite3.DatabaseError) -> StoreError:
        path = self.root / FILE
        if "full" in str(error):
            return StoreError("STORE.FULL", path=path)
        return StoreError(
            "STORE.DAMAGED",
            what=str(path),
            reason=str(error),
            fix="Restore the store from a copy, or start a new one.",
        )
