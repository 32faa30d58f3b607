"""Between names in the catalog and files of a step: what its tasks read, and what becomes of what they wrote."""

from __future__ import annotations

from collections.abc import Iterable

from waterclock.catalog import Catalog, Intent
from waterclock.errors import StoreError
from waterclock.runtime.store import Store
from waterclock.runtime.task import Report
from waterclock.state import Run
from waterclock.storage import Blob
from waterclock.streams import Piece

Pieces = tuple[tuple[tuple[str, Piece], ...], ...]
"""For each reading task, in order: input stream and piece."""


def rows_of(intent: Intent) -> int:
    return sum(taken.end - taken.start for taken in intent.inputs.values())


def pieces_of(catalog: Catalog, intent: Intent) -> tuple[Pieces, int | None]:
    """Equal shares for the reading tasks, and when the oldest row came."""
    rows = rows_of(intent)
    share = -(-rows // intent.readers) if rows else 1
    tasks: list[list[tuple[str, Piece]]] = [[] for _ in range(intent.readers)]
    taken_rows = 0
    arrived: list[int] = []
    for name, taken in intent.inputs.items():
        at = taken.start
        for segment in catalog.streams.segments(name, taken.start, taken.end):
            assert segment.blob is not None
            if segment.arrived is not None:
                arrived.append(segment.arrived)
            while at < min(segment.end, taken.end):
                task = taken_rows // share
                size = min(segment.end, taken.end) - at
                size = min(size, (task + 1) * share - taken_rows)
                tasks[task].append((name, Piece(segment.blob, at - segment.first, size, segment.external, at)))
                at += size
                taken_rows += size
        if at < taken.end:
            first = catalog.streams.get(name).first
            raise StoreError("STREAM.TRIMMED", seq=at, stream=name, first=first)
    return tuple(tuple(task) for task in tasks), min(arrived, default=None)


def grouped(runs: Iterable[Run]) -> dict[str, tuple[Run, ...]]:
    """By stateful node."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.operator, []).append(run)
    return {operator: tuple(its_runs) for operator, its_runs in found.items()}


def kept_runs(store: Store, vertex: str, reports: Iterable[Report]) -> tuple[Run, ...]:
    """The state that tasks have written."""
    kept: list[Run] = []
    seen: set[Blob | None] = set()
    for report in sorted(reports, key=lambda report: (report.stage, report.index)):
        for node, table, level, saved in report.runs:
            if saved.blob is not None and saved.blob in seen:
                continue  # rows that arrived in a file, which every task of the stage has kept
            seen.add(saved.blob)
            blob = store.keep(f"state/{vertex}", saved.blob, saved.data)
            (least_hash, least_vs), (greatest_hash, greatest_ve) = saved.least, saved.greatest
            kept.append(Run(node, table, blob, saved.rows, least_hash, greatest_hash, least_vs, greatest_ve, level))
    return tuple(kept)


def times_of(reports: Iterable[Report]) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Where the stateful nodes stand after a step: CTIs by port, greatest times, and what tables need no more."""
    ctis: dict[str, int] = {}
    tops: dict[str, int] = {}
    lows: dict[str, int] = {}
    for report in reports:
        for name, seen in report.ctis.items():
            assert ctis.setdefault(name, seen) == seen, "tasks of a stage differ in time"
        for name, top in report.tops.items():
            tops[name] = max(top, tops.get(name, top))
        for name, low in report.lows.items():
            lows[name] = min(low, lows.get(name, low))  # what one range of keys still needs, stays
    return ctis, tops, lows
