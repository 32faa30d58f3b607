"""Several drivers of one app: who leads it, who runs which vertex, and who takes over.

One driver leads: it holds the lease of the app and runs sources, clocks, sinks and the keeper. The others stand by:
they run the vertices that they are told to (``catalog.hosts``), and one of them takes the lease when it becomes free.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence

from waterclock import crashpoints
from waterclock.catalog import Held, Hosting, Lease, Observer
from waterclock.catalog.leases import FINISHED
from waterclock.errors import StoreError
from waterclock.runtime.metrics.watch import Watch, log
from waterclock.runtime.store import Store
from waterclock.runtime.vertex import VertexWorker

LOOK = 0.2
"""Seconds between looks at who runs what."""
SUCCEED = 0.1
"""Seconds between looks at the lease of the app."""


def default_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


class Assignment:
    """Starts and stops vertices of this driver as the catalog says. That of the leader also expels drivers that are
    gone, so that nothing more of theirs can be committed, and takes over what they ran."""

    name = "drivers"
    poll = LOOK

    def __init__(self, store: Store, app: str, driver: str, vertices: Sequence[VertexWorker]) -> None:
        self._store = store
        self._app = app
        self._driver = driver
        self._vertices = vertices
        self._observer = Observer()
        self._looked = -LOOK
        self.leads = False
        self.helped: Watch | None = None
        """Vertices that fall behind, by the alerts of this watch, get a second driver."""
        self._helped: set[str] = set()

    def request_stop(self) -> None:
        pass

    def turn(self) -> bool:
        if time.monotonic() - self._looked >= LOOK:
            self._looked = time.monotonic()
            self.look()
        return False

    def look(self) -> None:
        catalog = self._store.catalog
        drivers, hostings = catalog.leases.drivers_of(self._app), catalog.hosts.all(self._app)
        if self.leads:
            gone = {name for name, held in drivers.items() if name != self._driver and self._is_expelled(held)}
            drivers = {name: held for name, held in drivers.items() if name not in gone}
            hostings = {name: self._tidied(each, set(drivers)) for name, each in hostings.items()}
            self._help(hostings, sorted(set(drivers) - {self._driver}))
        leader = self._driver if self.leads else catalog.leases.leader(self._app)
        for vertex in self._vertices:
            hosting = hostings[vertex.vertex]
            running = hosting.drivers(leader, drivers)
            here, alone = self._driver in running, len(running) == 1
            if vertex.hosted != here:
                vertex.host(here, alone)
            vertex.alone = alone
            if hosting.moving == self._driver and here and vertex.ready:
                self._finish_move(hosting)

    def _is_expelled(self, held: Held) -> bool:
        if not self._observer.is_free(held):
            return False
        leases = self._store.catalog.leases
        expelled = self._store.catalog.transact(lambda: leases.expel(held), self._store.lease)
        if expelled:
            log.warning("%s: the driver %s is gone (%s)", self._app, held.driver, held.owner)
        return expelled

    def _tidied(self, hosting: Hosting, there: set[str]) -> Hosting:
        """Without drivers that are gone. What the leader alone runs, whoever leads runs."""
        hosts = tuple(name for name in hosting.hosts if name in there)
        moving = hosting.moving if hosting.moving in hosts else None
        if hosts == (self._driver,) and moving is None:
            hosts = ()
        if (hosts, moving) == (hosting.hosts, hosting.moving):
            return hosting
        told, catalog = Hosting(hosting.vertex, hosts, moving, hosting.copies), self._store.catalog

        def write() -> Hosting:
            now = catalog.hosts.all(self._app)[hosting.vertex]
            if now != hosting:
                return now  # said anew meanwhile
            catalog.hosts.set(hosting.vertex, hosts, moving)
            return told

        return catalog.transact(write, self._store.lease)

    def _finish_move(self, hosting: Hosting) -> None:
        hosts = self._store.catalog.hosts
        crashpoints.reach("move.before_finish")
        if self._store.catalog.transact(
            lambda: hosts.moved(hosting.vertex, self._driver, self.leads), self._store.lease
        ):
            log.info("%s: %s runs in the driver %s now", self._app, hosting.vertex, self._driver)

    def _help(self, hostings: dict[str, Hosting], others: list[str]) -> None:
        """A second driver for what falls behind, as long as it does."""
        if self.helped is None:
            return
        slow = {
            alert.subject.split()[1].rstrip(",") for alert in self.helped.alerts if alert.rule in ("lag", "straggler")
        }
        catalog = self._store.catalog
        told: tuple[str, ...]
        for name, hosting in list(hostings.items()):
            if others and name in slow and not hosting.hosts:
                told = (self._driver, others[0])
            elif name in self._helped and name not in slow and hosting.hosts[:1] == (self._driver,):
                told = ()
            else:
                continue
            catalog.transact(lambda name=name, told=told: catalog.hosts.set(name, told), self._store.lease)  # type: ignore[misc]
            hostings[name] = Hosting(name, told, None, hosting.copies)
            (self._helped.add if told else self._helped.discard)(name)


class Succession:
    """Waits for the lease of an app to become free and takes it: the old leader can commit nothing from then on."""

    def __init__(self, store: Store, lease: str, driver: str, ttl: int) -> None:
        self._store = store
        self._lease = lease
        self._driver = driver
        self._ttl = ttl
        self._observer = Observer()
        held = store.catalog.leases.get(lease)
        self._waits = held is not None and not held.given_back
        """The app was led since this one is there."""
        self.finished = False
        """The app came to its end while this waited: there is nothing to take over."""

    def attempt(self) -> Lease | None:
        leases = self._store.catalog.leases
        held = leases.get(self._lease)
        try:
            if held is None:
                return leases.acquire(self._lease, self._ttl, self._driver)
            self.finished = self._waits and held.expires == FINISHED
            if not self.finished and self._observer.is_free(held):
                return leases.take(held, self._ttl, self._driver)
        except StoreError as error:
            if error.code not in ("STORE.IN_USE", "STORE.LOCKED"):  # another was faster, or hangs in a transaction
                raise
        self._waits = True
        return None
