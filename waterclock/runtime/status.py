"""Where an app stands, in figures."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from waterclock.catalog import Catalog
from waterclock.runtime.vertex import VertexWorker


@dataclass(frozen=True)
class VertexStatus:
    name: str
    epoch: int
    durable_epoch: int
    rows_in: int
    rows_out: int
    backlog: int
    """Events that are committed in the input streams and not yet taken."""
    cti: int
    latency: float | None
    """Median seconds of the last epochs."""
    overhead: float | None
    """Of that, seconds outside the runner."""
    state_rows: int
    state_bytes: int
    sent_rows: int = 0
    """Rows that went from one stage of an epoch to a later one, since the start."""
    sent_bytes: int = 0


@dataclass(frozen=True)
class Status:
    app: str
    state: str
    seconds: float
    vertices: tuple[VertexStatus, ...]
    counters: dict[str, dict[str, int]]
    """Per source stream: rows, late and bad ones, exactly."""

    @property
    def healthy(self) -> bool:
        return self.state != "failed"


def vertex_status(catalog: Catalog, worker: VertexWorker) -> VertexStatus:
    name = worker.vertex
    snapshot = catalog.epochs.snapshot(name)
    marks = catalog.streams.marks()
    durable = next(v.durable for v in catalog.epochs.vertices() if v.name == name)
    _, state_rows, state_bytes = catalog.epochs.state_size(name)
    jobs, overheads = list(worker.progress.job_seconds), list(worker.progress.overhead_seconds)
    return VertexStatus(
        name, snapshot.epoch, durable, worker.progress.rows_in, worker.progress.rows_out,
        sum(marks[stream][0] - snapshot.positions.get(stream, 0) for stream in worker.inputs),
        snapshot.cti,
        statistics.median(a + b for a, b in zip(jobs, overheads, strict=False)) if jobs else None,
        statistics.median(overheads) if overheads else None,
        state_rows, state_bytes, worker.progress.sent_rows, worker.progress.sent_bytes,
    )  # fmt: skip
