"""Looks at a running app about once a second, beside its epochs: rates, alerts, and the file for other processes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from waterclock.catalog import Catalog
from waterclock.runtime.metrics import observed as observing
from waterclock.runtime.metrics.alerts import Alerts, changed, check
from waterclock.runtime.metrics.figures import Alert, Status, StreamRecent, StreamStatus, VertexRecent, VertexStatus
from waterclock.runtime.metrics.gather import status_of
from waterclock.runtime.metrics.observed import Observed
from waterclock.runtime.metrics.stragglers import stages
from waterclock.runtime.metrics.windows import Progress, Window, spread

EVERY = 1.0
RATE = 10.0
"""Seconds that rates are over."""
RECENT = 600.0
"""Seconds that late and bad rows, and those that user code failed for, are counted over."""

log = logging.getLogger("waterclock")


class Syncing(Protocol):
    """Whoever knows how long the last sync took."""

    sync_seconds: float | None


@dataclass
class _StreamWindows:
    rate: Window = field(default_factory=lambda: Window(RATE))
    recent: Window = field(default_factory=lambda: Window(RECENT))

    def look(self, at: float, stream: StreamStatus) -> StreamRecent:
        self.rate.add(at, stream.rows)
        late = stream.counted("late")
        untaken = late - stream.counters.get("late_adjusted", 0)
        self.recent.add(at, stream.rows + untaken, late, stream.counted("bad") + stream.counted("quarantined"))
        return StreamRecent(_rounded(self.rate.rate()), *(self.recent.risen() or (0, 0, 0)))


class _VertexWindows:
    def __init__(self, lag: float) -> None:
        self.rate = Window(RATE)
        self.backlog = Window(lag)
        self.left_out = Window(RECENT)

    def look(self, at: float, vertex: VertexStatus, recent: VertexRecent) -> VertexRecent:
        self.rate.add(at, vertex.rows_in)
        self.backlog.add(at, vertex.backlog)
        self.left_out.add(at, vertex.left_out)
        (failed,) = self.left_out.risen() or (0,)
        rate, grew_from = _rounded(self.rate.rate()), self.backlog.grew_from()
        return replace(recent, rows_per_second=rate, grew_from=grew_from, left_out=failed)


class Watch:
    def __init__(
        self, catalog: Catalog, app: str, sources: tuple[str, ...], progress: Mapping[str, Progress],
        syncing: Syncing, wanted: Alerts, clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self._catalog = catalog
        self._progress = progress
        self._syncing = syncing
        self._clock = clock
        self._lag = wanted.threshold("lag") if wanted.lag is not None else RECENT
        self._streams: dict[str, _StreamWindows] = {}
        self._vertices: dict[str, _VertexWindows] = {}
        self._last = Observed(app, "running", clock(), sources=sources, wanted=wanted)
        """What the last look saw."""
        self._written: Observed | None = None
        self._looked = 0.0

    def turn(self) -> None:
        """In a loop: looks if it is time to."""
        if not 0 <= self._clock() - self._looked < EVERY:  # or the clock was set back
            self.look("running")

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """Of the last look."""
        return self._last.alerts

    def status(self, state: str, now: float) -> Status:
        observed = self._observed(state, now)
        status = status_of(self._catalog, observed, now)
        return replace(status, alerts=check(status, observed.wanted, observed.alerts, now))

    def look(self, state: str) -> Status:
        now = self._looked = self._clock()
        ended = None if state in ("running", "draining") else now
        observed = replace(self._observed(state, now), ended=ended)
        status = status_of(self._catalog, observed, now)
        observed, status = self._sampled(observed, status, now)
        alerts = check(status, observed.wanted, observed.alerts, now)
        tell(observed.app, self._last.alerts, alerts, now, running=ended is None)
        self._last = replace(observed, alerts=alerts)
        self._write()
        return replace(status, alerts=alerts)

    def _write(self) -> None:
        """Only what is new: an idle app writes nothing. Values of alerts follow from what others can see."""
        if self._written is not None and _lasting(self._written) == _lasting(self._last):
            return
        try:
            observing.save(self._catalog.root, self._last)
        except OSError:
            return  # a full disk is reported by those who must write
        self._written = self._last

    def _sampled(self, observed: Observed, status: Status, now: float) -> tuple[Observed, Status]:
        streams = {s.name: self._streams.setdefault(s.name, _StreamWindows()).look(now, s) for s in status.streams}
        vertices: dict[str, VertexRecent] = {}
        for vertex in status.vertices:
            windows = self._vertices.setdefault(vertex.name, _VertexWindows(self._lag))
            vertices[vertex.name] = windows.look(now, vertex, observed.vertices.get(vertex.name, VertexRecent()))
        status = replace(
            status,
            streams=tuple(replace(stream, recent=streams[stream.name]) for stream in status.streams),
            vertices=tuple(replace(vertex, recent=vertices[vertex.name]) for vertex in status.vertices),
        )
        return replace(observed, streams=streams, vertices=vertices), status

    def _observed(self, state: str, now: float) -> Observed:
        """The last look, with what the vertices have counted since."""
        vertices = {
            name: _counted(progress, self._last.vertices.get(name, VertexRecent()), self._last.wanted.straggler, now)
            for name, progress in self._progress.items()
        }
        return replace(self._last, state=state, sync_seconds=self._syncing.sync_seconds, vertices=vertices)


def _counted(progress: Progress, last: VertexRecent, factor: float | None, now: float) -> VertexRecent:
    recent = list(progress.recent)
    overhead = spread([epoch.overhead for epoch in recent])
    return replace(
        last,
        epochs=progress.epochs,
        seconds=progress.seconds,
        epoch_seconds=spread([epoch.seconds for epoch in recent]),
        overhead=overhead.median if overhead else None,
        arrivals=progress.arrivals,
        arrival_seconds=progress.arrival_seconds,
        latency=spread([epoch.latency for epoch in recent if epoch.latency is not None]),
        sent_rows=progress.sent_rows,
        sent_bytes=progress.sent_bytes,
        task_retries=progress.task_retries,
        stages=stages(list(progress.tasks), factor, now),
    )


def _lasting(observed: Observed) -> Observed:
    return replace(observed, alerts=tuple(replace(alert, value=0.0, text="") for alert in observed.alerts))


def tell(app: str, before: tuple[Alert, ...], after: tuple[Alert, ...], now: float, running: bool) -> None:
    """Each alert once when it begins and once when it ends. The end of the app ends none of them."""
    begun, ended = changed(before, after)
    for alert in begun:
        log.warning("%s: alert %s: %s: %s. %s", app, alert.rule, alert.subject, alert.text, alert.advice)
    for alert in ended if running else ():
        log.warning("%s: alert %s: %s: ended after %.0f s", app, alert.rule, alert.subject, now - alert.since)


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 1)
