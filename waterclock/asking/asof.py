"""From a time, an epoch or a snapshot to one cut through all streams of a store: so many events of each count.

What cannot be told exactly, because it was not kept, is said and never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from waterclock.catalog import Catalog, GlobalSnapshot, Snapshot, Vertex
from waterclock.catalog.arrivals import Mark
from waterclock.errors import ConfigError, StoreError, WaterclockError, did_you_mean
from waterclock.plan.guarded import dead_stream
from waterclock.time import BEGINNING, FOREVER, MINUTE, SECOND, Instant, instant, show_instant

_EPOCH = re.compile(r"epoch\s+(\d+)\s+of\s+(\S+)", re.IGNORECASE)
_SNAPSHOT = re.compile(r"snapshot\s+(.+)", re.IGNORECASE)


@dataclass(frozen=True)
class AsOf:
    """What was asked for: one of these, or none for now."""

    time: int | None = None
    """By the clock: what was committed then."""
    epoch: tuple[str, int] | None = None
    """Of a vertex: what it and all others had read and made when it had done that epoch."""
    snapshot: str | None = None
    """A global snapshot by its name or number."""

    @staticmethod
    def of(asked: AsOf | Instant | None) -> AsOf:
        """As people write it: ``2026-11-18T09:00``, ``epoch 7 of per_user``, ``snapshot before-upgrade``."""
        if asked is None or isinstance(asked, AsOf):
            return asked or AsOf()
        if isinstance(asked, str):
            if asked.strip().lower() == "now":
                return AsOf()
            if match := _EPOCH.fullmatch(asked.strip()):
                return AsOf(epoch=(match[2], int(match[1])))
            if match := _SNAPSHOT.fullmatch(asked.strip()):
                return AsOf(snapshot=match[1].strip("'"))
            try:
                datetime.fromisoformat(asked)
            except ValueError:
                fix = "Write a time ('2026-11-18T09:00'), 'epoch 7 of NAME', 'snapshot NAME' or 'now'."
                raise ConfigError("CONFIG.BAD_OPTION", option="as_of", value=asked, fix=fix) from None
        return AsOf(time=instant(asked))

    @property
    def label(self) -> str:
        if self.time is not None:
            return show_instant(self.time)
        if self.epoch is not None:
            return f"epoch {self.epoch[1]} of {self.epoch[0]!r}"
        return "now" if self.snapshot is None else f"snapshot {self.snapshot!r}"

    @property
    def is_now(self) -> bool:
        return self == AsOf()


@dataclass
class Cut:
    """Of every stream: the events that count, and its time. Of every vertex: the epoch after which its state counts."""

    asked: AsOf
    _marks: dict[str, Mark] = field(default_factory=dict)
    _epochs: dict[str, int] = field(default_factory=dict)
    _untold: dict[str, WaterclockError] = field(default_factory=dict)
    """Why a stream, or the state of a vertex (``state.NAME``), is not known."""

    def mark(self, stream: str) -> Mark:
        if stream in self._untold:
            raise self._untold[stream]
        return self._marks[stream]

    def epoch(self, vertex: str) -> int:
        if f"state.{vertex}" in self._untold:
            raise self._untold[f"state.{vertex}"]
        return self._epochs[vertex]

    @property
    def marks(self) -> dict[str, Mark]:
        """Of the streams that can be told."""
        return {stream: mark for stream, mark in self._marks.items() if stream not in self._untold}


def resolve(
    catalog: Catalog, asked: AsOf, streams: Collection[str] | None = None, states: Collection[str] | None = None
) -> Cut:
    """The cut, all of it read at one moment. By a time only what is wanted is looked up; else all there is."""
    if asked.time is not None and asked.time > catalog.now() - MINUTE:
        catalog.transact(lambda: None)  # who has begun a commit by then has ended it
    return catalog.read(lambda: _Resolving(catalog, asked).cut(streams, states))


class _Resolving:
    def __init__(self, catalog: Catalog, asked: AsOf) -> None:
        self.catalog = catalog
        self.asked = asked
        self.vertices = {vertex.name: vertex for vertex in catalog.epochs.vertices()}
        self.found = Cut(asked)

    def cut(self, streams: Collection[str] | None, states: Collection[str] | None) -> Cut:
        if self.asked.time is not None:
            self._by_time(self.asked.time, streams, states)
        elif self.asked.epoch is not None:
            self._by_epoch(*self.asked.epoch)
        elif self.asked.snapshot is not None:
            self._by_snapshot(self.asked.snapshot)
        else:
            for name, (seq, cti) in self.catalog.streams.marks().items():
                self.found._marks[name] = Mark(seq, self._finite(name, cti))
            self.found._epochs = {name: vertex.epoch for name, vertex in self.vertices.items()}
        self._check(self.catalog.streams.names() if streams is None else streams)
        return self.found

    def _check(self, streams: Iterable[str]) -> None:
        """What is there now reaches as far as the cut."""
        for name in streams:
            mark = self.found._marks.get(name)
            if mark is None:
                if name not in self.found._untold:
                    self._not_told(name, "it has nothing to do with that")
            elif mark.seq > self.catalog.streams.marks()[name][0]:
                self._not_told(name, "it was lost and is being computed again", "Ask again when the app runs.")

    def _not_told(self, name: str, why: str, fix: str = "") -> None:
        fix = fix or "Ask for a time, which tells of every stream: AS OF '2026-11-18T09:00:00'."
        error = StoreError("ASOF.NOT_TOLD", label=self.asked.label, stream=name, why=why, fix=fix)
        self.found._untold[name] = error

    def _finite(self, stream: str, cti: int) -> int:
        return self.catalog.streams.last_finite_cti(stream) if cti == FOREVER else cti

    # -- a time --------------------------------------------------------------------------------------------

    def _by_time(self, time: int, streams: Collection[str] | None, states: Collection[str] | None) -> None:
        now, store = self.catalog.now(), self.catalog.root
        if time > now:
            raise ConfigError("ASOF.FUTURE", time=show_instant(time), now=show_instant(now))
        arrivals = self.catalog.streams.arrivals
        first = arrivals.earliest()
        if first is None or time < first:
            shown = "no time yet" if first is None else show_instant(first)
            raise StoreError("ASOF.BEFORE", store=store, time=show_instant(time), first=shown)
        for name in self.catalog.streams.names() if streams is None else streams:
            mark = arrivals.at(name, time)
            if mark is not None:
                self.found._marks[name] = mark
                continue
            row = self.catalog.streams.get(name)
            earliest = arrivals.earliest(name)
            if row.first > 0 and (earliest is None or time < earliest):
                self.found._untold[name] = trimmed(name, self.asked, row.first)
            else:
                before = time // SECOND * SECOND
                values = {"before": show_instant(before), "after": show_instant(before + SECOND)}
                self.found._untold[name] = StoreError("ASOF.BETWEEN", stream=name, time=show_instant(time), **values)
        for name in self.vertices if states is None else states:
            self._choose(self.vertices[name], lambda snapshot: snapshot.committed <= time)

    # -- epochs --------------------------------------------------------------------------------------------

    def _choose(self, vertex: Vertex, fits: Callable[[Snapshot], bool]) -> Snapshot | None:
        """The newest known snapshot that fits, all before which fit too; None, with the reason noted, if none does."""
        known = self.catalog.epochs.history(vertex.name)
        chosen: Snapshot | None = None
        for _, snapshot in known:
            if not fits(snapshot):
                break
            chosen = snapshot
        if chosen is None and (not known or known[0][0] == 0):
            chosen = self.catalog.epochs.snapshot(vertex.name, -1)  # it had done nothing yet
        if chosen is None:
            self.found._untold[f"state.{vertex.name}"] = self._no_epoch(vertex, f"What {vertex.name!r} was at "
                f"{self.asked.label} is no longer known")  # fmt: skip
            return None
        self.found._epochs[vertex.name] = chosen.epoch
        return chosen

    def _no_epoch(self, vertex: Vertex, what: str) -> StoreError:
        known = [epoch for epoch, _ in self.catalog.epochs.history(vertex.name)]
        shown = f"Known epochs: {known[0]} to {known[-1]}." if known else "It has done no epoch yet."
        return StoreError("ASOF.NO_EPOCH", what=what, known=shown)

    def _by_epoch(self, name: str, epoch: int) -> None:
        if name not in self.vertices:
            raise _unknown("STORE.NO_OUTPUT", name, list(self.vertices), self.catalog)
        vertex = self.vertices[name]
        snapshot = self.catalog.epochs.snapshot(name, epoch)
        if epoch > vertex.epoch:
            raise self._no_epoch(vertex, f"{name!r} has not done an epoch {epoch}")
        if snapshot.epoch != epoch:
            raise self._no_epoch(vertex, f"Epoch {epoch} of {name!r} is no longer known")
        self.found._epochs[name] = epoch
        self._made(name, snapshot)
        self._read(vertex, snapshot)
        self._upstream(vertex, {name})
        waiting = [each for each in self.vertices.values() if each.name not in self.found._epochs]
        while waiting:
            undecided = {each.name for each in waiting}
            # In the order of the streams: first those whose inputs are decided; a circle is entered anywhere.
            following = next((v for v in waiting if not (set(v.inputs) - {v.name}) & undecided), waiting[0])
            waiting.remove(following)
            self._beside(following)
        self._tables()

    def _made(self, vertex: str, snapshot: Snapshot) -> None:
        self.found._marks[vertex] = Mark(snapshot.output_end, self._finite(vertex, snapshot.cti))
        self.found._marks[dead_stream(vertex)] = Mark(snapshot.dead_end, BEGINNING)

    def _read(self, vertex: Vertex, snapshot: Snapshot) -> None:
        """What it had read is what was there, where nothing else is known."""
        for stream in vertex.inputs:
            cti = self._finite(stream, snapshot.ctis.get(stream, BEGINNING))
            self.found._marks.setdefault(stream, Mark(snapshot.positions.get(stream, 0), cti))

    def _upstream(self, vertex: Vertex, seen: set[str]) -> None:
        """Those whose output it has read: as of the epoch that had made no more than that."""
        for name in vertex.inputs:
            above = self.vertices.get(name)
            if above is None or name in seen:
                continue
            seen.add(name)
            end = self.found._marks[name].seq
            chosen = self._choose(above, partial(_made_upto, end))
            if chosen is not None:
                known = self.catalog.epochs.history(name, chosen.epoch)
                # What was read of an epoch that was not read to its end came of all that the epoch had read.
                made = chosen if chosen.output_end == end or not known else known[0][1]
                self.found._marks.setdefault(dead_stream(name), Mark(chosen.dead_end, BEGINNING))
                self._read(above, made)
                self._upstream(above, seen)

    def _beside(self, vertex: Vertex) -> None:
        """Others: as of the newest epoch that had read no more than what counts."""
        known = {
            name: self.found._marks[name].seq
            for name in vertex.inputs
            if name in self.found._marks and name != vertex.name
        }
        if not known:
            why = f"{vertex.name!r} reads nothing that it has to do with"
            self._not_told(vertex.name, why)
            self.found._untold[f"state.{vertex.name}"] = self.found._untold[vertex.name]
            return
        chosen = self._choose(vertex, lambda s: all(s.positions.get(name, 0) <= end for name, end in known.items()))
        if chosen is None:
            self.found._untold[vertex.name] = self.found._untold[f"state.{vertex.name}"]
            return
        self._made(vertex.name, chosen)
        self._read(vertex, chosen)

    def _tables(self) -> None:
        """They are there from the start."""
        for name, (seq, cti) in self.catalog.streams.marks().items():
            if name not in self.found._marks and self.catalog.streams.get(name).declaration.static:
                self.found._marks[name] = Mark(seq, self._finite(name, cti))

    # -- snapshots -----------------------------------------------------------------------------------------

    def _by_snapshot(self, asked: str) -> None:
        found = self._snapshot(asked)
        streams = self.catalog.streams.names()
        for name in streams:
            mark = found.mark(name)
            if mark is not None:
                self.found._marks[name] = Mark(mark[0], self._finite(name, mark[1]))
        for vertex, part in found.parts.items():
            snapshot = self.catalog.epochs.snapshot(vertex, part.epoch)
            self.found._marks[dead_stream(vertex)] = Mark(snapshot.dead_end, BEGINNING)
            self.found._epochs[vertex] = part.epoch
        self._tables()
        for name in streams:
            if name not in self.found._marks:
                self._not_told(name, f"it is no stream that the queries of {found.app!r} read or make")
        for vertex in self.vertices.keys() - found.parts.keys():
            self._not_told(f"state.{vertex}", f"it is no query of {found.app!r}")

    def _snapshot(self, asked: str) -> GlobalSnapshot:
        known = self.catalog.snapshots.all()
        found = next((each for each in known if asked in (each.name, str(each.id))), None)
        if found is None:
            names = [each.name or str(each.id) for each in known if each.state == "complete"]
            raise _unknown("STORE.NO_SNAPSHOT", asked, names, self.catalog)
        if found.state == "complete":
            return found
        code = "RUN.SNAPSHOT_PENDING" if found.state == "pending" else "RUN.SNAPSHOT_ABANDONED"
        values = {"when": "yet"} if found.state == "pending" else {}
        raise StoreError(code, label=found.label, app=found.app, **values)


def _made_upto(end: int, snapshot: Snapshot) -> bool:
    return snapshot.output_end <= end


def trimmed(stream: str, asked: AsOf, first: int, since: int | None = None) -> StoreError:
    """``since``: all events are there that start then or later."""
    fix = "" if since is None else f"Ask for what is left: WHERE START() >= TIMESTAMP '{show_instant(since)}'. "
    return StoreError("ASOF.TRIMMED", stream=stream, label=asked.label, first=first, fix=fix)


def _unknown(code: str, name: str, known: list[str], catalog: Catalog) -> StoreError:
    choices, guess = ", ".join(known) or "none", did_you_mean(name, known)
    return StoreError(code, name=name, store=catalog.root, choices=choices, guess=guess)
