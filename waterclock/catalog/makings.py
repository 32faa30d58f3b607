"""With what code and libraries the epochs of a vertex were made: whoever executes them again can tell what changed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from waterclock.catalog.database import Database, transactional


@dataclass(frozen=True)
class Making:
    codes: dict[str, str] = field(default_factory=dict)
    """Functions and classes of the user: name and digest."""
    libraries: dict[str, str] = field(default_factory=dict)
    """What they use and what is always used: module, and its version or a digest of its file."""
    nodes: tuple[str, ...] = ()
    """The stateful nodes in their order: state goes by their identities."""


class Makings:
    def __init__(self, db: Database) -> None:
        self._db = db

    @transactional
    def note(self, vertex: str, epoch: int, making: Making) -> None:
        """Epochs from this one on are made with it."""
        if self.at(vertex, epoch) != making:
            self._db.execute("DELETE FROM makings WHERE vertex = ? AND epoch = ?", vertex, epoch)
            text = json.dumps(asdict(making), sort_keys=True)
            self._db.execute("INSERT INTO makings VALUES (?, ?, ?)", vertex, epoch, text)

    def at(self, vertex: str, epoch: int) -> Making | None:
        """None: it was not noted."""
        rows = self._db.query(
            "SELECT making FROM makings WHERE vertex = ? AND epoch <= ? ORDER BY epoch DESC LIMIT 1", vertex, epoch
        )
        if not rows:
            return None
        found = json.loads(rows[0][0])
        return Making(found["codes"], found["libraries"], tuple(found["nodes"]))
