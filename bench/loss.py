"""What a power cut may take from a store: everything that was committed and not synced. Here it takes all of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from waterclock.catalog import Catalog, Vertex
from waterclock.runtime.recovery import base_of
from waterclock.state import Run
from waterclock.storage.blobs import Blob


def fresh(catalog: Catalog, vertex: Vertex) -> list[Run]:
    """Its state behind the last checkpoint."""
    known = {run.blob for _, run in base_of(catalog, vertex)}
    return [run for _, run in catalog.epochs.runs(vertex.name) if run.blob not in known]


def undurable(catalog: Catalog) -> list[Blob]:
    """State behind the checkpoints and output that is not stored, of all vertices."""
    found: list[Blob] = []
    for vertex in catalog.epochs.vertices():
        stored = catalog.epochs.snapshot(vertex.name, vertex.stored)
        end = catalog.streams.get(vertex.name).next
        found += [run.blob for run in fresh(catalog, vertex)]
        found += [s.blob for s in catalog.streams.segments(vertex.name, stored.output_end, end) if s.blob is not None]
    return found


def destroy(store: Path, blobs: Iterable[Blob]) -> int:
    """With zeros in their place; gives the number of bytes."""
    total = 0
    for blob in blobs:
        if (store / blob.path).exists():
            with (store / blob.path).open("r+b") as file:
                file.seek(blob.offset)
                total += file.write(bytes(blob.length))
    return total
