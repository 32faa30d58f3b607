"""Answers in this process. A plan without state is one lazy Polars query over the files; others are run by the engine,
epoch by epoch, in a scratch catalog where every stream has ended."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl

from waterclock.asking.reading import Laid
from waterclock.catalog import Catalog
from waterclock.operators import leg as legs
from waterclock.optimizer import Leg, Statistics, VertexPlan
from waterclock.plan.guarded import DEAD_ROWS, Guarded, dead_stream, has_dead_letters
from waterclock.runtime.files import retain
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.log import StreamReader
from waterclock.runtime.store import Store
from waterclock.runtime.task import Program
from waterclock.runtime.vertex import VertexWorker
from waterclock.streams import Declaration, Piece, Segment, scan_piece
from waterclock.time import BEGINNING, FOREVER

EPOCH_ROWS = 2_000_000
"""Of one input at a time: bounds the memory that a question takes."""


def is_lazy(plan: VertexPlan) -> bool:
    """Whether it works event by event, and no row can be left out."""
    guards = [node for leg in plan.legs for node in leg.operators if isinstance(node, Guarded)]
    return not plan.nodes and not any(node.on_error.leaves_out for node in guards)


def lazy(plan: VertexPlan, laid: Mapping[str, Laid]) -> pl.LazyFrame:
    return pl.concat([legs.run(leg, _rows(leg, laid[leg.origin]), {}) for leg in plan.legs])


def _rows(leg: Leg, stream: Laid) -> pl.LazyFrame:
    pieces = [Piece(s.blob, 0, s.rows, s.external) for s in stream.segments if s.blob is not None]
    found = [scan_piece(Path("/"), piece, stream.declaration) for piece in pieces]
    return pl.concat(found) if found else leg.source.schema.empty().lazy()


def stepped(plan: VertexPlan, laid: Mapping[str, Laid], folder: Path, enough: Callable[[int], bool]) -> pl.DataFrame:
    """The rows that the engine gives; it stops when there are ``enough``."""
    with scratch(folder, laid) as catalog:
        store = Store(catalog, None)
        catalog.transact(lambda: _declare(catalog, plan))
        program = Program(str(folder), plan, {name: each.declaration for name, each in laid.items()})
        worker = VertexWorker(store, program, InProcessRunner(), EPOCH_ROWS, None, Statistics())
        try:
            while worker.turn() and not enough(catalog.streams.get(plan.name).next):
                pass
            return StreamReader(catalog, plan.name).read(0, catalog.streams.get(plan.name).next)
        finally:
            for node in plan.nodes:
                retain(f"{program.root} {plan.name} {node.id}", set())


def _declare(catalog: Catalog, plan: VertexPlan) -> None:
    catalog.epochs.create(plan.name, "question", plan.identity, "", plan.inputs)
    catalog.streams.create(Declaration(plan.name, plan.root.schema, None))
    if has_dead_letters(plan.root):
        catalog.streams.create(Declaration(dead_stream(plan.name), DEAD_ROWS, None))


@contextmanager
def scratch(folder: Path, laid: Mapping[str, Laid]) -> Iterator[Catalog]:
    """A catalog of these streams, each of which has ended; nothing is copied but rows of the catalog."""
    catalog = Catalog.scratch(folder)
    try:
        catalog.transact(lambda: _put_all(catalog, laid))
        yield catalog
    finally:
        catalog.close()


def _put_all(catalog: Catalog, laid: Mapping[str, Laid]) -> None:
    for name, stream in laid.items():
        catalog.streams.create(replace(stream.declaration, name=name, retention=None))
        for segment in stream.segments:
            catalog.streams.put(name, segment)
        times = [cti for cti in (stream.cti, FOREVER) if cti > BEGINNING]
        ends = [Segment(stream.rows, 0, cti, None, BEGINNING, BEGINNING) for cti in times]
        catalog.streams.end(name, stream.rows, ends)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="waterclock-query-") as made:
        yield Path(made)
