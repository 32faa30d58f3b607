"""A store that is open for running: its directory, catalog, lease and growing files."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

from waterclock.catalog import Catalog, Lease
from waterclock.errors import WaterclockError
from waterclock.runtime.lease import LeaseKeeper
from waterclock.storage import Blob, GrowingFile
from waterclock.storage.blobs import disk_error, sync_file
from waterclock.storage.growing import GROWING

NAMED_WITHIN = 30.0
"""Bytes that were appended for an epoch are committed within so many seconds or not at all: the keeper of another
driver may remove a file that nobody names after twice as long."""
INCOMING = "incoming"
"""Where tasks outside of the apps put files that are named when all of them are done, however long that takes."""


class Bell:
    """Rings when something was committed; loops wait on it instead of polling."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0

    def ring(self) -> None:
        with self._condition:
            self._count += 1
            self._condition.notify_all()

    def wait(self, seen: int, timeout: float) -> int:
        """Returns at once if it rang since ``seen``; gives the count to pass next time."""
        with self._condition:
            if self._count == seen:
                self._condition.wait(timeout)
            return self._count


class Store:
    def __init__(self, catalog: Catalog, lease: Lease | None) -> None:
        self.root: Path = catalog.root
        self.catalog = catalog
        self.lease: Lease | None = None
        """That every commit checks."""
        self._lease_keepers: list[LeaseKeeper] = []
        if lease is not None:
            self.go_by(lease)
        self.bell = Bell()
        self._growing: dict[str, GrowingFile] = {}
        self._lock = threading.Lock()

    def go_by(self, lease: Lease) -> None:
        """From now on commits check this one; those before are kept too."""
        self.keep_lease(lease)
        self.lease = lease

    def keep_lease(self, lease: Lease) -> None:
        self._lease_keepers.append(LeaseKeeper(self.catalog, lease))

    def growing(self, directory: str) -> GrowingFile:
        with self._lock:
            if directory not in self._growing:
                self._growing[directory] = GrowingFile(self.root, directory)
            return self._growing[directory]

    def keep(self, directory: str, blob: Blob | None, data: bytes | None) -> Blob:
        """The blob of a task's result: written by the task, or appended here when it came as bytes."""
        if blob is None:
            assert data is not None
            return self.growing(directory).append(data)
        return blob

    def sync(self, paths: Iterable[str]) -> None:
        """These files survive a power cut when it returns, whichever process wrote them."""
        files = [self.root / path for path in paths]
        names = {path.parent for path in files if path.suffix != GROWING}  # which has its name synced when it is made
        for path in (*files, *names):
            try:
                sync_file(path)
            except FileNotFoundError:
                pass  # what was in it is in another one by now, which was synced before it was named
            except OSError as error:
                raise disk_error(error, path) from error

    def open_paths(self) -> set[str]:
        """Files that are still written to."""
        with self._lock:
            return {file.path for file in self._growing.values()}

    def close(self, finished: bool = False) -> None:
        """``finished``: nothing is left to do, and no other driver has to take over."""
        for file in self._growing.values():
            file.close()
        for keeper in reversed(self._lease_keepers):
            keeper.close(finished)
        self.catalog.close()

    @property
    def lost(self) -> WaterclockError | None:
        """Set when another process has taken over, or has expelled this one."""
        return next((keeper.lost for keeper in self._lease_keepers if keeper.lost is not None), None)
