"""Leases with fencing tokens: one process at a time runs an app, and a replaced one can commit nothing more."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

import psutil

from waterclock.catalog.database import Database, transactional
from waterclock.errors import StoreError

TTL = 10.0
TTL_MICROS = int(TTL * 1e6)


@dataclass(frozen=True)
class Lease:
    name: str
    token: int


class Leases:
    def __init__(self, db: Database) -> None:
        self._db = db

    def acquire(self, name: str) -> Lease:
        """Takes the lease if it is free, has run out, or its holder on this machine is dead."""
        return self._db.transact(lambda: self._acquire(name), durable=True)

    def _acquire(self, name: str) -> Lease:
        now = self._db.now()
        rows = self._db.query("SELECT owner, token, expires FROM leases WHERE name = ?", name)
        token = 1
        if rows:
            owner, last, expires = rows[0]
            left = (expires - now) / 1e6
            if left > 0 and _alive(owner):
                raise StoreError("STORE.IN_USE", store=self._db.root, owner=owner, seconds=round(left, 1))
            token = last + 1
        self._db.execute(
            """INSERT INTO leases VALUES (?, ?, ?, ?) ON CONFLICT (name)
               DO UPDATE SET owner = excluded.owner, token = excluded.token, expires = excluded.expires""",
            name, _owner(), token, now + TTL_MICROS,
        )  # fmt: skip
        return Lease(name, token)

    @transactional
    def renew(self, lease: Lease) -> None:
        expires = self._db.now() + TTL_MICROS
        if not self._db.execute(
            "UPDATE leases SET expires = ? WHERE name = ? AND token = ?", expires, lease.name, lease.token
        ):
            raise StoreError("STORE.FENCED")

    def release(self, lease: Lease) -> None:
        self._db.execute("UPDATE leases SET expires = 0 WHERE name = ? AND token = ?", lease.name, lease.token)

    def check(self, lease: Lease) -> None:
        """Inside a transaction: fails if another process has taken the lease since."""
        if not self._db.query("SELECT 1 FROM leases WHERE name = ? AND token = ?", lease.name, lease.token):
            raise StoreError("STORE.FENCED")

    def taken(self, name: str) -> int:
        """How often the lease was taken."""
        rows = self._db.query("SELECT token FROM leases WHERE name = ?", name)
        return int(rows[0][0]) if rows else 0

    def holders(self) -> dict[str, str]:
        """Lease names with a live holder."""
        rows = self._db.query("SELECT name, owner FROM leases WHERE expires > ?", self._db.now())
        return {name: owner for name, owner in rows if _alive(owner)}


def _owner() -> str:
    return f"process {os.getpid()} on {socket.gethostname()} (started {_started(os.getpid())} s after boot)"


def _started(pid: int) -> str:
    """Since the start of the machine: when the clock is set, both move."""
    boot = psutil.boot_time()
    return f"{psutil.Process(pid).create_time() - boot:.2f}"


def _alive(owner: str) -> bool:
    """False only where this machine can tell that the holder is gone."""
    words = owner.split()
    if words[3] != socket.gethostname():
        return True
    try:
        return _started(int(words[1])) == words[5].rstrip(")")
    except psutil.NoSuchProcess:
        return False
