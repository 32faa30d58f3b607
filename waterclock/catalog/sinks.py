"""How far each output was delivered. The epoch range in hand is written down first, so it is repeated exactly."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from waterclock.catalog import counters
from waterclock.catalog.database import Database


@dataclass(frozen=True)
class Delivery:
    delivered: int
    """The last epoch that was delivered."""
    pending: int | None
    """The last epoch of the delivery in hand."""
    position: Any
    """What the sink said of itself after the last delivery, such as a file's length."""
    counters: dict[str, int] = field(default_factory=dict)
    """Deliveries that were made again, and that failed."""


class Sinks:
    def __init__(self, db: Database) -> None:
        self._db = db

    def get(self, name: str) -> Delivery:
        rows = self._db.query("SELECT delivered, pending, position, counters FROM sinks WHERE name = ?", name)
        if not rows:
            self._db.execute(
                "INSERT INTO sinks (name, delivered, position) VALUES (?, -1, 'null') ON CONFLICT DO NOTHING", name
            )
            return Delivery(-1, None, None)
        delivered, pending, position, counted = rows[0]
        return Delivery(delivered, pending, json.loads(position), json.loads(counted))

    def delivered(self) -> dict[str, int]:
        return {name: epoch for name, epoch in self._db.query("SELECT name, delivered FROM sinks")}

    def count(self, name: str, numbers: dict[str, int]) -> None:
        counters.add(self._db, "sinks", name, numbers)

    def failed(self, name: str, epoch: int) -> None:
        counters.failed(self._db, "sinks", name, epoch)

    def begin(self, name: str, epoch: int) -> None:
        self._db.execute("UPDATE sinks SET pending = ? WHERE name = ?", epoch, name)

    def finish(self, name: str, epoch: int, position: Any) -> None:
        self._db.execute(
            "UPDATE sinks SET delivered = ?, pending = NULL, position = ? WHERE name = ?",
            epoch,
            json.dumps(position),
            name,
        )
