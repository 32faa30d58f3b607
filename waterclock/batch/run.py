"""Batch mode: the answer over the whole history at once, computed by Spark SQL and not by the operators."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from waterclock.batch import history
from waterclock.batch.compile import compiled
from waterclock.batch.handle import BatchHandle
from waterclock.catalog import Catalog, Filter
from waterclock.connect.base import Sink
from waterclock.errors import ConfigError, RunError, WaterclockError
from waterclock.hashing import digest
from waterclock.optimizer.cycles import cycles
from waterclock.plan.nodes import Input, Node
from waterclock.plan.rebuild import bottom_up, parts_of

MOST_TRIPS = 1000
"""Around a cycle."""


def run_batch(
    app: str, catalog: Catalog, sources: Iterable[str], outputs: Mapping[str, Node], sinks: Mapping[str, Sink],
    tables: Mapping[str, pl.DataFrame], master: str, spark: Mapping[str, str],
) -> BatchHandle:  # fmt: skip
    """Every stream counts as ended. Nothing is written to the store; ``tables`` are what the program says they are."""
    began = time.monotonic()
    for name in sinks:
        _check_not_live(catalog, name)
    ctis = {name: catalog.streams.last_finite_cti(name) for name in catalog.streams.names()}
    filtered = _filtered(catalog)
    ctis |= {name: ctis[stream] for name, (stream, _) in filtered.items()}
    plans = {name: _reading(name, root, filtered) for name, root in outputs.items()}
    around = cycles(plans)
    with tempfile.TemporaryDirectory(prefix="wc-batch-") as folder:
        histories: dict[str, history.History] = {}
        for stream in set(compiled(plans, ctis).streams) - set(around):
            place = Path(folder) / str(len(histories))
            histories[stream] = (
                history.of_table(tables[stream], place)
                if stream in tables
                else history.of_stream(catalog, *filtered.get(stream, (stream, [])), place)
            )
        from waterclock.batch.spark.session import answers  # Java is needed only here

        for name in around:
            query, wanted = compiled(_with_what_it_reads(name, plans), ctis), {name: plans[name]}
            found = plans[name].schema.empty()
            for trip in range(MOST_TRIPS):  # the result as one more stream, until nothing changes
                histories[name] = history.of_events(found, Path(folder) / f"{name} after {trip} trips")
                before, found = found, answers(app, master, spark, query, histories, wanted)[name]
                if (found.height, digest(found)) == (before.height, digest(before)):
                    break
            else:
                raise RunError("RUN.CYCLE_GOES_ON", output=name, rounds=MOST_TRIPS)
        frames = answers(app, master, spark, compiled(plans, ctis), histories, outputs)
    for name, sink in sinks.items():
        _deliver(name, outputs[name], sink, frames[name])
    rows = {name: found.rows for name, found in histories.items()} | {name: f.height for name, f in frames.items()}
    taken = {name: sum(rows[stream] for stream in _streams(plan)) for name, plan in plans.items()}
    counters = {name: catalog.streams.get(name).counters for name in sources}
    undelivered = [name for name in outputs if name not in sinks]
    return BatchHandle(app, frames, taken, counters, undelivered, time.monotonic() - began)


def _with_what_it_reads(name: str, plans: Mapping[str, Node]) -> dict[str, Node]:
    """An output and those that it is made of."""
    found, todo = dict[str, Node](), [name]
    while todo:
        at = todo.pop()
        if at in plans and at not in found:
            found[at] = plans[at]
            todo.extend(_streams(plans[at]))
    return found


def _streams(plan: Node) -> set[str]:
    """What it reads, other outputs too."""
    return {part.stream for part in parts_of(plan) if isinstance(part, Input)}


def _filtered(catalog: Catalog) -> dict[str, tuple[str, list[Filter]]]:
    """Streams of which an output left something out, by names of their own."""
    found: dict[str, tuple[str, list[Filter]]] = {}
    for each in catalog.filters.all():
        if each.since is not None:
            found.setdefault(_named(each.vertex, each.stream), (each.stream, []))[1].append(each)
    return found


def _reading(output: str, node: Node, filtered: Mapping[str, object]) -> Node:
    """A plan over its streams as the output saw them."""

    def change(part: Node) -> Node:
        if isinstance(part, Input) and _named(output, part.stream) in filtered:
            return replace(part, stream=_named(output, part.stream))
        return part

    return bottom_up(node, change)


def _named(output: str, stream: str) -> str:
    return f"{stream} as {output} saw it"


def _check_not_live(catalog: Catalog, name: str) -> None:
    if any(vertex.name == name and vertex.epoch >= 0 for vertex in catalog.epochs.vertices()):
        raise ConfigError("RUN.BATCH_AFTER_LIVE", output=name)


def _deliver(name: str, node: Node, sink: Sink, frame: pl.DataFrame) -> None:
    """As the one and only epoch."""
    try:
        writer = sink.open(name, node.schema, -1, None)
        try:
            if frame.height:
                writer.write(0, 0, frame)
        finally:
            writer.close()
    except WaterclockError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise RunError("RUN.SINK_FAILED", output=name, epoch=0, reason=reason) from error
