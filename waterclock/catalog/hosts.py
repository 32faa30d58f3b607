"""Which drivers run which vertices of an app. Several may run one: the first commit of an epoch wins."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from waterclock.catalog.database import Database, transactional


@dataclass(frozen=True)
class Hosting:
    vertex: str
    hosts: tuple[str, ...]
    """Names of drivers; none: whoever leads the app."""
    moving: str | None
    """The one among them that is to run it alone as soon as it can."""
    copies: int
    """How many drivers are to run it, if they are there."""

    def drivers(self, leader: str, there: Collection[str]) -> set[str]:
        """Those of the drivers that are there which run it. What nobody else can run, the leader does."""
        chosen = {name for name in self.hosts if name in there} or {leader}
        others = [name for name in sorted(there) if name not in chosen]
        return chosen | set(others[: max(0, self.copies - len(chosen))])


class Hosts:
    def __init__(self, db: Database) -> None:
        self._db = db

    def all(self, app: str) -> dict[str, Hosting]:
        rows = self._db.query("SELECT name, hosts, moving, strategy FROM vertices WHERE app = ? ORDER BY name", app)
        return {
            name: Hosting(name, tuple(json.loads(hosts or "[]")), moving, _copies(strategy))
            for name, hosts, moving, strategy in rows
        }

    def set(self, vertex: str, hosts: Sequence[str], moving: str | None = None) -> None:
        told = json.dumps(list(hosts)) if hosts else None
        self._db.execute("UPDATE vertices SET hosts = ?, moving = ? WHERE name = ?", told, moving, vertex)

    @transactional
    def moved(self, vertex: str, driver: str, leads: bool) -> bool:
        """The driver runs it alone from now on, if it still is to move there."""
        told = None if leads else json.dumps([driver])
        return bool(
            self._db.execute(
                "UPDATE vertices SET hosts = ?, moving = NULL WHERE name = ? AND moving = ?", told, vertex, driver
            )
        )


def _copies(strategy: str | None) -> int:
    return int(json.loads(strategy).get("copies", 1)) if strategy else 1
