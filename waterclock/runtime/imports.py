"""Takes over the time of another stream, for streams whose own events are too rare to move it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from waterclock.errors import ConfigError, did_you_mean
from waterclock.plan.guarded import dead_stream
from waterclock.runtime.log import StreamLog
from waterclock.runtime.store import Store
from waterclock.streams import Declaration
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


def check_origins(streams: Mapping[str, Declaration], outputs: Mapping[str, Sequence[str]], store: str) -> None:
    """Each stream takes its time from one of its app that does not wait for it; of outputs, the inputs are given."""
    follows = {name: {d.time_from} for name, d in streams.items() if d.time_from is not None}
    follows |= {side: {d.name} for d in streams.values() for side in d.side_streams()}
    follows |= {name: set(inputs) for name, inputs in outputs.items()}
    follows |= {dead_stream(name): {name} for name in outputs}
    for name, declaration in streams.items():
        origin = declaration.time_from
        if origin is None:
            continue
        if origin not in streams and origin not in outputs:
            others = [other for other in (*streams, *outputs) if other != name]
            choices, guess = ", ".join(others) or "none", did_you_mean(origin, others)
            raise ConfigError("STORE.NO_STREAM", name=origin, store=store, choices=choices, guess=guess)
        above, todo = set[str](), [origin]
        while todo:
            at = todo.pop()
            if at == name:
                raise ConfigError("PLAN.TIME_CIRCLE", name=name, origin=origin)
            if at not in above:
                above.add(at)
                todo.extend(follows.get(at, ()))
