"""Asynchronous barrier snapshots: every vertex passes the same barrier between two epochs, and nobody stops.

A barrier is a number of events that are there already, so passing it is only a matter of catching up. A vertex takes
no more of an input than the barrier lets it until it stands at the barrier of each: that is the alignment of ABS. What
its output has then is the barrier for those who read it. Nothing in transit is stored, and no state is copied: a part
of a snapshot is the number of an epoch. A back edge, where a vertex reads what it made, has no barrier: its unread
range is in the vertex's snapshot.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from waterclock import crashpoints
from waterclock.catalog import Catalog, GlobalSnapshot, Part, Snapshot, Vertex
from waterclock.catalog.snapshots import IN_FLIGHT
from waterclock.errors import ConfigError, RunError
from waterclock.runtime.store import Store
from waterclock.time import BEGINNING, SECOND, Duration, micros

REMEMBERED = 10
"""Abandoned snapshots that are still listed."""


@dataclass(frozen=True)
class Snapshots:
    """When an app takes snapshots by itself, and how long they are kept."""

    every: Duration | None = None
    """So long after the last one was begun, if something was computed since ..."""
    epochs: int | None = None
    """... or when a vertex has done so many epochs since. Without either, none is taken."""
    keep: int = 2
    """The newest complete ones without a name are kept; those with a name always are."""
    in_flight: int = IN_FLIGHT
    """So many may be on their way."""
    timeout: Duration = "60s"
    """One that takes longer, while the app runs, is abandoned."""

    def __post_init__(self) -> None:
        for option in ("every", "timeout"):
            given = getattr(self, option)
            if given is not None and micros(given) <= 0:
                fix = "It must be greater than zero, such as '30s'."
                raise ConfigError("CONFIG.BAD_OPTION", option=f"snapshots.{option}", value=given, fix=fix)
        for option in ("epochs", "keep", "in_flight"):
            given = getattr(self, option)
            if given is not None and given < 1:
                raise ConfigError(
                    "CONFIG.BAD_OPTION", option=f"snapshots.{option}", value=given, fix="It must be at least 1."
                )


LOOK = 0.02
"""Seconds between looks of somebody who waits."""


def begin(catalog: Catalog, app: str, name: str | None, most: int = IN_FLIGHT) -> GlobalSnapshot:
    """One that somebody has asked for."""
    if name is not None and (not name or name.isdigit()):
        fix = "Numbers are given by the store: choose a name with a letter in it."
        raise ConfigError("CONFIG.BAD_OPTION", option="name", value=name, fix=fix)
    begun = catalog.transact(partial(catalog.snapshots.begin, app, name, most), durable=True)
    if begun is None:
        raise RunError("RUN.SNAPSHOTS_PENDING", app=app, number=len(catalog.snapshots.pending(app)))
    return begun


def completed(
    catalog: Catalog, begun: GlobalSnapshot, seconds: float, ended: Callable[[], bool] = lambda: False
) -> GlobalSnapshot:
    """Waits until it is complete; not longer than ``seconds``, nor when the app has ``ended``."""
    deadline = time.monotonic() + seconds
    while True:
        over = ended()  # before the look: what was done before the end counts
        found = catalog.snapshots.get(begun.id)
        if found is None or found.state == "abandoned":
            raise RunError("RUN.SNAPSHOT_ABANDONED", app=begun.app, label=begun.label)
        if found.state == "complete":
            return found
        if over or time.monotonic() > deadline:
            when = "after the end of its run" if over else f"after {seconds:g} s"
            raise RunError("RUN.SNAPSHOT_PENDING", app=begun.app, label=begun.label, when=when)
        time.sleep(LOOK)


class Gate:
    """What barriers mean for one vertex."""

    def __init__(self, catalog: Catalog, vertex: str, inputs: tuple[str, ...]) -> None:
        self._catalog = catalog
        self._vertex = vertex
        self._inputs = tuple(name for name in inputs if name != vertex)
        self._app = next((each.app for each in catalog.epochs.vertices() if each.name == vertex), "")
        self._next: GlobalSnapshot | None = None
        """The next barrier, as of the last look."""

    def limited(self, marks: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
        """The ends of the streams, or the barriers before them.

        Barriers are looked up after the marks were read. So the marks are behind none that becomes known later, and a
        vertex that goes by what this gives never passes one unseen.
        """
        self._next = next(iter(self._ahead()), None)
        if self._next is None:
            return marks
        limited = dict(marks)
        for name in self._inputs:
            barrier = self._next.mark(name)
            if barrier is not None:  # a mark may be before it while a producer makes a rollback good
                limited[name] = min(marks[name][0], barrier[0]), min(marks[name][1], barrier[1])
        return limited

    def is_at_next(self, snapshot: Snapshot) -> bool:
        """As of the last look."""
        return self._next is not None and self._is_at(self._next, snapshot)

    def note(self, snapshot: Snapshot) -> bool:
        """In the transaction that makes it the vertex's newest snapshot, or later: notes the barriers it stands at."""
        passed = False
        for each in self._ahead():  # several, if nothing came between them
            if not self._is_at(each, snapshot):
                break
            part = Part(snapshot.epoch, snapshot.output_end, snapshot.cti)
            self._catalog.snapshots.add_part(each.id, self._vertex, part)
            passed = True
        return passed

    def _ahead(self) -> list[GlobalSnapshot]:
        return [each for each in self._catalog.snapshots.pending(self._app) if self._vertex not in each.parts]

    def _is_at(self, each: GlobalSnapshot, snapshot: Snapshot) -> bool:
        return all(
            each.mark(name) == (snapshot.positions.get(name, 0), snapshot.ctis.get(name, BEGINNING))
            for name in self._inputs
        )


class Barriers:
    """Begins snapshots of an app when they are due, and says when they are complete or take too long."""

    name = "barriers"
    poll = 0.05

    def __init__(self, store: Store, app: str, vertices: list[str], wanted: Snapshots) -> None:
        self._store = store
        self._app = app
        self._vertices = vertices
        self._wanted = wanted
        self._stopping = False
        self._seen: dict[int, float] = {}
        """Since when this process knows those that are pending: while nothing runs nobody is late."""
        complete = [each for each in store.catalog.snapshots.of(app) if each.state == "complete"]
        parts = complete[-1].parts if complete else {}
        self._since = {vertex: part.epoch for vertex, part in parts.items()}
        """The epochs of the vertices when the last one was begun."""

    @property
    def most(self) -> int:
        """That may be on their way."""
        return self._wanted.in_flight

    def request_stop(self) -> None:
        self._stopping = True

    def turn(self) -> bool:
        return any([self._finish(), self._begin()])

    def close(self) -> None:
        """At the end, when the last commits were made durable."""
        self._finish()

    def _finish(self) -> bool:
        snapshots = self._store.catalog.snapshots
        found, now = snapshots.of(self._app), time.monotonic()
        pending = [each for each in found if each.state == "pending"]
        self._seen = {each.id: self._seen.get(each.id, now) for each in pending}
        finished = False
        vertices = self._known() if pending else {}
        for each in pending:
            state = self._state(each, vertices, now - self._seen[each.id])
            if state != "pending":
                if state == "complete":
                    self._save(each)
                finish = partial(snapshots.finish, each.id, state)
                crashpoints.reach("snapshot.before_finish")
                self._store.catalog.transact(finish, self._store.lease, durable=True)
                crashpoints.reach("snapshot.after_finish")
                finished = True
        found = snapshots.of(self._app) if finished else found
        complete = [each.id for each in found if each.state == "complete" and each.name is None]
        abandoned = [each.id for each in found if each.state == "abandoned"]
        old = complete[: -self._wanted.keep] + abandoned[:-REMEMBERED]
        if old:
            self._store.catalog.transact(partial(snapshots.remove, old), self._store.lease)
        return finished

    def _save(self, each: GlobalSnapshot) -> None:
        """Its state, whatever was merged since, and also where a vertex saves none for itself."""
        run_paths = self._store.catalog.epochs.run_paths
        self._store.sync({path for name, part in each.parts.items() for path in run_paths(name, -1, part.epoch)})

    def _state(self, each: GlobalSnapshot, vertices: dict[str, Vertex], age: float) -> str:
        if all(name in each.parts and vertices[name].durable >= each.parts[name].epoch for name in self._vertices):
            return "complete"
        # A stream that the app did not read when this was begun has no barrier.
        read = {name for vertex in vertices.values() for name in vertex.inputs}
        unknown = read - each.barrier.keys() - set(self._vertices)
        return "abandoned" if unknown or age * SECOND > micros(self._wanted.timeout) else "pending"

    def _begin(self) -> bool:
        if self._stopping or (self._wanted.every is None and self._wanted.epochs is None):
            return False
        epochs = {name: vertex.epoch for name, vertex in self._known().items()}
        done = max((epoch - self._since.get(name, -1) for name, epoch in epochs.items()), default=0)
        if not done or not self._due(done):
            return False
        begin = partial(self._store.catalog.snapshots.begin, self._app, None, self._wanted.in_flight, True)
        if self._store.catalog.transact(begin, self._store.lease, durable=True) is None:
            return False
        crashpoints.reach("snapshot.after_begin")
        self._since = epochs
        return True

    def _due(self, done: int) -> bool:
        if self._wanted.epochs is not None and done >= self._wanted.epochs:
            return True
        snapshots = self._store.catalog.snapshots
        last = max((each.requested for each in snapshots.of(self._app)), default=0)
        return self._wanted.every is not None and snapshots.now() - last >= micros(self._wanted.every)

    def _known(self) -> dict[str, Vertex]:
        return {each.name: each for each in self._store.catalog.epochs.vertices() if each.name in self._vertices}
