"""Moves a stream's time on when nothing arrives, so that the last window closes."""

from __future__ import annotations

import time
from collections.abc import Callable

from waterclock.catalog import StreamRow
from waterclock.runtime.log import StreamLog
from waterclock.runtime.store import Store
from waterclock.time import BEGINNING

LOOK_EVERY = 0.1


def goes_to(row: StreamRow, idle: int, start: int, waited: int) -> int | None:
    """Where the stream's time goes after so long without news, if it goes on; ``start`` is where it was then."""
    if row.ended or row.cti == BEGINNING or waited < idle:
        return None
    target = start + waited
    # Not at every look: each move is a row in the catalog and an epoch.
    return target if target - row.cti >= min(idle, 1_000_000) else None


class IdleClock:
    """After the declared time without news, event time goes on at the speed of the wall clock from where it was.

    Each move is a mark in the stream, and so part of the recorded input of an epoch: a replay sees the same.
    """

    poll = 0.05

    def __init__(self, store: Store, stream: str, idle: int, quiet: Callable[[], bool]) -> None:
        self.name = f"idle clock {stream}"
        self._log = StreamLog(store, stream, store.lease)
        self._idle = idle
        self._quiet = quiet
        """Whether the source has nothing more now; one that is only held back is not idle."""
        self._events = self._log.row.next
        self._since = time.monotonic()
        self._from = self._log.row.cti
        """The stream's time when the last event had come, or someone else had moved it."""
        self._moved_to = self._from
        self._looked = 0.0

    def request_stop(self) -> None:
        self._idle = 2**63

    def turn(self) -> bool:
        now = time.monotonic()
        if now - self._looked < LOOK_EVERY:
            return False
        self._looked = now
        row = self._log.refresh()
        # A CTI from the data, an import or advance() is news as an event is.
        if row.next != self._events or row.cti != self._moved_to or not self._quiet():
            self._events, self._since, self._from, self._moved_to = row.next, now, row.cti, row.cti
            return False
        target = goes_to(row, self._idle, self._from, int((now - self._since) * 1e6))
        if target is None:
            return False
        self._log.advance(target)
        self._moved_to = self._log.row.cti
        return True
