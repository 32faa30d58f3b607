"""A past segment run anew, perhaps by another version of the program, in a store of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from waterclock.catalog import Catalog
from waterclock.declared import Declared, lives_of
from waterclock.errors import ConfigError, StoreError
from waterclock.optimizer.recovery import memory
from waterclock.runtime.log import StreamLog, StreamReader, create_source
from waterclock.runtime.store import Store
from waterclock.schema import VS
from waterclock.streams import Declaration
from waterclock.time import BEGINNING

CHUNK = 1 << 20
"""Events copied at a time."""


def reach(app: Declared) -> int | None:
    """How long before a moment events can matter to results behind it; None: any may."""
    roots = {name: plan.root for name, (plan, _) in app.outputs.items()}
    lives = lives_of(app.streams, roots)
    found: dict[str, int | None] = {}
    for name, (plan, _) in app.outputs.items():  # one that reads another output was declared behind it
        before = [found[each] for each in plan.inputs if each in found and each != name]
        mine = memory(plan, lives)
        found[name] = None if mine is None or None in before else mine + max([0, *(b for b in before if b is not None)])
    known = list(found.values())
    return None if None in known else max([0, *(each for each in known if each is not None)])


def copy_events(
    source: Catalog, app: Declared, start: int, end: int, tell: Callable[[int], None] = lambda rows: None
) -> dict[str, int]:
    """The events that start in ``[start, end)``, as the source has admitted them, into the store of ``app``, which is
    new; gives how many of each stream. Time stands at ``end``, or where it stood."""
    if Catalog.is_in(app.store):
        raise StoreError("STORE.NOT_EMPTY", store=app.store)
    wanted = {name: declaration for name, (declaration, _) in app.streams.items()}
    _check(source, wanted, start)
    store = Store(Catalog.open(app.store, create=True), None)
    try:
        return {name: _copy(source, store, each, start, end, tell) for name, each in wanted.items()}
    finally:
        store.close()


def rows_between(source: Catalog, names: Mapping[str, object], start: int, end: int) -> int:
    """About how many will be copied."""
    found = [segment for name in names for segment in source.streams.segments(name, 0, source.streams.get(name).next)]
    return sum(each.rows for each in found if each.greatest_vs >= start and each.least_vs < end)


def _check(source: Catalog, wanted: Mapping[str, Declaration], start: int) -> None:
    for name, declaration in wanted.items():
        row = source.streams.get(name)
        left = source.streams.segments(name, row.first, row.next)[:1]
        if row.first > 0 and all(segment.least_vs > start for segment in left):  # results would lack what was removed
            raise StoreError("STREAM.TRIMMED", seq=row.first - 1, stream=name, first=row.first)
        there = row.declaration
        if there.schema != declaration.schema:
            difference = f"its columns are ({there.schema}), not ({declaration.schema})"
            raise ConfigError("PLAN.STREAM_CHANGED", name=name, difference=difference)


def _copy(
    source: Catalog, store: Store, declaration: Declaration, start: int, end: int, tell: Callable[[int], None]
) -> int:
    name = declaration.name
    create_source(store.catalog, declaration)
    log, row, copied = StreamLog(store, name), source.streams.get(name), 0
    for segment in source.streams.segments(name, row.first, row.next):
        if segment.greatest_vs < start or segment.least_vs >= end:
            continue
        for at in range(segment.first, segment.end, CHUNK):
            events = StreamReader(source, name).read(at, min(at + CHUNK, segment.end))
            events = events.filter(pl.col(VS).is_between(start, end, closed="left"))
            last = at + CHUNK >= segment.end
            log.take_over(events, min(segment.cti, end) if last else BEGINNING)
            copied += events.height
            tell(events.height)
    log.advance(min(row.cti, end))
    return copied
