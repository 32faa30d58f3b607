"""The tables of one store, and transactions over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from waterclock.catalog.database import FILE, Database
from waterclock.catalog.epochs import Epochs
from waterclock.catalog.filters import Filters
from waterclock.catalog.leases import Lease, Leases
from waterclock.catalog.sinks import Sinks
from waterclock.catalog.streams import Streams
from waterclock.errors import StoreError


class Catalog:
    def __init__(self, root: Path) -> None:
        self._db = Database(root)
        self.root = root
        self.streams = Streams(self._db)
        self.epochs = Epochs(self._db)
        self.leases = Leases(self._db)
        self.sinks = Sinks(self._db)
        self.filters = Filters(self._db)

    @staticmethod
    def is_in(store: str | Path) -> bool:
        return (Path(store) / FILE).exists()

    @staticmethod
    def open(store: str | Path, create: bool = False) -> Catalog:
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
        return Catalog(root)

    @contextmanager
    def transaction(self, lease: Lease | None = None, durable: bool = False) -> Iterator[None]:
        """One transaction; with a lease, only while this process still holds it."""
        with self._db.transaction(durable):
            if lease is not None:
                self.leases.check(lease)
            yield

    def sync(self) -> None:
        self._db.sync()

    def close(self) -> None:
        self._db.close()
