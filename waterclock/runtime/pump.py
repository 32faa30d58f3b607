"""Brings the chunks of a source into its stream, and moves time when the source is idle."""

from __future__ import annotations

import time

from waterclock.connect.base import Source
from waterclock.errors import RunError, WaterclockError
from waterclock.runtime.log import StreamLog, wall_clock
from waterclock.runtime.store import Store
from waterclock.time import BEGINNING, FOREVER


class Pump:
    """One source. It stays at most ``backlog`` events ahead of the slowest vertex that reads the stream."""

    def __init__(self, store: Store, stream: str, source: Source, consumers: list[str], backlog: int) -> None:
        self.name = f"source {stream}"
        self.stream = stream
        self.exhausted = False
        """Nothing was there at the last look."""
        self._store = store
        self._log = StreamLog(store, stream, store.lease)
        self._consumers = consumers
        self._backlog = backlog
        self._reader = source.open(self._log.row.declaration, self._log.row.position)
        self._last_arrival = time.monotonic()
        self._idle_from: int | None = None
        self._stopping = False

    def request_stop(self) -> None:
        self._stopping = True

    def turn(self) -> bool:
        if self._stopping or self._log.row.ended:
            self.exhausted = True
            return False
        if self._too_far_ahead():
            return False
        try:
            chunk = self._reader.poll(self._log.row.cti, wall_clock())
        except WaterclockError:
            raise
        except Exception as error:
            raise RunError(
                "RUN.SOURCE_FAILED", stream=self.stream, reason=f"{type(error).__name__}: {error}"
            ) from error
        if chunk is not None:
            self._log.append(chunk)
            self._last_arrival = time.monotonic()
            self._idle_from = None
            self.exhausted = False
            return True
        if self._reader.finished:
            self._log.advance(FOREVER)
        else:
            self._advance_idle()
        # A paced source with an end says that it only waits for the clock: a drain waits with it.
        self.exhausted = not getattr(self._reader, "waiting", False)
        return False

    def close(self) -> None:
        self._reader.close()

    def _too_far_ahead(self) -> bool:
        if not self._consumers:
            return False
        epochs = self._store.catalog.epochs
        least = min(epochs.snapshot(name).positions.get(self.stream, 0) for name in self._consumers)
        return self._log.row.next - least >= self._backlog

    def _advance_idle(self) -> None:
        """Event time goes on at the speed of the wall clock from where it was."""
        idle = self._log.row.declaration.idle
        if idle is None or self._log.row.cti == BEGINNING:
            return
        waited = int((time.monotonic() - self._last_arrival) * 1e6)
        if waited < idle:
            return
        if self._idle_from is None:
            self._idle_from = self._log.row.cti
        target = self._idle_from + waited
        # Not on every turn: each move is a row in the catalog and an epoch.
        if target - self._log.row.cti >= min(idle, 1_000_000):
            self._log.advance(target)
