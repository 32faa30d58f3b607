"""One stateful operator at work without an app: prepare, exchange, step, save, merge. Fast enough for many examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from waterclock.hashing import SPACE, ranges
from waterclock.operators.base import Turn
from waterclock.operators.registry import operator_of
from waterclock.plan import Node
from waterclock.reference import Event
from waterclock.schema import HASH, VE, VS
from waterclock.state import Indexed, Table, changes, merge, slice_range
from waterclock.time import BEGINNING, FOREVER


@dataclass(frozen=True)
class Batch:
    """One epoch: the events and the new CTI of each port, and the number of tasks."""

    events: tuple[tuple[Event, ...], ...]
    ctis: tuple[int, ...]
    parts: int = 1


def frame_of(node: Node, some: Sequence[Event]) -> pl.LazyFrame:
    rows = [{VS: vs, VE: ve, **payload} for vs, ve, payload in some]
    return pl.DataFrame(rows, schema=node.schema.frame_schema(), orient="row").lazy()


def run_operator(node: Node, batches: Sequence[Batch]) -> tuple[list[Event], int]:
    """The output of all epochs and the last output CTI."""
    given = list(epochs(node, batches))
    return [event for results, _ in given for event in results], given[-1][1]


def epochs(node: Node, batches: Sequence[Batch], fanout: int = 3) -> Iterator[tuple[list[Event], int]]:
    """The output of each epoch and the output CTI then; ``fanout`` says how many runs are kept before a merge."""
    operator = operator_of(node)
    ports = len(node.inputs)
    saved: dict[str, list[pl.DataFrame]] = {spec.name: [] for spec in operator.tables}
    lows = dict.fromkeys(saved, BEGINNING)
    old, top, cti = (BEGINNING,) * ports, BEGINNING, BEGINNING
    for epoch, batch in enumerate(batches):
        new = tuple(max(a, b) for a, b in zip(old, batch.ctis, strict=True))
        tables: dict[str, list[pl.DataFrame]] = {}
        for port, some in enumerate(batch.events):
            for name, frame in operator.prepare(port, frame_of(node.inputs[port], some)).items():
                tables.setdefault(name, []).append(frame)
        whole = {
            name: frames[0] if len(frames) == 1 else operator.fold(name, pl.concat(frames)).sort(HASH, VS, VE)
            for name, frames in tables.items()
        }
        finite = [time for some in batch.events for vs, ve, _ in some for time in (vs + 1, ve) if time < FOREVER]
        top = max([top, *finite, *(time for time in new if time < FOREVER)])
        shared = {spec.name for spec in operator.tables if spec.shared}
        added: dict[str, list[pl.DataFrame]] = {name: [] for name in saved}
        found: list[Event] = []
        ctis, new_lows = [], []
        for number, keys in enumerate(ranges(batch.parts)):
            mine = {name: frame if name in shared else slice_range(frame, keys) for name, frame in whole.items()}
            arrived = {name: frame for name, frame in mine.items() if frame.height}
            state = {
                spec.name: Table(
                    [Indexed(frame) for frame in saved[spec.name]],
                    (0, SPACE) if spec.shared else keys,
                    lows[spec.name],
                    spec.mortal,
                    epoch,
                )
                for spec in operator.tables
            }
            stepped = operator.step(Turn(arrived, state, old, new, top, number == 0))
            rows = stepped.output.select(VS, VE, *node.schema.names).iter_rows(named=True)
            results = [(row.pop(VS), row.pop(VE), row) for row in rows]
            assert all(cti <= vs < ve for vs, ve, _ in results), "a result behind the output CTI, or without duration"
            found += results
            ctis.append(stepped.cti)
            new_lows.append(stepped.lows)
            for spec in operator.tables:
                if spec.shared and number > 0:
                    continue
                news = arrived.get(spec.name) if spec.name in stepped.kept else stepped.added.get(spec.name)
                frame = changes(news, stepped.removed.get(spec.name), spec.mortal, epoch)
                if frame is not None:
                    added[spec.name].append(frame)
        assert min(ctis) >= cti, "time went back"
        cti = min(ctis)
        for spec in operator.tables:
            low = min((part.get(spec.name, BEGINNING) for part in new_lows), default=BEGINNING)
            lows[spec.name] = max(lows[spec.name], low)
            saved[spec.name] += added[spec.name]
            if len(saved[spec.name]) > fanout:
                merged = operator.fold(spec.name, merge(saved[spec.name], lows[spec.name], spec.mortal))
                saved[spec.name] = [merged.sort(HASH, VS, VE)] if merged.height else []
        old = new
        yield found, cti
