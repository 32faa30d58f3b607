"""Brings the chunks of a source into its stream."""

from __future__ import annotations

from waterclock.connect.base import Chunk, Source
from waterclock.errors import DataError, RunError, WaterclockError
from waterclock.runtime.log import StreamLog, wall_clock
from waterclock.runtime.store import Store
from waterclock.time import FOREVER

TOGETHER = 16
"""Files at most that become part of a stream in one commit."""


class Pump:
    """One source. It stays at most ``backlog`` events ahead of the slowest vertex that reads the stream.

    ``began`` is when a run began that ends by itself: it takes what was due then, or else a source that never ends
    would decide by chance when it is over.
    """

    poll = 0.05

    def __init__(
        self, store: Store, stream: str, source: Source, consumers: list[str], backlog: int, began: int | None = None
    ) -> None:
        self.name = f"source {stream}"
        self.stream = stream
        self.exhausted = False
        """Nothing was there at the last look, and nothing will come by itself."""
        self.empty = False
        """Nothing was there at the last look."""
        self._store = store
        self._log = StreamLog(store, stream, store.lease)
        self._consumers = consumers
        self._backlog = backlog
        self._began = began
        self._reader = source.open(self._log.row.declaration, self._log.row.position)
        self._stopping = False
        if self._log.row.ended:
            left = self._reader.poll(self._log.row.cti, self._now())
            if left is not None:
                raise DataError("DATA.AFTER_END", stream=stream, where=left.where)

    def request_stop(self) -> None:
        self._stopping = True

    def turn(self) -> bool:
        if self._stopping or self._log.row.ended:
            self.exhausted = self.empty = True
            return False
        if self._too_far_ahead():
            return False
        try:
            chunks = self._poll()
        except WaterclockError:
            raise
        except Exception as error:
            raise RunError(
                "RUN.SOURCE_FAILED", stream=self.stream, reason=f"{type(error).__name__}: {error}"
            ) from error
        if chunks:
            for chunk in chunks[self._log.append_in_place(chunks) :]:
                self._log.append(chunk)
            self.exhausted = self.empty = False
            return True
        self.empty = True
        if self._reader.finished:
            self._log.advance(FOREVER)
        # A paced source with an end says that it only waits for the clock: a drain waits with it.
        self.exhausted = not self._reader.waiting
        return False

    def _poll(self) -> list[Chunk]:
        """A chunk, or several that are files read in place: one commit, which costs more than they do, takes them all.

        One that cannot be read is told when those before it have been taken.
        """
        found: list[Chunk] = []
        cti, rows = self._log.row.cti, 0
        while True:
            try:
                chunk = self._reader.poll(cti, self._now())
            except Exception:
                if not found:
                    raise
                return found
            if chunk is not None:
                found.append(chunk)
            if chunk is None or chunk.external is None:
                return found
            rows += chunk.external.rows
            if len(found) == TOGETHER or rows >= self._backlog // 4:
                return found
            cti = max(cti, self._log.row.declaration.reached(chunk.external.greatest_vs))

    def is_quiet(self) -> bool:
        """Nothing was there at the last look, and nothing will come by itself."""
        return self.exhausted

    def is_empty(self) -> bool:
        return self.empty

    def close(self) -> None:
        self._reader.close()

    def _now(self) -> int:
        return wall_clock() if self._began is None or self._reader.waiting else self._began

    def _too_far_ahead(self) -> bool:
        if not self._consumers:
            return False
        epochs = self._store.catalog.epochs
        least = min(epochs.snapshot(name).positions.get(self.stream, 0) for name in self._consumers)
        return self._log.row.next - least >= self._backlog
