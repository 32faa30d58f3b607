"""Delivers the durable epochs of an output to its sink, each once as far as the sink can tell."""

from __future__ import annotations

import time
from contextlib import suppress

from waterclock import crashpoints
from waterclock.connect.base import Sink
from waterclock.errors import RunError, WaterclockError
from waterclock.runtime.log import StreamReader
from waterclock.runtime.store import Store
from waterclock.schema import Schema


class DeliveryWorker:
    poll = 0.05

    def __init__(self, store: Store, output: str, schema: Schema, sink: Sink) -> None:
        self.name = f"sink {output}"
        self.output = output
        self._store = store
        self._sink = sink
        self._state = store.catalog.sinks.get(output)
        if self._state.pending is not None:
            store.catalog.sinks.count(output, {"retries": 1})
        self._reader = StreamReader(store.catalog, output)
        try:
            self._writer = sink.open(output, schema, self._state.delivered, self._state.position)
        except OSError as error:
            raise RunError(
                "RUN.SINK_FAILED", output=output, epoch=self._state.delivered + 1, reason=str(error)
            ) from error
        self._waiting_since: float | None = None
        self.flush = False
        """Set when stopping: deliver what is there without waiting for more."""

    def request_stop(self) -> None:
        self.flush = True

    @property
    def behind(self) -> bool:
        """There are committed epochs that were not delivered."""
        return self._store.catalog.epochs.snapshot(self.output).epoch > self._state.delivered

    def turn(self) -> bool:
        stored = self._store.catalog.epochs.get(self.output).stored
        last = self._state.pending if self._state.pending is not None else stored
        if last <= self._state.delivered or stored < last:
            return False
        behind = self._store.catalog.epochs.history(self.output, self._state.delivered)
        history = [snapshot for epoch, snapshot in behind if epoch <= last]
        if not history:
            return False
        rows = sum(snapshot.output_rows for snapshot in history)
        if self._state.pending is None and not self._due(rows):
            return False
        self._deliver(history[0].epoch, last, history[0].output_end - history[0].output_rows, history[-1].output_end)
        self._waiting_since = None
        return True

    def close(self) -> None:
        self._writer.close()

    def _due(self, rows: int) -> bool:
        if self.flush or rows >= self._sink.batch_rows:
            return True
        if rows == 0:
            return False
        if self._waiting_since is None:
            self._waiting_since = time.monotonic()
        return time.monotonic() - self._waiting_since >= self._sink.batch_seconds

    def _deliver(self, first: int, last: int, start: int, end: int) -> None:
        sinks, lease = self._store.catalog.sinks, self._store.lease
        self._store.catalog.transact(lambda: sinks.begin(self.output, last), lease)
        crashpoints.reach("sink.after_pending")
        position = self._state.position
        if end > start:
            try:
                position = self._writer.write(first, last, self._reader.read(start, end))
            except Exception as error:
                with suppress(WaterclockError), self._store.catalog.transaction(lease):
                    sinks.failed(self.output, last)
                if isinstance(error, WaterclockError):
                    raise
                raise RunError(
                    "RUN.SINK_FAILED",
                    output=self.output,
                    epoch=last,
                    reason=f"{type(error).__name__}: {error}",
                ) from error
        crashpoints.reach("sink.before_finish")
        self._store.catalog.transact(lambda: sinks.finish(self.output, last, position), lease)
        self._state = sinks.get(self.output)
        self._store.bell.ring()
