"""Plays steps on a program: in this process, in a store of its own, by a clock that only steps move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from waterclock import crashpoints
from waterclock.catalog import Catalog
from waterclock.connect.base import Chunk
from waterclock.declared import Declared
from waterclock.errors import ConfigError, WaterclockError, did_you_mean
from waterclock.launch import start
from waterclock.runtime.barriers import Snapshots
from waterclock.runtime.engine import Parts, Worker
from waterclock.runtime.idle import goes_to
from waterclock.runtime.log import StreamLog, StreamReader
from waterclock.testing.steps import Advance, Crash, End, Feed, Step, Wait
from waterclock.time import BEGINNING, FOREVER

REACHED = tuple(place for place in crashpoints.PLACES if place.startswith(("ingest.", "epoch.", "task.", "sync.")))
"""Where a test can crash: it has no sinks, and nothing to compact or to trim."""


def alone(program: Declared, store: Path) -> Declared:
    """The program without what is outside: no sources, no sinks, its catalog in the store."""
    return replace(
        program, store=str(store), catalog=None, metrics_port=None, snapshots=Snapshots(),
        streams={name: (declaration, None) for name, (declaration, _) in program.streams.items()},
        outputs={name: (plan, None) for name, (plan, _) in program.outputs.items()},
    )  # fmt: skip


class Player:
    def __init__(self, program: Declared, folder: Path, epoch_rows: int | None = None) -> None:
        store = folder / "store"
        store.mkdir()
        Catalog.scratch(store).close()  # there, whatever $WATERCLOCK_CATALOG says
        program = alone(program, store)
        self.program = program if epoch_rows is None else replace(program, epoch_rows=epoch_rows)
        self.now: int | None = None
        """The clock, once anything has told a time."""
        self._parts: Parts | None = None
        self._fed: dict[str, int] = {}
        """How many chunks each stream was given: a crash may leave the last one taken or not."""
        self._known: dict[str, tuple[int, int]] = {}
        self._news: dict[str, tuple[int, int]] = {}
        """Of streams with an idle rule: when they last had news, and their time then."""

    # -- steps ---------------------------------------------------------------------------------------------

    def do(self, step: Step, place: str | None = None, settle: bool = True) -> bool:
        """Does a step and computes what follows from it. True if the process died on its way, at ``place``."""
        if isinstance(step, Crash):
            self.close()
            return True
        actions: list[Callable[[], None]] = [lambda: self._take(step)]
        if settle:
            actions.append(self.settle)
        died = False
        if place is not None:
            crashpoints.arm(f"{place}:1", gently=True)
        try:
            while actions:
                try:
                    actions[0]()
                    actions.pop(0)
                except crashpoints.Crash:
                    died = True
                    self.close()
        except WaterclockError:
            self.close()  # what failed is not in memory any more, as after a run that ended with an error
            raise
        finally:
            if place is not None:
                crashpoints.arm(None)
        if settle:
            self._hear()
        return died

    def _take(self, step: Step) -> None:
        """May be done again after a crash in it."""
        if isinstance(step, Feed):
            self._at(step.at)
            log, number = self._log(step.stream), self._fed.get(step.stream, 0) + 1
            if log.row.position != number:
                log.append(Chunk(number, "fed", step.rows, step.rejected))
            self._fed[step.stream] = number
        elif isinstance(step, Advance):
            self._at(step.to)
            for name in step.streams:
                self._log(name).advance(step.to)
        elif isinstance(step, End):
            for name in step.streams:
                self._log(name).advance(FOREVER)
        elif isinstance(step, Wait):
            self._at(step.until)
            self._go_on_by_the_clock(step.until)

    def _at(self, time: int | None) -> None:
        self.now = max((each for each in (self.now, time) if each is not None), default=None)

    def _log(self, name: str) -> StreamLog:
        store = self.open().store
        return StreamLog(store, name, store.lease, clock=lambda: self.now or 0)

    # -- the idle rule -------------------------------------------------------------------------------------

    def _go_on_by_the_clock(self, now: int) -> None:
        for name, (since, time) in self._news.items():
            idle = self.program.streams[name][0].idle
            assert idle is not None
            log = self._log(name)
            target = goes_to(log.row, idle, time, now - since)
            if target is not None:
                log.advance(target)
            self._known[name] = (log.row.next, log.row.cti)

    def _hear(self) -> None:
        """Events and times that came from elsewhere are news."""
        idle = [name for name, (declaration, _) in self.program.streams.items() if declaration.idle is not None]
        marks = self.catalog.streams.marks() if idle else {}
        for name in idle:
            if marks[name] != self._known.get(name, (0, BEGINNING)):
                self._known[name] = marks[name]
                self._news[name] = (self.now or 0, marks[name][1])

    # -- running -------------------------------------------------------------------------------------------

    def open(self) -> Parts:
        """As a process that starts, from what is in the store."""
        if self._parts is None:
            self._parts = start(self.program, "offline").parts
            for vertex in self._parts.vertices:
                vertex.single_threaded = True
        return self._parts

    def settle(self) -> None:
        """Computes all that follows from what is there."""
        parts = self.open()
        workers: list[Worker] = [*parts.imports, *parts.vertices, parts.keeper]
        while sum(worker.turn() for worker in workers):
            pass

    def close(self) -> None:
        """Drops what is in memory; the lease is free, as that of a process that is gone."""
        if self._parts is not None:
            parts, self._parts = self._parts, None
            parts.runner.close()
            parts.store.close()

    # -- looking -------------------------------------------------------------------------------------------

    @property
    def catalog(self) -> Catalog:
        return self.open().store.catalog

    def frame(self, name: str) -> pl.DataFrame:
        row = self.catalog.streams.get(name)
        return StreamReader(self.catalog, name).read(row.first, row.next)

    def time(self, name: str) -> int:
        """Its CTI."""
        return self.catalog.streams.get(name).cti


def check_place(place: str) -> None:
    if place not in REACHED:
        guess = did_you_mean(place, list(REACHED))
        raise ConfigError("TEST.NO_PLACE", place=place, choices=", ".join(REACHED), guess=guess)
