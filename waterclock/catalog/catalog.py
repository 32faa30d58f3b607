"""The tables of one store, and transactions over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from waterclock.catalog import location, sqlite
from waterclock.catalog.database import Database
from waterclock.catalog.epochs import Epochs
from waterclock.catalog.filters import Filters
from waterclock.catalog.hosts import Hosts
from waterclock.catalog.leases import Lease, Leases
from waterclock.catalog.makings import Makings
from waterclock.catalog.pins import Pins
from waterclock.catalog.sinks import Sinks
from waterclock.catalog.snapshots import Snapshots
from waterclock.catalog.streams import Streams
from waterclock.catalog.writers import Writers
from waterclock.errors import StoreError

T = TypeVar("T")


class Catalog:
    def __init__(self, db: Database) -> None:
        self._db = db
        self.root = db.root
        self.streams = Streams(self._db)
        self.epochs = Epochs(self._db)
        self.leases = Leases(self._db)
        self.sinks = Sinks(self._db)
        self.filters = Filters(self._db)
        self.hosts = Hosts(self._db)
        self.snapshots = Snapshots(self._db, self.epochs, self.streams)
        self.pins = Pins(self._db, self.streams)
        self.makings = Makings(self._db)
        self.writers = Writers(self._db)

    @staticmethod
    def is_in(store: str | Path) -> bool:
        return location.is_in(Path(store))

    @staticmethod
    def open(store: str | Path, create: bool = False, url: str | None = None) -> Catalog:
        """The catalog of a store. ``url`` says in which database a new store has it; one that is there knows it."""
        root = Path(store).absolute()
        if create:
            try:
                root.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError("STORE.NOT_WRITABLE", store=root, reason=error.strerror) from error
        elif not root.exists():
            raise StoreError("STORE.NOT_THERE", store=root)
        elif not Catalog.is_in(root):
            raise StoreError("STORE.NOT_A_STORE", store=root)
        return Catalog(location.connected(root, url))

    @staticmethod
    def scratch(root: Path) -> Catalog:
        """A new one for a while, in a directory that is there."""
        return Catalog(sqlite.Sqlite(root))

    def transact(self, work: Callable[[], T], lease: Lease | None = None, durable: bool = False) -> T:
        """Does ``work`` in one transaction, again from its start if the connection was lost in it."""

        def fenced() -> T:
            if lease is not None:
                self.leases.check(lease)
            return work()

        return self._db.transact(fenced, durable)

    def read(self, work: Callable[[], T]) -> T:
        """What ``work`` reads is of one moment, and no writer waits for it."""
        return self._db.read(work)

    def now(self) -> int:
        """By the clock that all who share the catalog go by, in microseconds."""
        return self._db.now()

    @contextmanager
    def transaction(self, lease: Lease | None = None, durable: bool = False) -> Iterator[None]:
        """One transaction; with a lease, only while this process still holds it. It may be ``Interrupted``."""
        with self._db.transaction(durable):
            if lease is not None:
                self.leases.check(lease)
            yield

    @property
    def reachable_since(self) -> float:
        """By ``time.monotonic``: since when the catalog can be reached without a break."""
        return self._db.reachable_since

    def server(self) -> tuple[str, bool]:
        """What the catalog is in, with its version, and whether it syncs what it writes."""
        return self._db.server()

    def sync(self) -> None:
        self._db.sync()

    def close(self) -> None:
        self._db.close()
