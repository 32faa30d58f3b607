"""Runs an app: gives turns to its sources, vertices, sinks and keeper, in threads or one after another.

A driver that stands by has vertices alone, and gets the rest when it takes over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from waterclock.catalog import Lease
from waterclock.errors import RunError, WaterclockError
from waterclock.runtime.barriers import Barriers
from waterclock.runtime.delivery import DeliveryWorker
from waterclock.runtime.drivers import SUCCEED, Assignment, Succession
from waterclock.runtime.idle import IdleClock
from waterclock.runtime.imports import TimeImport
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.metrics.figures import Status
from waterclock.runtime.metrics.serve import MetricsServer
from waterclock.runtime.metrics.watch import EVERY, Watch, log
from waterclock.runtime.pump import Pump
from waterclock.runtime.runner import Runner
from waterclock.runtime.store import Store
from waterclock.runtime.vertex import POLL, VertexWorker


class Worker(Protocol):
    name: str
    poll: float
    """Seconds between looks for what other processes did; this process rings the bell."""

    def turn(self) -> bool: ...
    def request_stop(self) -> None: ...


@dataclass(frozen=True)
class Parts:
    """Everything of an app that runs."""

    store: Store
    runner: Runner
    sources: list[str]
    watch: Watch
    vertices: list[VertexWorker]
    keeper: Keeper
    barriers: Barriers
    assignment: Assignment | None = None
    """None where no other driver can be: in mode offline."""
    pumps: list[Pump] = field(default_factory=list)
    clocks: list[IdleClock] = field(default_factory=list)
    imports: list[TimeImport] = field(default_factory=list)
    deliveries: list[DeliveryWorker] = field(default_factory=list)

    @property
    def shared(self) -> list[Worker]:
        """What every driver has."""
        return [*self.vertices, *([self.assignment] if self.assignment is not None else [])]

    @property
    def leading(self) -> list[Worker]:
        """What only the driver has that leads the app."""
        return [*self.pumps, *self.clocks, *self.imports, *self.deliveries, self.keeper, self.barriers]


@dataclass(frozen=True)
class StandBy:
    succession: Succession
    lead: Callable[[Lease], Parts]
    """What there is to do once the lease was taken: all parts of the app."""


class Engine:
    """States: standby, running, draining, stopped, failed."""

    def __init__(
        self, app: str, parts: Parts, drain: bool, metrics_port: int | None = None, standby: StandBy | None = None
    ) -> None:
        self.app = app
        self.parts = parts
        self._final: Status | None = None
        self.state = "running" if standby is None else "standby"
        self._standby = standby
        self._completed = False
        """It came to its end by itself: nothing is left to do for another driver."""
        self.error: WaterclockError | None = None
        self.started = time.time()
        self._drain = drain
        self._done = threading.Event()
        self._halt = threading.Event()
        self._deadline: float | None = None
        self._threads: list[threading.Thread] = []
        self._closed = threading.Lock()
        peers = {vertex.vertex: vertex for vertex in parts.vertices}
        for vertex in parts.vertices:
            vertex.know(peers)
        self.metrics = MetricsServer(metrics_port, self.status) if metrics_port is not None else None
        if self.metrics is not None:
            log.info("metrics at %s", self.metrics.url)

    # -- in threads: live and drain ------------------------------------------------------------------------

    def start(self) -> None:
        if self.parts.assignment is not None:
            self.parts.assignment.look()
        self._begin(self.parts.shared)
        if self._standby is None:
            self._begin_to_lead()
        self._spawn(self._supervise, "supervisor")

    def _begin_to_lead(self) -> None:
        self._begin(self.parts.leading)
        self._spawn(self._watch, "watch")

    def _begin(self, workers: list[Worker]) -> None:
        for worker in workers:
            self._spawn(partial(self._loop, worker), worker.name)

    def _spawn(self, target: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _loop(self, worker: Worker) -> None:
        seen = 0
        try:
            while not self._halt.is_set():
                if not worker.turn():
                    seen = self.parts.store.bell.wait(seen, worker.poll)
        except WaterclockError as error:
            self._fail(error)
        except Exception as error:
            failure = RunError("RUN.INTERNAL", worker=worker.name, reason=f"{type(error).__name__}: {error}")
            failure.__cause__ = error
            self._fail(failure)

    def _watch(self) -> None:
        """In a thread of its own: a keeper whose disk hangs is something to see."""
        try:
            self.parts.watch.look(self.state)
            while not self._halt.wait(EVERY):
                self.parts.watch.look(self.state)
        except WaterclockError:
            pass  # the catalog cannot be read: those who work with it will say so

    def _supervise(self) -> None:
        """Closes when all is done, something failed or another process took over."""
        try:
            if self._standby is not None:
                self._until_leading(self._standby)
            if self._standby is None:
                self._until_done()
        except WaterclockError as error:  # the catalog cannot be reached from here either, or it cannot lead
            self._fail(error)
        self._halt.set()
        self.parts.store.bell.ring()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout=5)
        self._close()

    def _until_leading(self, standby: StandBy) -> None:
        """Returns when this driver leads, or never will."""
        while not self._halt.wait(SUCCEED) and not standby.succession.finished:
            self._check()
            lease = standby.succession.attempt()
            if lease is not None:
                log.warning("%s: takes over", self.app)
                self.parts = standby.lead(lease)
                self._standby = None
                self.state = "running"
                self._begin_to_lead()
                return

    def _until_done(self) -> None:
        seen = 0
        while not self._halt.is_set():
            seen = self.parts.store.bell.wait(seen, POLL)
            self._check()
            if self._deadline is not None and time.monotonic() > self._deadline:
                self._halt.set()
                self.parts.runner.cancel()
                break
            if (self._drain or self.state == "draining" or self._nothing_can_come()) and self._finished():
                self._completed = self.state == "running"
                break

    def _check(self) -> None:
        """Raises what would otherwise be noticed only with the next row."""
        if self.parts.store.lost is not None:
            raise self.parts.store.lost
        self.parts.runner.check()

    def _nothing_can_come(self) -> bool:
        """Every declared stream has ended, so that not even a live run has anything to wait for."""
        streams = self.parts.store.catalog.streams
        return all(streams.get(name).ended for name in self.parts.sources)

    def _finished(self) -> bool:
        """All input that there is was taken, computed, made durable and delivered."""
        if not all(pump.exhausted for pump in self.parts.pumps):
            return False
        if self.state != "draining" and not self._settled():
            return False
        if self.state == "draining" and not all(v.halted or not v.hosted for v in self.parts.vertices):
            return False
        for delivery in self.parts.deliveries:
            delivery.flush = True
        stored = {v.name: v.stored >= v.epoch for v in self.parts.store.catalog.epochs.vertices()}
        if not all(stored[vertex.vertex] for vertex in self.parts.vertices):
            return False
        return not any(delivery.behind for delivery in self.parts.deliveries)

    def _settled(self) -> bool:
        """Every vertex and every import of time has taken what there is, and nothing moved while this was looked at."""
        streams = self.parts.store.catalog.streams
        marks = streams.marks()
        if any(taking.behind for taking in self.parts.imports):
            return False
        return all(self._caught_up(vertex) for vertex in self.parts.vertices) and streams.marks() == marks

    def _caught_up(self, vertex: VertexWorker) -> bool:
        catalog = self.parts.store.catalog
        snapshot = catalog.epochs.snapshot(vertex.vertex)
        marks = catalog.streams.marks()
        if catalog.epochs.pending(vertex.vertex) is not None:
            return False
        return all(
            (
                snapshot.positions.get(name, 0),
                snapshot.ctis.get(name, marks[name][1] if snapshot.epoch < 0 else None),
            )
            == marks[name]
            for name in vertex.inputs
        )

    # -- one after another: offline ------------------------------------------------------------------------

    def run_here(self) -> None:
        """Turn by turn in the calling thread, until all input is used up: breakpoints work, no JVM."""
        parts = self.parts
        for vertex in parts.vertices:
            vertex.single_threaded = True
        seen = 0
        try:
            while True:
                worked = [pump.turn() for pump in parts.pumps]
                worked += [taking.turn() for taking in parts.imports]
                worked += [vertex.turn() for vertex in parts.vertices]
                worked.append(parts.keeper.turn())
                worked.append(parts.barriers.turn())
                worked += [delivery.turn() for delivery in parts.deliveries]
                parts.watch.turn()
                if any(worked):
                    continue
                if self._finished():
                    self._completed = True
                    break
                seen = parts.store.bell.wait(seen, POLL)
        except WaterclockError as error:
            self._fail(error)
        finally:
            self._close()
        self.wait()

    # -- the handle's side ---------------------------------------------------------------------------------

    def stop(self, drain: bool, timeout: float) -> None:
        """``drain``: finish and deliver the epochs in hand first, for at most ``timeout`` seconds."""
        self._deadline = time.monotonic() + (timeout if drain else 0.0)
        if self.state == "running":
            self.state = "draining"
            for worker in (*self.parts.shared, *self.parts.leading):
                worker.request_stop()
        elif self.state == "standby":
            self._halt.set()  # what its vertices have in hand, others do
        self.parts.store.bell.ring()

    def wait(self, timeout: float | None = None) -> bool:
        """True when it has ended; raises what made it fail."""
        ended = self._done.wait(timeout)
        if ended and self.error is not None:
            raise self.error
        return ended

    def status(self) -> Status:
        with self._closed:
            if self._final is None:
                return self.parts.watch.status(self.state, time.time())
            return self._final

    def _fail(self, error: WaterclockError) -> None:
        if self._halt.is_set():
            return  # it was ended on purpose, or something else failed first
        for vertex in self.parts.vertices:
            vertex.count_failure()
        if self.error is None:
            self.error = self._or_fenced(error)
            self.state = "failed"
        self._halt.set()
        self.parts.runner.cancel()
        self.parts.store.bell.ring()

    def _or_fenced(self, error: WaterclockError) -> WaterclockError:
        """What a driver finds wrong that was replaced means nothing: another one goes on meanwhile."""
        store = self.parts.store
        try:
            if store.lease is not None:
                store.catalog.leases.check(store.lease)
        except WaterclockError as fenced:
            if fenced.code == "STORE.FENCED":
                return fenced
        return error

    def _close(self) -> None:
        with self._closed:
            if self._done.is_set():
                return
            for pump in self.parts.pumps:
                pump.close()
            for delivery in self.parts.deliveries:
                delivery.close()
            try:
                if self.error is None and self._standby is None:
                    self.parts.keeper.close()
                    self.parts.barriers.close()
            except WaterclockError as error:  # a full disk, or the catalog cannot be reached
                self.error = self.error or error
            state = "failed" if self.error is not None else "stopped"
            try:
                watch = self.parts.watch
                self._final = watch.look(state) if self._standby is None else watch.status(state, time.time())
            except WaterclockError:  # the catalog cannot be read
                self._final = Status(self.app, state, time.time() - self.started, ())
            self.parts.runner.close()
            self.parts.store.close(self._completed)
            if self.metrics is not None:
                self.metrics.close()
            self.state = state
            self._done.set()
