"""Recovery is loading what is durable and computing what came behind it again.

Committed rows and runs that were not synced may be gone after a power cut. They are found by length and checksum.
Output that is gone comes from executing the recorded intents again, checked by digest; state that is gone is rebuilt
(see ``rebuild``), for the keys that lost it, from the last checkpoint or from the events that still matter. Output that
is there is not written again.
"""

from __future__ import annotations

from waterclock.catalog import Catalog, Keys, Snapshot, Vertex
from waterclock.errors import RunError, StoreError
from waterclock.hashing import SPACE
from waterclock.operators.registry import operator_of
from waterclock.optimizer.cut import VertexPlan
from waterclock.plan.guarded import dead_stream
from waterclock.runtime.store import Store
from waterclock.state import Run
from waterclock.storage import Damaged, read
from waterclock.storage.blobs import Blob
from waterclock.time import BEGINNING

EVERY_KEY: Keys = ((0, SPACE),)


def check_tail(store: Store, plan: VertexPlan) -> bool:
    """At start, or when damage was found: reads what was committed but not synced, and gives up what is damaged."""
    epochs = store.catalog.epochs
    vertex = epochs.get(plan.name)
    stored, newest = epochs.snapshot(plan.name, vertex.stored), epochs.snapshot(plan.name)
    known = {run.blob for _, run in base_of(store.catalog, vertex)}
    state = [(number, run) for number, run in epochs.runs(plan.name) if run.blob not in known]
    streams = store.catalog.streams
    outputs = streams.segments(plan.name, stored.output_end, newest.output_end)
    outputs += streams.segments(dead_stream(plan.name), stored.dead_end, newest.dead_end)
    whole = all(_whole(store, segment.blob) for segment in outputs if segment.blob is not None)
    damaged = [run for _, run in state if not _whole(store, run.blob)]
    if whole and not damaged:
        return vertex.lost is not None
    if vertex.epoch > vertex.stored:
        roll_back(store, plan.name, vertex.generation)
        vertex = epochs.get(plan.name)
        # Runs that had been merged away are live again.
        state = [(number, run) for number, run in epochs.runs(plan.name) if run.blob not in known]
        damaged = [run for _, run in state if not _whole(store, run.blob)]
    if damaged:
        _lose(store, plan, vertex, damaged)
    return True


def roll_back(store: Store, vertex: str, generation: int | None = None) -> None:
    """Back to what is stored; the intents behind it stay recorded and are executed again.

    Nothing is done if that has happened since ``generation``: another driver has found the damage too.
    """
    catalog = store.catalog

    def back() -> None:
        now = catalog.epochs.get(vertex)
        if generation not in (None, now.generation):
            return
        if now.epoch <= now.stored:  # looked up here: a keeper may have moved the mark just before
            raise StoreError(
                "STORE.DAMAGED", what=f"the output {vertex!r}", reason="a durable file is missing or changed",
                fix="Restore the store's files from a copy.",
            )  # fmt: skip
        base = catalog.epochs.snapshot(vertex, now.stored)
        catalog.epochs.roll_back(vertex, now.stored)
        catalog.epochs.count(vertex, {"rollbacks": 1})
        catalog.streams.roll_back(vertex, base.output_end, base.cti)
        catalog.streams.roll_back(dead_stream(vertex), base.dead_end, BEGINNING)

    catalog.transact(back, store.lease, durable=True)


def base_of(catalog: Catalog, vertex: Vertex) -> list[tuple[int, Run]]:
    """The state that survives anything."""
    return catalog.epochs.runs(vertex.name, vertex.durable) if vertex.base is None else []


def _lose(store: Store, plan: VertexPlan, vertex: Vertex, damaged: list[Run]) -> None:
    """Gives up the state of the keys that a damaged run is about; it is rebuilt from the base."""
    epochs = store.catalog.epochs

    def lose() -> None:
        now = epochs.get(plan.name)  # looked up here: a keeper may have moved the mark just before
        if now.generation != vertex.generation:
            return  # another driver has done it
        base, live = dict(base_of(store.catalog, now)), dict(epochs.runs(plan.name))
        fresh = {number: run for number, run in live.items() if number not in base}
        merged = {number: run for number, run in base.items() if number not in live}
        ranges = [*(now.lost or ()), *((run.least_hash, run.greatest_hash + 1) for run in damaged)]
        lost = closure(ranges, [*fresh.values(), *merged.values()]) if can_be_partial(plan) else EVERY_KEY
        gone = [number for number, run in fresh.items() if _inside(run, lost)]
        revived = [number for number, run in merged.items() if _inside(run, lost)]
        epochs.lose(plan.name, lost, gone, revived)
        store.catalog.snapshots.abandon(plan.name, now.durable, now.epoch)
        epochs.count(plan.name, {"rebuilds": 1})

    store.catalog.transact(lose, store.lease, durable=True)


def can_be_partial(plan: VertexPlan) -> bool:
    """Whether the state of some keys follows from the input without that of others."""
    shared = any(spec.shared for node in plan.nodes for spec in operator_of(node.node).tables)
    return plan.stages == 2 and not shared


def closure(found: list[tuple[int, int]], others: list[Run]) -> Keys:
    """The least ranges of keys around these that no run is partly in."""
    while True:
        found = _joined(found)
        grown = found + [
            (run.least_hash, run.greatest_hash + 1)
            for run in others
            if any(low <= run.greatest_hash and run.least_hash < high for low, high in found)
        ]
        if _joined(grown) == found:
            return tuple(found)
        found = grown


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(high, joined[-1][1])
        else:
            joined.append((low, high))
    return joined


def _inside(run: Run, keys: Keys) -> bool:
    return any(low <= run.least_hash and run.greatest_hash < high for low, high in keys)


def roll_back_where_named(store: Store, producer: str, damage: Damaged) -> None:
    """The producer runs in another driver, which finds its vertex rolled back; once, however many readers say so."""
    row = store.catalog.streams.get(producer)
    if any(segment.blob == damage.blob for segment in store.catalog.streams.segments(producer, row.first, row.next)):
        roll_back(store, producer)


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


def beyond_repair(damage: Damaged) -> StoreError:
    fix = "It was durable and cannot be computed again: restore the file from a copy."
    return StoreError("STORE.DAMAGED", what=damage.blob.path, reason=damage.reason, fix=fix)


def _whole(store: Store, blob: Blob) -> bool:
    try:
        read(store.root, blob)
    except Damaged:
        return False
    return True
