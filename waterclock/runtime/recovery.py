"""Recovery is loading a snapshot and executing the recorded intents again.

Committed rows and runs beyond the durable mark may be gone after a power cut. They are found by length and
checksum; the vertex goes back to its durable snapshot and computes the same again, checked by digest.
"""

from __future__ import annotations

from waterclock.catalog import Catalog, Snapshot
from waterclock.errors import RunError, StoreError
from waterclock.plan.guarded import dead_stream
from waterclock.runtime.store import Store
from waterclock.storage import Damaged, read
from waterclock.storage.blobs import Blob
from waterclock.time import BEGINNING


def check_tail(store: Store, vertex: str) -> None:
    """At start: reads what was committed but not durable, and rolls back if any of it is damaged."""
    epochs = store.catalog.epochs
    durable = next((v.durable for v in epochs.vertices() if v.name == vertex), -1)
    base, newest = epochs.snapshot(vertex, durable), epochs.snapshot(vertex)
    if newest.epoch <= durable:
        return
    streams = store.catalog.streams
    segments = streams.segments(vertex, base.output_end, newest.output_end)
    segments += streams.segments(dead_stream(vertex), base.dead_end, newest.dead_end)
    known = {run.blob for _, run in epochs.runs(vertex, durable)}
    fresh = [run.blob for _, run in epochs.runs(vertex) if run.blob not in known]
    blobs = [segment.blob for segment in segments if segment.blob is not None] + fresh
    if not all(_whole(store, blob) for blob in blobs):
        roll_back(store, vertex)


def roll_back(store: Store, vertex: str) -> None:
    """Back to the durable snapshot; the intents behind it stay recorded and are executed again."""
    catalog = store.catalog
    durable = next(v.durable for v in catalog.epochs.vertices() if v.name == vertex)
    if catalog.epochs.snapshot(vertex).epoch <= durable:
        raise StoreError(
            "STORE.DAMAGED", what=f"the state of {vertex!r}", reason="a durable file is missing or changed",
            fix="Restore the store's files from a copy.",
        )  # fmt: skip
    base = catalog.epochs.snapshot(vertex, durable)

    def back() -> None:
        catalog.epochs.roll_back(vertex, durable)
        catalog.epochs.count(vertex, {"rollbacks": 1})
        catalog.streams.roll_back(vertex, base.output_end, base.cti)
        catalog.streams.roll_back(dead_stream(vertex), base.dead_end, BEGINNING)

    catalog.transact(back, store.lease, durable=True)


def check_output(catalog: Catalog, vertex: str, snapshot: Snapshot) -> None:
    """An epoch that was executed before must give the same rows again."""
    expected = catalog.epochs.expected(vertex, snapshot.epoch)
    if expected is not None and (expected.digest, expected.output_end, expected.left_out) != (
        snapshot.digest,
        snapshot.output_end,
        snapshot.left_out,
    ):
        raise RunError("RUN.NOT_DETERMINISTIC", epoch=snapshot.epoch, vertex=vertex)


def producer_of(store: Store, damage: Damaged) -> str | None:
    """The vertex that can compute a damaged stream file again, if there is one."""
    parts = damage.blob.path.split("/")
    if parts[0] != "streams":
        return None
    return parts[1] if any(vertex.name == parts[1] for vertex in store.catalog.epochs.vertices()) else None


def _whole(store: Store, blob: Blob) -> bool:
    try:
        read(store.root, blob)
    except Damaged:
        return False
    return True
