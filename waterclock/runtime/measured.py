"""What is counted while a program runs: heights of frames that are there anyway, kept with each snapshot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from waterclock.catalog import Catalog, Intent, Snapshot
from waterclock.optimizer.statistics import Statistics
from waterclock.runtime.task import Report
from waterclock.time import BEGINNING, FOREVER

RECENT = 10_000_000
"""When so many rows were taken, all counts are halved: what is long ago counts less."""


def counted(before: Snapshot, after: Snapshot, intent: Intent, reports: Iterable[Report]) -> Snapshot:
    """The snapshot with the rows of its epoch, and the event time that they cover."""
    flows, paces = dict(before.flows), dict(before.paces)
    for name, taken in intent.inputs.items():
        rows = taken.end - taken.start
        flows[name] = flows.get(name, 0) + rows
        if taken.old > BEGINNING and taken.new < FOREVER:
            known = paces.get(name, [0, 0])
            paces[name] = [known[0] + rows, known[1] + taken.new - taken.old]
    for report in reports:
        for name, rows in report.rows.items():
            flows[name] = flows.get(name, 0) + rows
    if sum(flows[name] for name in intent.inputs) > RECENT:
        flows = {name: rows // 2 for name, rows in flows.items()}
        paces = {name: [number // 2 for number in pace] for name, pace in paces.items()}
    return replace(after, flows=flows, paces=paces)


def measured(catalog: Catalog, vertex: str) -> Statistics:
    """What a vertex has shown of its rows and its state until now."""
    snapshot = catalog.epochs.snapshot(vertex)
    streams = snapshot.positions
    rates = {name: rows * 1e6 / micros for name, (rows, micros) in snapshot.paces.items() if micros > 0}
    taken = sum(rows for name, rows in snapshot.flows.items() if name in rates)
    nodes = [name for name in snapshot.flows if name not in streams and ":" not in name]
    if taken:
        pace = sum(rates.values()) / taken
        rates |= {node: snapshot.flows[node] * pace for node in nodes}
    sizes = {name: size for name in streams if (size := catalog.streams.row_size(name)) is not None}
    states: dict[str, tuple[int, int]] = dict.fromkeys(nodes, (0, 0))
    for _, run in catalog.epochs.runs(vertex):
        rows, length = states.get(run.operator, (0, 0))
        states[run.operator] = (rows + run.rows, length + run.blob.length)
    return Statistics(rates, sizes, {}, snapshot.flows, states)
