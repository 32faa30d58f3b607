"""The figures of an app: the catalog, and what its process has observed. The same code there and elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace

from waterclock.catalog import Catalog, Snapshot, StreamRow, Vertex
from waterclock.runtime.metrics import observed as observing
from waterclock.runtime.metrics.alerts import check
from waterclock.runtime.metrics.figures import (
    Disk,
    SinkStatus,
    SnapshotStatus,
    Status,
    StreamRecent,
    StreamStatus,
    VertexRecent,
    VertexStatus,
)
from waterclock.runtime.metrics.observed import Observed
from waterclock.time import BEGINNING, FOREVER, SECOND

OPEN = "open windows or waiting rows of its own"


def apps(catalog: Catalog, now: float) -> list[Status]:
    """Every app that has run on the store, as any process can see it."""
    holders = catalog.leases.holders()
    names = sorted({vertex.app for vertex in catalog.epochs.vertices()})
    return [_seen_from_outside(catalog, name, f"app {name}" in holders, now) for name in names]


def _seen_from_outside(catalog: Catalog, app: str, held: bool, now: float) -> Status:
    observed = observing.load(catalog.root, app)
    alive = observed.state in ("running", "draining")
    if held and not alive:
        observed = replace(observed, state="running", started=None, ended=None)  # it is starting
    elif alive and not held:
        observed = replace(observed, state="dead")
    status = status_of(catalog, observed, now)
    return replace(status, alerts=check(status, observed.wanted, observed.alerts, now))


def status_of(catalog: Catalog, observed: Observed, now: float) -> Status:
    """Without alerts. ``now`` is in seconds since 1970."""
    vertices = catalog.epochs.vertices()
    made = {vertex.name for vertex in vertices}
    mine = {vertex.name: vertex for vertex in vertices if vertex.app == observed.app}
    snapshots = {name: catalog.epochs.snapshot(name, vertex.epoch) for name, vertex in mine.items()}
    inputs = [name for vertex in mine.values() for name in vertex.inputs]
    rows = {name: catalog.streams.get(name) for name in dict.fromkeys([*observed.sources, *inputs])}
    # Tables and side streams have no time column; they are filled by the app itself.
    sources = [row for name, row in rows.items() if name not in made and row.declaration.time is not None]
    backlogs: dict[str, dict[str, int]] = {row.name: {} for row in sources}
    for row in sources:
        for name in mine:
            if row.name in mine[name].inputs:
                backlogs[row.name][name] = row.next - snapshots[name].positions.get(row.name, 0)
    delivered = catalog.sinks.delivered()
    usage = shutil.disk_usage(catalog.root)
    return Status(
        observed.app,
        observed.state,
        None if observed.started is None else (observed.ended or now) - observed.started,
        tuple(
            _vertex(catalog, mine[name], snapshots[name], rows, observed.vertices.get(name, VertexRecent()), now)
            for name in mine
        ),
        tuple(_stream(row, backlogs[row.name], observed.streams.get(row.name, StreamRecent()), now) for row in sources),
        tuple(_sink(catalog, snapshots[name], name) for name in mine if name in delivered),
        restarts=max(0, catalog.leases.taken(f"app {observed.app}") - 1),
        sync_seconds=observed.sync_seconds,
        disk=Disk(usage.used + usage.free, usage.free),  # what only root may use is not counted
        snapshots=_snapshots(catalog, observed.app, now),
    )


def _stream(row: StreamRow, backlogs: dict[str, int], recent: StreamRecent, now: float) -> StreamStatus:
    idle, age = row.declaration.idle, _age(row.arrived, now)
    return StreamStatus(
        row.name,
        row.counters.get("rows", 0),
        row.counters,
        row.cti,
        row.ended,
        lag=None if row.cti in (BEGINNING, FOREVER) else now - row.cti / SECOND,
        cti_age=_age(row.moved, now),
        row_age=age,
        stalled=_age(row.stalled, now),
        idle=idle is not None and age is not None and age * SECOND >= idle and not row.ended,
        may_rest=idle is not None or row.declaration.time_from is not None,
        backlogs=backlogs,
        recent=recent,
    )


def _snapshots(catalog: Catalog, app: str, now: float) -> SnapshotStatus:
    begun: dict[str, list[int]] = {"complete": [], "pending": [], "abandoned": []}
    for each in catalog.snapshots.of(app):
        begun[each.state].append(each.requested)
    return SnapshotStatus(
        **{state: len(times) for state, times in begun.items()},
        complete_age=_age(max(begun["complete"], default=None), now),
        pending_age=_age(min(begun["pending"], default=None), now),
    )


def _vertex(
    catalog: Catalog, vertex: Vertex, snapshot: Snapshot, rows: Mapping[str, StreamRow], recent: VertexRecent,
    now: float,
) -> VertexStatus:  # fmt: skip
    runs, state_rows, state_bytes = catalog.epochs.state_size(vertex.name)
    taken = {name: snapshot.positions.get(name, 0) for name in vertex.inputs}
    seen = {name: snapshot.ctis.get(name, BEGINNING) for name in vertex.inputs}
    counted = vertex.counters
    return VertexStatus(
        vertex.name,
        vertex.epoch,
        vertex.stored,  # state that is saved seldom is no reason to worry: it can be computed again
        rows_in=sum(taken.values()),
        rows_out=snapshot.output_end,
        backlog=sum(rows[name].next - at for name, at in taken.items()),
        cti_in=min(seen.values(), default=BEGINNING),
        cti=snapshot.cti,
        held_by=held_by(snapshot.cti, seen, {name: rows[name].cti for name in vertex.inputs}),
        state_rows=state_rows,
        state_bytes=state_bytes,
        state_runs=runs,
        durable_age=_age(vertex.durable_at, now),
        rollbacks=counted.get("rollbacks", 0),
        retries=counted.get("retries", 0),
        failures=counted.get("failures", 0),
        failing=counted.get("in_a_row", 0) if counted.get("failed_epoch") == vertex.epoch + 1 else 0,
        left_out=sum(snapshot.left_out.values()),
        dead_letters=snapshot.dead_end,
        recent=recent,
    )


def held_by(cti: int, seen: Mapping[str, int], there: Mapping[str, int]) -> str | None:
    """What keeps the CTI of an output back; ``seen`` are those taken of its inputs, ``there`` those to take."""
    going = [name for name in seen if there[name] < FOREVER] or list(seen)  # one that has ended holds nothing
    if not going or cti >= max(there[name] for name in going):
        return None
    least = min(seen.values())
    behind = [name for name in seen if seen[name] == least and there[name] > least]
    if behind:
        return f"what is not yet taken of {', '.join(behind)}"
    if least < max(seen[name] for name in going):
        return f"the time of {', '.join(name for name in going if seen[name] == least)}"
    return OPEN if cti < least else None


def _sink(catalog: Catalog, snapshot: Snapshot, name: str) -> SinkStatus:
    state = catalog.sinks.get(name)
    return SinkStatus(
        name,
        state.delivered,
        rows=catalog.epochs.snapshot(name, state.delivered).output_end,
        waiting=snapshot.epoch - state.delivered,
        retries=state.counters.get("retries", 0),
        failures=state.counters.get("failures", 0),
        failing=state.counters.get("in_a_row", 0) if state.counters.get("failed_epoch", -1) > state.delivered else 0,
    )


def _age(at: int | None, now: float) -> float | None:
    return None if at is None else max(0.0, now - at / SECOND)
