"""Global snapshots of an app: a barrier in every stream, and the epoch after which each vertex had just passed it.

The barrier in a stream is a mark: so many events, and the stream's time then. Of streams that come from outside the
app it is taken when the snapshot begins; of the others it is where their vertex had passed its own barriers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from waterclock.catalog.database import Database, transactional
from waterclock.catalog.epochs import Epochs, Vertex
from waterclock.catalog.streams import Streams
from waterclock.errors import StoreError

IN_FLIGHT = 2
"""So many snapshots of an app may be on their way, unless it says otherwise."""
_SNAPSHOT = "id, app, name, requested, barrier, parts, state, finished"


@dataclass(frozen=True)
class Part:
    """Of one vertex: its snapshot after ``epoch``, and with that the barrier in its output."""

    epoch: int
    output_end: int
    cti: int


@dataclass(frozen=True)
class GlobalSnapshot:
    id: int
    app: str
    name: str | None
    """One with a name is kept until it is removed."""
    requested: int
    """In microseconds, as ``finished``."""
    barrier: dict[str, tuple[int, int]]
    """In the streams from outside: next number and CTI."""
    parts: dict[str, Part]
    """By vertex."""
    state: str
    """pending, complete, abandoned"""
    finished: int | None

    @property
    def label(self) -> str:
        return repr(self.name) if self.name is not None else str(self.id)

    def mark(self, stream: str) -> tuple[int, int] | None:
        """The barrier in a stream, if it is known yet."""
        part = self.parts.get(stream)
        return (part.output_end, part.cti) if part is not None else self.barrier.get(stream)


class Snapshots:
    def __init__(self, db: Database, epochs: Epochs, streams: Streams) -> None:
        self._db = db
        self._epochs = epochs
        self._streams = streams

    @transactional
    def begin(
        self, app: str, name: str | None = None, most: int = IN_FLIGHT, between_epochs: bool = False
    ) -> GlobalSnapshot | None:
        """Puts the barrier where the streams end now; None, and nothing done, if ``most`` are on their way.

        ``between_epochs``: sooner, if epochs end there anyway that are already written down.
        """
        if len(self.pending(app)) >= most:
            return None
        for other in self._found("WHERE name = ?", name):
            if other.state != "abandoned":
                raise StoreError("STORE.SNAPSHOT_THERE", name=name, app=other.app)
            self.remove([other.id])
        vertices = [vertex for vertex in self._epochs.vertices() if vertex.app == app]
        marks, made = self._streams.marks(), {vertex.name for vertex in vertices}
        barrier = {stream: marks[stream] for vertex in vertices for stream in vertex.inputs if stream not in made}
        if between_epochs:
            barrier = self._between_epochs(app, vertices) or barrier
        number = 1 + self._db.query("SELECT coalesce(max(id), 0) FROM snapshots")[0][0]
        self._db.execute(
            f"INSERT INTO snapshots ({_SNAPSHOT}) VALUES (?, ?, ?, ?, ?, '{{}}', 'pending', NULL)",
            number, app, name, self._db.now(), json.dumps(barrier, sort_keys=True),
        )  # fmt: skip
        return self.get(number)

    def _between_epochs(self, app: str, vertices: list[Vertex]) -> dict[str, tuple[int, int]] | None:
        """Where the epochs end that read from outside and are written down: a barrier there cuts none short.

        Each vertex must come to all of its barriers with that very epoch, for the next one may be planned already.
        None where that is not so.
        """
        made = {vertex.name for vertex in vertices}
        readers = [vertex for vertex in vertices if not made.issuperset(vertex.inputs)]
        if any(vertex.name not in each.parts for each in self.pending(app) for vertex in readers):
            return None  # an earlier barrier is further on
        found: dict[str, tuple[int, int]] = {}
        for vertex in readers:
            intent = self._epochs.pending(vertex.name)
            if intent is None or not made.isdisjoint(vertex.inputs):
                return None
            for stream, taken in intent.inputs.items():
                if found.setdefault(stream, (taken.end, taken.new)) != (taken.end, taken.new):
                    return None
        return found

    def get(self, number: int) -> GlobalSnapshot | None:
        return next(iter(self._found("WHERE id = ?", number)), None)

    def all(self) -> list[GlobalSnapshot]:
        return self._found("")

    def of(self, app: str) -> list[GlobalSnapshot]:
        """The oldest first."""
        return self._found("WHERE app = ?", app)

    def pending(self, app: str) -> list[GlobalSnapshot]:
        return self._found("WHERE app = ? AND state = 'pending'", app)

    def retained(self) -> list[GlobalSnapshot]:
        """Those whose parts are needed, or will be."""
        return self._found("WHERE state <> 'abandoned'")

    def part_epochs(self) -> dict[str, set[int]]:
        """By vertex: the epochs whose state retained snapshots need."""
        found: dict[str, set[int]] = {}
        for snapshot in self.retained():
            for vertex, part in snapshot.parts.items():
                found.setdefault(vertex, set()).add(part.epoch)
        return found

    def held(self) -> dict[str, int]:
        """By vertex: the oldest epoch that a retained snapshot needs."""
        return {vertex: min(epochs) for vertex, epochs in self.part_epochs().items()}

    @transactional
    def add_part(self, number: int, vertex: str, part: Part) -> None:
        """Nothing is done if the snapshot is no longer pending."""
        found = self.get(number)
        if found is not None and found.state == "pending":
            parts = {name: asdict(each) for name, each in (found.parts | {vertex: part}).items()}
            text = json.dumps(parts, sort_keys=True)
            self._db.execute("UPDATE snapshots SET parts = ? WHERE id = ?", text, number)

    def abandon(self, vertex: str, after: int, before: int) -> None:
        """Those whose state was lost before it was saved: with a part of the vertex in between."""
        for each in self._found("WHERE state = 'pending'"):
            if vertex in each.parts and after < each.parts[vertex].epoch < before:
                self.finish(each.id, "abandoned")

    def finish(self, number: int, state: str) -> None:
        """``complete`` or ``abandoned``; once is enough."""
        self._db.execute(
            "UPDATE snapshots SET state = ?, finished = ? WHERE id = ? AND state = 'pending'",
            state, self._db.now(), number,
        )  # fmt: skip

    @transactional
    def remove(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._db.execute("DELETE FROM snapshots WHERE id = ?", number)

    def now(self) -> int:
        """By the clock that ``requested`` goes by."""
        return self._db.now()

    def _found(self, where: str, *values: object) -> list[GlobalSnapshot]:
        rows = self._db.query(f"SELECT {_SNAPSHOT} FROM snapshots {where} ORDER BY id", *values)
        return [
            GlobalSnapshot(
                number, app, name, requested,
                {stream: (seq, cti) for stream, (seq, cti) in json.loads(barrier).items()},
                {vertex: Part(**part) for vertex, part in json.loads(parts).items()},
                state, finished,
            )
            for number, app, name, requested, barrier, parts, state, finished in rows
        ]  # fmt: skip
