"""Runs an app: gives turns to its sources, vertices, sinks and keeper, in threads or one after another."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Protocol

from waterclock.errors import RunError, WaterclockError
from waterclock.runtime.barriers import Barriers
from waterclock.runtime.delivery import DeliveryWorker
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
    pumps: list[Pump]
    clocks: list[IdleClock]
    imports: list[TimeImport]
    vertices: list[VertexWorker]
    deliveries: list[DeliveryWorker]
    keeper: Keeper
    barriers: Barriers

    @property
    def workers(self) -> list[Worker]:
        return [*self.pumps, *self.clocks, *self.imports, *self.vertices, *self.deliveries, self.keeper, self.barriers]


class Engine:
    """States: running, draining, stopped, failed."""

    def __init__(self, app: str, parts: Parts, drain: bool, metrics_port: int | None = None) -> None:
        self.app = app
        self.parts = parts
        self._final: Status | None = None
        self.state = "running"
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
        for worker in self.parts.workers:
            thread = threading.Thread(target=self._loop, args=(worker,), name=worker.name, daemon=True)
            self._threads.append(thread)
        self._threads.append(threading.Thread(target=self._watch, name="watch", daemon=True))
        self._threads.append(threading.Thread(target=self._supervise, name="supervisor", daemon=True))
        for thread in self._threads:
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
            self._until_done()
        except WaterclockError as error:  # the catalog cannot be reached from here either
            self._fail(error)
        self._halt.set()
        self.parts.store.bell.ring()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout=5)
        self._close()

    def _until_done(self) -> None:
        seen = 0
        while not self._halt.is_set():
            seen = self.parts.store.bell.wait(seen, POLL)
            if self.parts.store.lost is not None:
                self._fail(self.parts.store.lost)
            if self._deadline is not None and time.monotonic() > self._deadline:
                self._halt.set()
                self.parts.runner.cancel()
                break
            if (self._drain or self.state == "draining" or self._nothing_can_come()) and self._finished():
                break

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
        if self.state == "draining" and not all(vertex.halted for vertex in self.parts.vertices):
            return False
        for delivery in self.parts.deliveries:
            delivery.flush = True
        durable = {v.name: v.durable >= v.epoch for v in self.parts.store.catalog.epochs.vertices()}
        if not all(durable[vertex.vertex] for vertex in self.parts.vertices):
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
                snapshot.ctis.get(name, marks[name][1] if marks[name][0] == 0 else None),
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
            for worker in self.parts.workers:
                worker.request_stop()
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
            self.error = error
            self.state = "failed"
        self._halt.set()
        self.parts.runner.cancel()
        self.parts.store.bell.ring()

    def _close(self) -> None:
        with self._closed:
            if self._done.is_set():
                return
            for pump in self.parts.pumps:
                pump.close()
            for delivery in self.parts.deliveries:
                delivery.close()
            try:
                if self.error is None:
                    self.parts.keeper.close()
                    self.parts.barriers.close()
            except WaterclockError as error:  # a full disk, or the catalog cannot be reached
                self.error = self.error or error
            state = "failed" if self.error is not None else "stopped"
            try:
                self._final = self.parts.watch.look(state)
            except WaterclockError:  # the catalog cannot be read
                self._final = Status(self.app, state, time.time() - self.started, ())
            self.parts.runner.close()
            self.parts.store.close()
            if self.metrics is not None:
                self.metrics.close()
            self.state = state
            self._done.set()
