"""Proves that recorded epochs give what they gave: executes them again and finds the first difference, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl

from waterclock.catalog import Catalog, Intent, Making, Snapshot
from waterclock.errors import StoreError
from waterclock.hashing import digest
from waterclock.past.epochs import Recorded
from waterclock.plan import Node, codes_of, user_code
from waterclock.runtime.log import StreamReader
from waterclock.runtime.observer import Seen, observing
from waterclock.runtime.replay import Replay, readable, state_of
from waterclock.storage import Damaged
from waterclock.storage.blobs import checksum, read_bytes

CODE, LIBRARY, RANDOM, DAMAGE, UNKNOWN = "user code", "library", "not deterministic", "damage", "unknown"
Tell = Callable[[int], None]


@dataclass(frozen=True)
class Difference:
    epoch: int
    operator: str
    """Where it shows first."""
    kind: str
    """What is behind it, in a word or two ..."""
    why: str
    """... and in a sentence."""
    recorded: pl.DataFrame | None = None
    """Rows of its output, or of its state, that were there and are not now."""
    now: pl.DataFrame | None = None
    """Rows that are there now and were not."""


@dataclass(frozen=True)
class Verdict:
    vertex: str
    first: int
    last: int
    difference: Difference | None = None

    @property
    def same(self) -> int:
        """So many epochs from the first on gave the same."""
        return (self.last + 1 if self.difference is None else self.difference.epoch) - self.first


def verify(found: Recorded, first: int, last: int, tell: Tell = lambda epochs: None) -> Verdict:
    """Executes the epochs ``first`` to ``last`` and compares; ``tell`` hears of every one that was done."""
    difference = _first(found, found.base_of(first), last, tell, every_state=False)
    if difference is not None and difference.kind != DAMAGE:
        # What it remembers may have gone another way long before that came out.
        earlier = _first(found, found.base_of(first), difference.epoch, lambda epochs: None, every_state=True)
        difference = earlier or difference
    return Verdict(found.vertex, first, last, difference)


def _first(found: Recorded, base: int, last: int, tell: Tell, every_state: bool) -> Difference | None:
    catalog, vertex = found.catalog, found.vertex
    if last not in range(base + 1, found.last + 1):
        raise found.missing(last)
    names, whole = found.names(base + 1), set[str]()
    with Replay(catalog, found.plan, base, last, check=False, names=names) as again:
        for intent, then in catalog.epochs.recorded(vertex, base, last):
            try:
                with readable(vertex):
                    _check_files(catalog, intent, whole)
                again.step()
                with readable(vertex, bool(names)):
                    given = StreamReader(catalog, vertex).read(then.output_end - then.output_rows, then.output_end)
                    asked = every_state or intent.epoch == last
                    place = _in_state(found, then, again, names) if asked else None
            except StoreError as error:
                if error.code != "STORE.DAMAGED":
                    raise
                return _damaged(intent.epoch, error)
            if place is None and (_told(then) != _told(again.snapshot) or digest(given) != digest(again.output())):
                place = Difference(intent.epoch, found.plan.root.label, "", "", *_bags(given, again.output()))
            if place is not None:
                return _explained(found, place)
            tell(1)
    return None


def _told(snapshot: Snapshot) -> tuple[int, int, int, dict[str, int]]:
    return snapshot.digest, snapshot.output_end, snapshot.cti, snapshot.left_out


def _check_files(catalog: Catalog, intent: Intent, whole: set[str]) -> None:
    """Every byte that the epoch reads: a query looks only at the columns that it needs."""
    for name, taken in intent.inputs.items():
        for segment in catalog.streams.segments(name, taken.start, taken.end):
            blob = segment.blob
            assert blob is not None
            key = f"{blob.path} {blob.offset}"
            if key not in whole and segment.external is None:
                if checksum(read_bytes(catalog.root, blob)) != blob.checksum:
                    raise Damaged(blob, f"the checksum differs; it holds events of {name!r}")
                whole.add(key)


def _in_state(found: Recorded, then: Snapshot, again: Replay, names: dict[str, str]) -> Difference | None:
    """The first stateful operator that remembers something else."""
    if then.epoch not in found.bases:
        return None  # a bundle has the state before its first epoch only
    old = {new: old for old, new in names.items()}
    before, now = state_of(found.catalog, found.plan, then, old), again.state()
    for node in found.plan.nodes:
        left, right = before.get(node.id, {}), now.get(node.id, {})
        for table in sorted({*left, *right}):
            a, b = left.get(table), right.get(table)
            empty = a if a is not None else b
            assert empty is not None
            a, b = (empty.clear() if frame is None else frame for frame in (a, b))
            if digest(a) != digest(b):
                return Difference(then.epoch, node.node.label, "", "", *_bags(a, b))
    return None


def _bags(a: pl.DataFrame, b: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows that only one of the two has, as often as it has more of them."""

    def numbered(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(pl.int_range(pl.len()).over(frame.columns).alias("_copy"))

    if a.schema != b.schema:
        return a, b
    left, right = numbered(a), numbered(b)
    return tuple(
        one.join(other, on=one.columns, how="anti", nulls_equal=True).drop("_copy")
        for one, other in ((left, right), (right, left))
    )  # type: ignore[return-value]


def _damaged(epoch: int, error: StoreError) -> Difference:
    return Difference(epoch, "-", DAMAGE, error.message)


def _explained(found: Recorded, place: Difference) -> Difference:
    then, now = found.changed(place.epoch)
    codes = _changes(then.codes, now.codes)
    if codes:
        return replace(place, kind=CODE, why=f"your code changed since: {', '.join(codes)}")
    libraries = _changes(then.libraries, now.libraries)
    culprit = _not_deterministic(found, place.epoch)
    if culprit is not None:
        why = f"executing it twice gives two results: {_named(culprit)} depends on more than its input"
        return replace(place, operator=culprit.label, kind=RANDOM, why=why)
    if libraries:
        told = ", ".join(f"{name} ({_was(then, name)}, now {_was(now, name)})" for name in libraries)
        return replace(place, kind=LIBRARY, why=f"a library changed since: {told}")
    return replace(place, kind=UNKNOWN, why="neither your code nor a library that it names has changed")


def _changes(then: dict[str, str], now: dict[str, str]) -> list[str]:
    return sorted(name for name in {*then, *now} if then.get(name) != now.get(name))


def _was(making: Making, library: str) -> str:
    return making.libraries.get(library, "not used")


def _not_deterministic(found: Recorded, epoch: int) -> Node | None:
    """The first operator that gives two results for one input."""
    once, again = (_observed(found, epoch) for _ in range(2))
    for left, right in zip(once, again, strict=False):
        a, b = left.given, right.given
        if (a is None) != (b is None) or (a is not None and b is not None and digest(a) != digest(b)):
            return left.operator
    return None


def _observed(found: Recorded, epoch: int) -> list[Seen]:
    base = found.base_of(epoch)
    with Replay(found.catalog, found.plan, base, epoch, check=False, names=found.names(base + 1)) as again:
        while again.snapshot.epoch < epoch - 1:
            again.step()
        with observing() as observer:
            again.step()
        return observer.seen


def _named(node: Node) -> str:
    """The user's functions in it, or the operator."""
    alone = {code.name for found in user_code(node) for code in codes_of(found)}
    before = {code.name for child in node.inputs for found in user_code(child) for code in codes_of(found)}
    return ", ".join(sorted(alone - before)) or node.label
