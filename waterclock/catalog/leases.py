"""Leases with fencing tokens: one process at a time leads an app, and a replaced one can commit nothing more.

Every driver of an app has a lease of its own too: while its row is there the driver is one of them, and without it the
driver can commit nothing.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from waterclock.catalog.database import Database, transactional
from waterclock.errors import StoreError

TTL_MICROS = 10_000_000
"""How long a lease holds that is not renewed, where nobody says otherwise."""
RELEASED, FINISHED = 0, -1
"""In place of when it runs out: given back, and given back because there is nothing left to do."""
_HELD = "name, owner, token, expires, ttl, driver"


@dataclass(frozen=True)
class Lease:
    name: str
    token: int
    ttl: int = TTL_MICROS


@dataclass(frozen=True)
class Held:
    """A lease as anybody can see it."""

    name: str
    owner: str
    token: int
    expires: int
    ttl: int
    driver: str
    """The name of the driver that took it."""

    @property
    def given_back(self) -> bool:
        return self.expires <= RELEASED

    @property
    def alive(self) -> bool:
        """False only where this machine can tell that the holder is gone."""
        return _alive(self.owner)


class Leases:
    def __init__(self, db: Database) -> None:
        self._db = db

    def acquire(self, name: str, ttl: int = TTL_MICROS, driver: str = "") -> Lease:
        """Takes the lease if it is free, has run out, or its holder on this machine is dead."""

        def work() -> Lease:
            held = self.get(name)
            left = 0.0 if held is None else (held.expires - self._db.now()) / 1e6
            if held is not None and left > 0 and held.alive:
                raise StoreError("STORE.IN_USE", store=self._db.root, owner=held.owner, seconds=round(left, 1))
            return self._write(name, 1 if held is None else held.token + 1, ttl, driver)

        return self._db.transact(work, durable=True)

    def take(self, seen: Held, ttl: int, driver: str) -> Lease | None:
        """Takes a lease that was seen to be free; None if it has changed since."""

        def work() -> Lease | None:
            return self._write(seen.name, seen.token + 1, ttl, driver) if self.get(seen.name) == seen else None

        return self._db.transact(work, durable=True)

    def join(self, app: str, driver: str, ttl: int = TTL_MICROS) -> Lease:
        """The lease of a driver, whose row goes with it: a number that no earlier one of this name had."""

        def work() -> Lease:
            held = self.get(driver_lease(app, driver))
            if held is not None and held.alive and held.expires > self._db.now():
                left = round((held.expires - self._db.now()) / 1e6, 1)
                raise StoreError("STORE.DRIVER_THERE", driver=driver, owner=held.owner, seconds=left)
            token = max(self._db.now(), 0 if held is None else held.token + 1)
            return self._write(driver_lease(app, driver), token, ttl, driver)

        return self._db.transact(work, durable=True)

    def _write(self, name: str, token: int, ttl: int, driver: str) -> Lease:
        self._db.execute(
            f"""INSERT INTO leases ({_HELD}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name)
                DO UPDATE SET owner = excluded.owner, token = excluded.token, expires = excluded.expires,
                              ttl = excluded.ttl, driver = excluded.driver""",
            name, _owner(), token, self._db.now() + ttl, ttl, driver,
        )  # fmt: skip
        return Lease(name, token, ttl)

    @transactional
    def renew(self, lease: Lease) -> None:
        expires = self._db.now() + lease.ttl
        if not self._db.execute(
            "UPDATE leases SET expires = ? WHERE name = ? AND token = ?", expires, lease.name, lease.token
        ):
            raise StoreError("STORE.FENCED")

    def release(self, lease: Lease, finished: bool = False) -> None:
        """``finished``: nothing is left to do, nobody has to take it."""
        if lease.name.startswith(DRIVER):
            self._db.execute("DELETE FROM leases WHERE name = ? AND token = ?", lease.name, lease.token)
            return
        self._db.execute(
            "UPDATE leases SET expires = ? WHERE name = ? AND token = ?",
            FINISHED if finished else RELEASED, lease.name, lease.token,
        )  # fmt: skip

    def expel(self, seen: Held) -> bool:
        """Ends a driver that was seen to be gone: it can commit nothing more. False if it has changed since."""
        return bool(
            self._db.execute(
                "DELETE FROM leases WHERE name = ? AND token = ? AND expires = ?", seen.name, seen.token, seen.expires
            )
        )

    def check(self, lease: Lease) -> None:
        """Inside a transaction: fails if another process has taken the lease since."""
        if not self._db.query("SELECT 1 FROM leases WHERE name = ? AND token = ?", lease.name, lease.token):
            raise StoreError("STORE.FENCED")

    def get(self, name: str) -> Held | None:
        rows = self._db.query(f"SELECT {_HELD} FROM leases WHERE name = ?", name)
        return Held(*rows[0]) if rows else None

    def drivers(self) -> list[Held]:
        """Of all apps, those that were not expelled."""
        rows = self._db.query(f"SELECT {_HELD} FROM leases ORDER BY name")
        return [held for held in (Held(*row) for row in rows) if held.name.startswith(DRIVER)]

    def drivers_of(self, app: str) -> dict[str, Held]:
        """By name."""
        return {held.driver: held for held in self.drivers() if held.name == driver_lease(app, held.driver)}

    def leader(self, app: str) -> str:
        """The name of the driver that leads the app, or led it last."""
        held = self.get(app_lease(app))
        return "" if held is None else held.driver

    def taken(self, name: str) -> int:
        """How often the lease was taken."""
        rows = self._db.query("SELECT token FROM leases WHERE name = ?", name)
        return int(rows[0][0]) if rows else 0

    def holders(self) -> dict[str, str]:
        """Lease names with a live holder."""
        rows = self._db.query("SELECT name, owner FROM leases WHERE expires > ?", self._db.now())
        return {name: owner for name, owner in rows if _alive(owner)}

    def left(self, held: Held) -> float:
        """Seconds until it runs out."""
        return max(0.0, (held.expires - self._db.now()) / 1e6)


DRIVER = "driver "


def app_lease(app: str) -> str:
    return f"app {app}"


def driver_lease(app: str, driver: str) -> str:
    return f"{DRIVER}{app}/{driver}"


class Observer:
    """Tells which leases have run out by what it has seen of them itself: one that is renewed does not, whatever the
    wall clocks say, and one that is not renewed does, even if they were set back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[tuple[int, int], float]] = {}

    def is_free(self, held: Held) -> bool:
        """Given back, its holder gone from this machine, or not renewed for as long as it holds."""
        now, mark = self._clock(), (held.token, held.expires)
        before, since = self._seen.get(held.name, (None, now))
        if before != mark:
            since = now
        self._seen[held.name] = (mark, since)
        return held.given_back or not held.alive or now - since >= held.ttl / 1e6


def _owner() -> str:
    return f"process {os.getpid()} on {socket.gethostname()} (started {_started(psutil.Process()):.2f} s after boot)"


def _started(process: psutil.Process) -> float:
    """What is counted from 1970 differs between processes when the clock is set."""
    return float(process.create_time() - psutil.boot_time())


def _alive(owner: str) -> bool:
    words = owner.split()
    if words[3] != socket.gethostname():
        return True
    try:
        process = psutil.Process(int(words[1]))
        same = f"{_started(process):.2f}" == words[5].rstrip(")")
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
