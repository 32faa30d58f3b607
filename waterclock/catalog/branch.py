"""A vertex as it stood after an epoch, in a catalog of its own: what it takes to execute the epochs behind it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from waterclock.catalog.catalog import Catalog
from waterclock.errors import StoreError
from waterclock.state import Run
from waterclock.storage import Blob
from waterclock.streams import Segment
from waterclock.time import FOREVER


@dataclass(frozen=True)
class Places:
    """Where the files of the other catalog are."""

    segment: Callable[[str, Segment, int, int], Segment]
    """That of a stream, or as much of it as lies between two numbers."""
    run: Callable[[Run], Run]


def in_place(root: Path) -> Places:
    """Nothing is copied but rows of the catalog: the files are named where they are, and nobody writes to them."""

    def there(blob: Blob) -> Blob:
        return replace(blob, path=str(root / blob.path))

    def segment(name: str, found: Segment, start: int, end: int) -> Segment:
        assert found.blob is not None
        return replace(found, blob=there(found.blob))

    return Places(segment, lambda run: replace(run, blob=there(run.blob)))


def branch(
    source: Catalog, target: Catalog, vertex: str, first: int, last: int, places: Places, *,
    names: Mapping[str, str] | None = None, check: bool = True, done: bool = False,
) -> None:  # fmt: skip
    """``target`` is empty. The vertex stands behind epoch ``first``; those up to ``last`` (at least one) are to do.

    ``names`` says what stateful nodes are called there, where they have another identity. ``check``: an epoch that
    gives other rows than are recorded is an error. ``done``: the epochs are recorded as done, with what they gave.
    """
    base = source.epochs.snapshot(vertex, first)
    recorded = source.epochs.recorded(vertex, first, last)
    if base.epoch != first or [intent.epoch for intent, _ in recorded] != list(range(first + 1, last + 1)):
        have = f"of {first + 1} to {last}, not all are recorded"
        raise StoreError("STORE.NO_EPOCH", epoch=first + 1, vertex=vertex, have=have)
    found = source.epochs.get(vertex)
    given = recorded[-1][1] if done else base
    ends = {name: (base.positions.get(name, 0), taken.end, taken.new) for name, taken in recorded[-1][0].inputs.items()}
    ends[vertex] = (base.positions.get(vertex, base.output_end), given.output_end, given.cti)  # also of a back edge
    db = target._db

    def named(text: str) -> str:
        for old, new in (names or {}).items():
            text = text.replace(old, new)
        return text

    def write() -> None:
        target.epochs.create(vertex, found.app, found.identity, "", found.inputs)
        for name, (start, end, cti) in ends.items():
            target.streams.create(source.streams.get(name).declaration)
            db.execute(
                "UPDATE streams SET first_seq = ?, next_seq = ?, durable_seq = ?, cti = ?, ended = ? WHERE name = ?",
                start, end, end, cti, int(cti == FOREVER), name,
            )  # fmt: skip
            for segment in source.streams.segments(name, start, end):
                target.streams.put(name, places.segment(name, segment, start, end))
        db.execute("UPDATE vertices SET epoch = ?, durable_epoch = ? WHERE name = ?", given.epoch, first, vertex)
        db.execute("INSERT INTO epochs VALUES (?, ?, '', ?, NULL)", vertex, first, named(base.to_json()))
        for intent, snapshot in recorded:
            expected = snapshot.to_json() if check and not done else None
            db.execute(
                "INSERT INTO epochs VALUES (?, ?, ?, ?, ?)",
                vertex, intent.epoch, intent.to_json(), snapshot.to_json() if done else None, expected,
            )  # fmt: skip
        runs = (replace(run, operator=named(run.operator)) for _, run in source.epochs.runs(vertex, first))
        target.epochs.add_runs(vertex, first, map(places.run, runs))
        for each in source.filters.all():
            if each.vertex == vertex:
                target.filters.put(each)
        making = source.makings.at(vertex, last)
        if making is not None:
            target.makings.note(vertex, first, making)

    target.transact(write)
