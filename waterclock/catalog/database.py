"""What the catalog needs of a database, whichever it is: statements, queries, transactions, a clock.

SQL is written once, for both: ``?`` for values, PostgreSQL's functions, SQLite's types in migrations. Each database
makes of it what it understands, in its own module and nowhere else.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from waterclock.catalog.migrations import MIGRATIONS
from waterclock.errors import StoreError

T = TypeVar("T")
P = ParamSpec("P")


class Interrupted(StoreError):
    """The connection was lost in a transaction, and nothing of it was done."""

    def __init__(self, **values: object) -> None:
        super().__init__("STORE.INTERRUPTED", **values)

    def __reduce__(self) -> tuple[object, ...]:
        return _interrupted, (self.values,)


class Database(ABC):
    """One connection shared by the threads of a process. Transactions take turns, also those of other processes:
    each sees all that was committed before it began, and nothing else is committed until it ends."""

    reachable_since: float = 0.0
    """By ``time.monotonic``: when the connection was made that there is now."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.RLock()
        self._depth = 0

    def execute(self, sql: str, *values: Any) -> int:
        """Runs a statement and gives the number of rows it touched."""
        return self.transact(lambda: self._execute(sql, values))

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._query(sql, values)

    def transact(self, work: Callable[[], T], durable: bool = False) -> T:
        """Does ``work`` in one transaction, or as part of the one that it is called in.

        It is done again from its start if the connection was lost, but never once it is known to have been committed.
        """
        with self._lock:
            if self._depth:
                return work()
            while True:
                try:
                    with self.transaction(durable):
                        return work()
                except Interrupted:
                    pass

    @contextmanager
    def transaction(self, durable: bool = False) -> Iterator[None]:
        """All or nothing. ``durable``: when it returns, this and everything before it survives a power cut.

        Raises ``Interrupted`` if the connection was lost: the caller has to do all of it again.
        """
        with self._lock:
            if self._depth:
                yield  # part of the outer transaction
                return
            self._begin(durable)
            self._depth = 1
            try:
                yield
                self._commit()
            except BaseException:
                self._roll_back()
                raise
            finally:
                self._depth = 0

    def read(self, work: Callable[[], T]) -> T:
        """All that ``work`` reads is of one moment. Nobody waits for it; it writes nothing."""
        with self._lock:
            if self._depth:
                return work()
            while True:
                try:
                    self._begin_to_read()
                    self._depth = 1
                    return work()
                except Interrupted:
                    pass
                finally:
                    self._depth = 0
                    self._roll_back()

    def sync(self) -> None:
        """Makes every transaction committed so far survive a power cut."""
        self.transact(lambda: self._execute("UPDATE meta SET value = value WHERE key = 'format'", ()), durable=True)

    @abstractmethod
    def now(self) -> int:
        """Microseconds, by the clock that all who share the catalog go by."""

    @abstractmethod
    def server(self) -> tuple[str, bool]:
        """Its name and version, and whether it syncs what it writes."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def _execute(self, sql: str, values: tuple[Any, ...]) -> int: ...

    @abstractmethod
    def _query(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def _begin(self, durable: bool) -> None: ...

    @abstractmethod
    def _begin_to_read(self) -> None: ...

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def _roll_back(self) -> None:
        """After an error, whatever is left of the transaction."""

    def _migrate(self) -> None:
        """Brings the tables to the format of this version."""
        if self._format() != len(MIGRATIONS):
            self.transact(self._step_up, durable=True)

    def _step_up(self) -> None:
        found = self._format()  # again: another process may have been faster
        if found > len(MIGRATIONS):
            raise StoreError("STORE.NEWER", store=self.root, found=found, known=len(MIGRATIONS))
        for step in MIGRATIONS[found:]:
            for statement in step:
                self.execute(statement)
        self.execute(
            "INSERT INTO meta VALUES ('format', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            str(len(MIGRATIONS)),
        )

    def _format(self) -> int:
        rows = self.query("SELECT value FROM meta WHERE key = 'format'")
        return int(rows[0][0]) if rows else 0


class _Tables(Protocol):
    _db: Database


S = TypeVar("S", bound=_Tables)


def transactional(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """The method is a transaction, or part of the one that it is called in."""

    @wraps(method)
    def called(tables: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return tables._db.transact(lambda: method(tables, *args, **kwargs))

    return called


def _interrupted(values: dict[str, object]) -> Interrupted:
    return Interrupted(**values)
