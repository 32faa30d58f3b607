"""What may go. Everything that reads a stream holds it from a number on; the least of them is its low-water mark.

A vertex holds what its durable snapshot has not taken yet: from there it can do everything again. So the mark of a
stream follows from those of its readers, and theirs from what they have made durable: from the outputs back to the
sources. Below the mark, global snapshots and pins hold what they need, and then retention decides.
"""

from __future__ import annotations

from dataclasses import dataclass

from waterclock.catalog import Catalog, Snapshot, StreamRow, Vertex
from waterclock.optimizer.cut import OUTPUT
from waterclock.streams import Segment
from waterclock.time import BEGINNING


@dataclass(frozen=True)
class Hold:
    who: str
    seq: int
    """Needed from this number on."""


@dataclass(frozen=True)
class Garbage:
    """Of one stream."""

    stream: str
    first: int
    next: int
    hold: Hold
    """What holds the low-water mark."""
    end: int
    """Events below this may go: whole segments that neither readers nor retention keep."""
    bytes: int
    """Of the store, that they take; files that are read in place are the user's."""
    kept: str
    """What keeps the first event behind them."""


def holds(catalog: Catalog, row: StreamRow) -> list[Hold]:
    """What is needed of a stream, and by whom; the lowest first."""
    found = _of_readers(catalog, row)
    inputs = {vertex.name: vertex.inputs for vertex in catalog.epochs.vertices()}
    for snapshot in catalog.snapshots.retained():
        for vertex, part in snapshot.parts.items():
            if row.name in inputs.get(vertex, ()):
                base = catalog.epochs.snapshot(vertex, part.epoch)
                found.append(Hold(f"snapshot {snapshot.label} of {snapshot.app}", base.positions.get(row.name, 0)))
    found += [Hold(f"pin {pin.name!r}", pin.seq) for pin in catalog.pins.all() if pin.stream == row.name]
    return sorted(found, key=lambda hold: hold.seq)


def _of_readers(catalog: Catalog, row: StreamRow) -> list[Hold]:
    found = [Hold("the disk: what follows is not synced yet", row.durable)]
    delivered = catalog.sinks.delivered()
    for vertex in catalog.epochs.vertices():
        if row.name in vertex.inputs:
            base = catalog.epochs.durable_snapshot(vertex)
            found.append(Hold(f"{vertex.name}, durable epoch {vertex.durable}", base.positions.get(row.name, 0)))
        if vertex.name == row.name and row.name in delivered:
            after = catalog.epochs.snapshot(row.name, delivered[row.name])
            found.append(Hold(f"its sink, delivered epoch {delivered[row.name]}", after.output_end))
    return found


def replay_base(catalog: Catalog, vertex: Vertex, epoch: int) -> Snapshot | None:
    """Where events begin that still matter after an epoch to a vertex that replays; None while saved state does."""
    window = vertex.strategy.window
    assert window is not None
    before, after = catalog.epochs.durable_snapshot(vertex), catalog.epochs.snapshot(vertex.name, epoch)
    now = min(after.ctis.values())
    tops = [top for node, top in before.tops.items() if node != OUTPUT]
    if vertex.base is None and tops and max(tops) > now - window:
        return None
    positions: dict[str, int] = {}
    for name, end in after.positions.items():
        start = before.positions.get(name, 0)
        first = start if now == BEGINNING else catalog.streams.first_after(name, now - window, start)
        positions[name] = end if first is None else min(first, end)
    ctis = {name: catalog.streams.cti_at(name, seq) for name, seq in positions.items()}
    return Snapshot(positions=positions, ctis=ctis)


def low_water(catalog: Catalog, row: StreamRow) -> int:
    """Below it every reader's durable snapshot has passed; it may be merged, if it may not go."""
    return min(hold.seq for hold in _of_readers(catalog, row))


def collectable(catalog: Catalog, row: StreamRow) -> Garbage:
    hold = holds(catalog, row)[0]
    retention = row.declaration.retention
    if retention is None and row.next > row.first:
        return Garbage(row.name, row.first, row.next, hold, row.first, 0, "no retention was set: for ever")
    kept = hold.who if hold.seq < row.next else "nothing: all of it may go"
    going: list[Segment] = []
    for segment in catalog.streams.segments(row.name, row.first, hold.seq):
        if segment.end > hold.seq:
            break
        if row.cti == BEGINNING or segment.greatest_vs >= row.cti - (retention or 0):
            kept = "retention"
            break
        going.append(segment)
    size = sum(segment.blob.length for segment in going if segment.blob is not None and segment.external is None)
    return Garbage(row.name, row.first, row.next, hold, going[-1].end if going else row.first, size, kept)
