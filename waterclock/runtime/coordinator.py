"""The epoch coordinator of one vertex: a pure state machine. Events in, instructions out; no clock, no I/O.

    idle ──Offered──▶ Record, Execute ──Executed──▶ Commit (with the next intent, if there is work) ──Committed──▶ ...

An epoch takes what is there, at once when there is work, bounded by ``max_rows`` per input. A recorded intent is
executed as it stands; after a failure the coordinator halts and the intent waits in the catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from waterclock.catalog import Intent, Range, Snapshot
from waterclock.optimizer.parallelism import Tasks
from waterclock.time import BEGINNING


@dataclass(frozen=True)
class Offer:
    """How far an input could be taken now: the events below ``end``, and its time then."""

    end: int
    cti: int


Splitting = Callable[[Mapping[str, int], Mapping[str, int]], Tasks]
"""Rows that an epoch takes of each input, and those that were counted until now: how many tasks it gets."""


# -- events ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recovered:
    """At start: the newest snapshot, and the next recorded intent that was not committed."""

    snapshot: Snapshot
    pending: Intent | None


@dataclass(frozen=True)
class Offered:
    offers: dict[str, Offer]


@dataclass(frozen=True)
class Executed:
    """The step ran; ``offers`` as they are now, so that the next intent goes into the same transaction."""

    offers: dict[str, Offer]


@dataclass(frozen=True)
class Corrected:
    """The step ran, but a promise of its intent did not hold: this one is recorded instead."""

    intent: Intent


@dataclass(frozen=True)
class Committed:
    snapshot: Snapshot
    pending: Intent | None
    """A recorded intent behind the committed one, while a rollback is made good."""


@dataclass(frozen=True)
class Failed:
    pass


@dataclass(frozen=True)
class StopRequested:
    """No new epoch; the one that runs is finished and committed."""


Event = Recovered | Offered | Executed | Corrected | Committed | Failed | StopRequested

# -- instructions ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    intent: Intent


@dataclass(frozen=True)
class Execute:
    intent: Intent


@dataclass(frozen=True)
class Commit:
    intent: Intent
    following: Intent | None


@dataclass(frozen=True)
class Halt:
    pass


Instruction = Record | Execute | Commit | Halt


class InvalidTransition(Exception):
    def __init__(self, state: str, event: Event, story: list[str]) -> None:
        super().__init__(f"{type(event).__name__} while {state}; story: {' > '.join(story[-12:])}")


@dataclass
class Coordinator:
    inputs: tuple[str, ...]
    split: Splitting
    state: str = "new"
    """new, idle, running, committing, halted"""
    snapshot: Snapshot = field(default_factory=Snapshot)
    """After the last committed epoch."""
    current: Intent | None = None
    """The recorded intent in hand: set exactly while running or committing."""
    following: Intent | None = None
    """Recorded together with the commit of ``current``: set only while committing."""
    stopping: bool = False
    filters: tuple[int, ...] = ()
    """That hold from the next intent on."""
    story: list[str] = field(default_factory=list)

    def handle(self, event: Event) -> list[Instruction]:
        self.story.append(f"{self.state}+{type(event).__name__}")
        del self.story[:-50]
        match self.state, event:
            case "new", Recovered(snapshot, pending):
                self.snapshot = snapshot
                return self._next(pending)
            case "idle", Offered(offers):
                intent = None if self.stopping else self._cut(self.snapshot, offers)
                if intent is None:
                    return []
                self.current, self.state = intent, "running"
                return [Record(intent), Execute(intent)]
            case "running", Executed(offers):
                assert self.current is not None
                self.following = self.preview(offers)
                self.state = "committing"
                return [Commit(self.current, self.following)]
            case "running", Corrected(intent):
                self.current = intent
                return [Execute(intent)]
            case "committing", Committed(snapshot, pending):
                self.snapshot = snapshot
                following, self.following = self.following, None
                return self._next(pending or following)
            case (("running" | "committing"), Failed()):
                self.current, self.following, self.state = None, None, "halted"
                return [Halt()]
            case _, StopRequested():
                self.stopping = True
                return [Halt()] if self.state == "idle" else []
            case _:
                raise InvalidTransition(self.state, event, self.story)

    def preview(self, offers: dict[str, Offer]) -> Intent | None:
        """What would follow the intent in hand if that were all there is."""
        assert self.current is not None
        if self.stopping:
            return None
        after = {name: Offer(r.end, r.new) for name, r in self.current.inputs.items()}
        return self._cut(self._ahead(self.current, after), offers)

    def validate(self) -> None:
        """The invariants of the attributes; tests call it after every event."""
        assert (self.current is not None) == (self.state in ("running", "committing"))
        assert self.following is None or self.state == "committing"
        if self.current is not None:
            assert self.current.epoch == self.snapshot.epoch + 1
            for name, taken in self.current.inputs.items():
                assert taken.start == self.snapshot.positions.get(name, 0)
                assert taken.end >= taken.start
                assert taken.new >= taken.old

    def _next(self, pending: Intent | None) -> list[Instruction]:
        self.current = pending
        if pending is None:
            self.state = "idle"
            return [Halt()] if self.stopping else []
        # A recorded intent is executed even while stopping: it may hold work that others wait for.
        self.state = "running"
        return [Execute(pending)]

    def _ahead(self, intent: Intent, after: dict[str, Offer]) -> Snapshot:
        positions = self.snapshot.positions | {name: offer.end for name, offer in after.items()}
        ctis = self.snapshot.ctis | {name: offer.cti for name, offer in after.items()}
        return Snapshot(epoch=intent.epoch, positions=positions, ctis=ctis)

    def _cut(self, snapshot: Snapshot, offers: dict[str, Offer]) -> Intent | None:
        inputs: dict[str, Range] = {}
        for name in self.inputs:
            start, old = snapshot.positions.get(name, 0), snapshot.ctis.get(name, BEGINNING)
            offer = offers.get(name, Offer(start, old))
            inputs[name] = Range(start, max(start, offer.end), old, max(old, offer.cti))
        rows = {name: taken.end - taken.start for name, taken in inputs.items()}
        if not any(rows.values()) and all(taken.new == taken.old for taken in inputs.values()):
            return None
        tasks = self.split(rows, self.snapshot.flows)
        return Intent(snapshot.epoch + 1, inputs, tasks.readers, tasks.parts, self.filters)
