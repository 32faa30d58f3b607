"""A vertex as it stood after an epoch, in a catalog of its own: what it takes to execute the epochs behind it again.

Nothing is copied but rows of the catalog: the files are named where they are, and nobody writes to them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from waterclock.catalog.catalog import Catalog
from waterclock.errors import StoreError
from waterclock.storage import Blob
from waterclock.time import FOREVER


def branch(source: Catalog, target: Catalog, vertex: str, first: int, last: int) -> None:
    """``target`` is empty. The vertex stands behind epoch ``first``; those up to ``last`` (at least one) are to do."""
    base = source.epochs.snapshot(vertex, first)
    recorded = source.epochs.recorded(vertex, first, last)
    if base.epoch != first or [intent.epoch for intent, _ in recorded] != list(range(first + 1, last + 1)):
        raise StoreError("STORE.NO_EPOCH", epoch=first, vertex=vertex)
    found = next(each for each in source.epochs.vertices() if each.name == vertex)
    ends = {name: (base.positions.get(name, 0), taken.end, taken.new) for name, taken in recorded[-1][0].inputs.items()}
    ends[vertex] = (base.positions.get(vertex, base.output_end), base.output_end, base.cti)  # also of a back edge
    db = target._db

    def write() -> None:
        target.epochs.create(vertex, found.app, found.identity, "", found.inputs)
        for name, (start, end, cti) in ends.items():
            target.streams.create(source.streams.get(name).declaration)
            db.execute(
                "UPDATE streams SET first_seq = ?, next_seq = ?, durable_seq = ?, cti = ?, ended = ? WHERE name = ?",
                start, end, end, cti, int(cti == FOREVER), name,
            )  # fmt: skip
            for segment in source.streams.segments(name, start, end):
                assert segment.blob is not None
                target.streams.put(name, replace(segment, blob=_in_place(source.root, segment.blob)))
        db.execute("UPDATE vertices SET epoch = ?, durable_epoch = ? WHERE name = ?", first, first, vertex)
        db.execute("INSERT INTO epochs VALUES (?, ?, '', ?, NULL)", vertex, first, base.to_json())
        for intent, snapshot in recorded:
            text = snapshot.to_json()
            db.execute("INSERT INTO epochs VALUES (?, ?, ?, NULL, ?)", vertex, intent.epoch, intent.to_json(), text)
        runs = (replace(run, blob=_in_place(source.root, run.blob)) for _, run in source.epochs.runs(vertex, first))
        target.epochs.add_runs(vertex, first, runs)
        for each in source.filters.all():
            if each.vertex == vertex:
                target.filters.put(each)

    target.transact(write)


def _in_place(root: Path, blob: Blob) -> Blob:
    return replace(blob, path=str(root / blob.path))
