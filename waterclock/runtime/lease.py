"""Keeps a lease of a running app: through the start of Spark, long steps and single-threaded runs."""

from __future__ import annotations

import threading

from waterclock.catalog import Catalog, Lease
from waterclock.errors import WaterclockError


class LeaseKeeper:
    def __init__(self, catalog: Catalog, lease: Lease) -> None:
        self.lost: WaterclockError | None = None
        """Set when another process has taken over: nothing more can be committed."""
        self._catalog = catalog
        self._lease = lease
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)
        self._thread.start()

    def close(self, finished: bool = False) -> None:
        """Stops renewing and gives the lease back; ``finished``: for nobody to take."""
        self._stop.set()
        self._thread.join()
        try:
            self._catalog.leases.release(self._lease, finished)
        except WaterclockError:
            pass  # a full disk, or no server: the lease runs out by itself

    def _keep(self) -> None:
        while not self._stop.wait(self._lease.ttl / 3e6):
            try:
                self._catalog.leases.renew(self._lease)
            except WaterclockError as error:
                if error.code == "STORE.FENCED":
                    self.lost = error
                    return
