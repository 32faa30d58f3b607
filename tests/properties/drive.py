"""Runs a script through a real app, in process, and looks at what it stored."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import waterclock as wc
from tests.properties.strategies import SCHEMA, Script
from waterclock.catalog import Catalog
from waterclock.lang.fluent import Stream
from waterclock.optimizer.parallelism import Parallelism, Tasks
from waterclock.plan import Node
from waterclock.reference import Event
from waterclock.runtime.log import StreamReader
from waterclock.schema import VE, VS
from waterclock.time import BEGINNING, FOREVER


@dataclass
class Seen:
    """The stored output after a run."""

    events: list[Event]
    cti: int
    digests: list[int]


@dataclass
class Played:
    runs: list[Seen] = field(default_factory=list)
    arrived: list[dict[str, list[Event]]] = field(default_factory=list)
    """The input up to each run, and below its CTIs and the last finite ones."""
    ctis: list[dict[str, int]] = field(default_factory=list)
    finite: list[dict[str, int]] = field(default_factory=list)


@contextmanager
def tasks(count: int) -> Iterator[None]:
    """Every epoch gets ``count`` tasks, even one without rows; some stages, and some whole epochs, get fewer."""

    def split(self: Parallelism, rows: Mapping[str, int], flows: Mapping[str, int]) -> Tasks:
        most = 1 if sum(rows.values()) % 3 == 2 else count
        return Tasks(most, tuple(max(1, most - stage % 2) for stage in range(self.plan.stages - 1)))

    with mock.patch.object(Parallelism, "tasks", split):
        yield


def play(plan: Node, script: Script, epoch_rows: int = 1000, points: bool = False, anew: bool = True) -> Played:
    """``anew`` makes a new app object for every run, as after a restart."""
    played = Played()
    arrived: dict[str, list[Event]] = {"s0": [], "s1": []}
    ctis = {"s0": BEGINNING, "s1": BEGINNING}
    finite = dict(ctis)
    with tempfile.TemporaryDirectory(prefix="wc-") as folder:
        app, sources = _app(folder, plan, script.slack, epoch_rows, points)
        for what, value in script.steps:
            if what == "push":
                name, events = value
                sources[name].push([payload for _, _, payload in events])
                arrived[name] += events
                ctis[name] = max(ctis[name], max(vs for vs, _, _ in events) - script.slack)
            elif what == "advance":
                sources[value[0]].advance(value[1])
                ctis[value[0]] = max(ctis[value[0]], value[1])
            elif what == "end":
                sources[value].end()
                ctis[value] = FOREVER
            else:
                app.run(mode="offline")
                played.runs.append(_look(folder))
                played.arrived.append({name: list(events) for name, events in arrived.items()})
                played.ctis.append(dict(ctis))
                played.finite.append(dict(finite))
                if anew:
                    app, sources = _app(folder, plan, script.slack, epoch_rows, points)
            finite |= {name: cti for name, cti in ctis.items() if cti < FOREVER}
    return played


def _app(
    folder: str, plan: Node, slack: int, epoch_rows: int, points: bool
) -> tuple[wc.App, dict[str, wc.SourceStream]]:
    app = wc.App("random", Path(folder) / "store", epoch_rows=epoch_rows, allow_unbounded=True)
    sources = {
        name: app.stream(
            name, dict(SCHEMA), "t", end=None if points else "e", slack=slack, late="fail", max_ahead=None
        )
        for name in ("s0", "s1")
    }  # fmt: skip
    Stream(app, plan).into("result")
    return app, sources


def _look(folder: str) -> Seen:
    catalog = Catalog.open(Path(folder) / "store", create=False)
    try:
        row = catalog.streams.get("result")
        frame = StreamReader(catalog, "result").read(row.first, row.next)
        digests = [snapshot.digest for _, snapshot in catalog.epochs.history("result")]
    finally:
        catalog.close()
    events = [(line.pop(VS), line.pop(VE), line) for line in frame.iter_rows(named=True)]
    return Seen(events, row.cti, digests)
