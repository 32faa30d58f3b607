"""Takes over the time of another stream, for streams whose own events are too rare to move it."""

from __future__ import annotations

from collections.abc import Callable

from waterclock.runtime.log import StreamLog
from waterclock.runtime.store import Store
from waterclock.time import BEGINNING, FOREVER


class TimeImport:
    """When the origin is at c, the stream goes to c - slack, and ends with it.

    Not while the stream's own source still has something: in a run over history the faster source would make all of
    it late. Each move is a mark in the stream, so a replay sees the same, whichever times were taken.
    """

    poll = 0.05

    def __init__(self, store: Store, stream: str, origin: str, slack: int, quiet: Callable[[], bool]) -> None:
        self.name = f"time import {stream}"
        self._store = store
        self._stream = stream
        self._origin = origin
        self._slack = slack
        self._quiet = quiet
        """Whether the source had nothing at its last look."""
        self._log = StreamLog(store, stream, store.lease)
        self._stopping = False

    def request_stop(self) -> None:
        self._stopping = True

    @property
    def behind(self) -> bool:
        """Whether there is time to take over."""
        marks = self._store.catalog.streams.marks()
        return self._behind(marks[self._origin][1]) > marks[self._stream][1]

    def turn(self) -> bool:
        if self._stopping or not self.behind or not self._quiet():
            return False
        streams = self._store.catalog.streams
        cti = streams.marks()[self._origin][1]
        if cti == FOREVER:
            # The last time before the end bounds the windows of open-ended events, here as there.
            self._log.advance(self._behind(streams.last_finite_cti(self._origin)))
        self._log.advance(self._behind(cti))
        return True

    def _behind(self, cti: int) -> int:
        return cti if cti in (BEGINNING, FOREVER) else cti - self._slack
