"""What must be true of a store when the storm is over, however it went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from tests.chaos.programs import PROGRAMS, Program, build
from tests.chaos.storm import Failed, Storm
from waterclock.catalog import Catalog
from waterclock.connect.validity import with_texts, with_times
from waterclock.errors import WaterclockError
from waterclock.plan.guarded import dead_stream, has_dead_letters
from waterclock.reference import Event, bag_difference, logical_difference
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.log import StreamReader
from waterclock.runtime.replay import replay
from waterclock.runtime.store import Store
from waterclock.schema import VE, VS
from waterclock.time import FOREVER

Rows = dict[str, pl.DataFrame]


def judge(storm: Storm, batch: bool = False) -> None:
    with _opened(storm.store) as catalog:
        vertices = [vertex.name for vertex in catalog.epochs.vertices()]
        made = [name for name in (*vertices, *map(dead_stream, vertices)) if name in catalog.streams.names()]
        outputs = {name: _read(catalog, name) for name in made}
        _catalog_is_consistent(catalog)
        _input_is_there_once(storm, catalog)
        _answers_are_right(storm, catalog, outputs)
        _snapshots_can_be_replayed(storm, catalog)
    _sinks_have_each_row_once(storm, outputs)
    if batch and PROGRAMS[storm.program].whole:
        storm.alone("batch", options={"master": "local[2]"})
        for path in sorted((storm.folder / "batch").glob("*.parquet")):
            found = logical_difference(_events(outputs[path.stem]), _events(pl.read_parquet(path)))
            _same(f"{path.stem} and the answer of batch mode", found)
    _nothing_lies_about(storm.store)


def _same(what: str, difference: str) -> None:
    if difference:
        raise Failed(f"{what} differ:\n{difference}")


@contextmanager
def _opened(store: Path) -> Iterator[Catalog]:
    catalog = Catalog.open(store)
    try:
        yield catalog
    finally:
        catalog.close()


def _read(catalog: Catalog, name: str) -> pl.DataFrame:
    row = catalog.streams.get(name)
    return StreamReader(catalog, name).read(row.first, row.next)


def _events(frame: pl.DataFrame) -> list[Event]:
    return [(row.pop(VS), row.pop(VE), row) for row in frame.iter_rows(named=True)]


def _catalog_is_consistent(catalog: Catalog) -> None:
    marks, delivered = catalog.streams.marks(), catalog.sinks.delivered()
    for vertex in catalog.epochs.vertices():
        snapshot = catalog.epochs.snapshot(vertex.name)
        wrong = {
            "pending": catalog.epochs.pending(vertex.name) is not None,
            "not durable": vertex.durable != vertex.epoch,
            "output end": snapshot.output_end != marks[vertex.name][0],
            "positions": any(snapshot.positions.get(name, 0) != marks[name][0] for name in vertex.inputs),
            "not delivered": delivered.get(vertex.name, vertex.epoch) != vertex.epoch,
            "not ended": not catalog.streams.get(vertex.name).ended,
        }
        if any(wrong.values()):
            raise Failed(f"{vertex.name}: {[what for what, is_so in wrong.items() if is_so]} {vertex} {snapshot}")
    for name in catalog.streams.names():
        row = catalog.streams.get(name)
        at = row.first
        for segment in catalog.streams.segments(name, row.first, row.next):
            if segment.first != at:
                raise Failed(f"stream {name} has a hole at {at}")
            at = segment.end
        if at != row.next:
            raise Failed(f"stream {name} ends at {at}, not at {row.next}")


def _input_is_there_once(storm: Storm, catalog: Catalog) -> None:
    """Files wholly, pushes that were acknowledged too; others wholly or not at all."""
    taken, tried = storm.book("taken"), storm.book("tried")
    for stream, feed in PROGRAMS[storm.program].feeds.items():
        row = catalog.streams.get(stream)
        parts = {path.stem: path for path in (storm.base / "waiting" / stream).iterdir()}
        rows = {part: _waiting(path, row.declaration.schema.polars()) for part, path in parts.items()}
        if feed.how == "push":
            certain = {part for name, part in taken if name == stream}
            perhaps = {part for name, part in tried - taken if name == stream}
        else:
            certain, perhaps = set(parts), set()
        late = "late" in feed.options and feed.options["late"] == "divert"
        counted = row.counters.get("rows", 0) + sum(
            row.counters.get(f"late_{how}", 0) for how in ("diverted", "dropped")
        )
        if row.first == 0 and late:
            found = Counter(
                pl.concat([_read(catalog, name).drop(VS, VE) for name in (stream, f"{stream}.late")]).rows()
            )
            for part in sorted(perhaps):
                if found and Counter(rows[part].rows()) <= found - _bag(rows[one] for one in certain):
                    certain.add(part)
            if found != _bag(rows[part] for part in certain):
                more, less = found - _bag(rows[p] for p in certain), _bag(rows[p] for p in certain) - found
                raise Failed(f"stream {stream} has {list(more)[:5]} too much and {list(less)[:5]} too little")
            storm.counts["pushes not acknowledged"] += len(perhaps)
        elif counted != sum(rows[part].height for part in certain):
            raise Failed(f"stream {stream} has counted {counted} rows, not {sum(rows[p].height for p in certain)}")


def _bag(frames: Iterable[pl.DataFrame]) -> Counter[tuple[object, ...]]:
    return Counter(row for frame in frames for row in frame.rows())


def _waiting(path: Path, schema: dict[str, pl.DataType]) -> pl.DataFrame:
    if path.suffix == ".jsonl":
        times = [name for name, kind in schema.items() if kind.is_temporal()]
        text = {name: pl.String() if name in times else kind for name, kind in schema.items()}
        frame = pl.read_ndjson(path, schema=text)
        return frame.with_columns(pl.col(name).str.to_datetime(time_unit="us", time_zone="UTC") for name in times)
    return pl.read_parquet(path, columns=list(schema))


def _answers_are_right(storm: Storm, catalog: Catalog, outputs: Rows) -> None:
    """As in an undisturbed run over the same input, in one thread and on SQLite."""
    program = PROGRAMS[storm.program]
    calm = _calm(storm, catalog, program, storm.base / "calm", None)
    if program.filtered is not None and any(each.since is not None for each in catalog.filters.all()):
        output = program.filtered[0]
        calm[output] = _calm(storm, catalog, program, storm.base / "calm-filtered", output)[output]
    for name, wanted in calm.items():
        if wanted.height < 5:
            raise Failed(f"{name} has only {wanted.height} rows: the storm shows nothing")
        _same(f"{name} and the answer of an undisturbed run", bag_difference(_events(outputs[name]), _events(wanted)))


def _calm(storm: Storm, catalog: Catalog, program: Program, store: Path, filtered: str | None) -> Rows:
    """Of files that are there, and of what the store has of pushes; without what one output left out."""
    left_out = [each for each in catalog.filters.all() if each.vertex == filtered and each.since is not None]
    taken_in = {each.stream for each in left_out}
    pushed = {name for name, feed in program.feeds.items() if feed.how == "push"} | taken_in
    app = build(storm.program, storm.folder, store, watch=False, sinks=False, pushed=pushed)
    for name in pushed:
        rows = _read(catalog, name).with_row_index("seq")
        for each in left_out:
            if each.stream == name:
                within = (pl.col("seq") >= each.since) & (
                    pl.col("seq") < (FOREVER if each.until is None else each.until)
                )
                rows = rows.filter(~(within & pl.sql_expr(each.predicate)))
        stream = app.source(name)
        if rows.height:
            stream.push(rows.drop(VS, VE, "seq"))
        stream.advance(catalog.streams.last_finite_cti(name))
        stream.end()
    handle = app.run("offline")
    dead = [dead_stream(name) for name, (plan, _) in app._outputs.items() if has_dead_letters(plan.root)]
    return {name: handle.frame(name) for name in (*app._outputs, *dead)}


def _snapshots_can_be_replayed(storm: Storm, catalog: Catalog) -> None:
    """Each that is kept has all it takes to do every epoch since again."""
    plans = build(storm.program, storm.folder, storm.store, watch=False)._declared.plans(catalog)
    newest = {vertex.name: vertex.epoch for vertex in catalog.epochs.vertices()}
    for each in catalog.snapshots.retained():
        if each.state != "complete":
            raise Failed(f"snapshot {each.label} is {each.state} at the end: {each}")
        for name, part in each.parts.items():
            try:
                storm.counts["epochs replayed"] += replay(catalog, plans[name], part.epoch, newest[name])
            except WaterclockError as error:
                raise Failed(f"snapshot {each.label} does not give {name} again: {error}") from error
        storm.counts["snapshots replayed"] += 1


def _sinks_have_each_row_once(storm: Storm, outputs: Rows) -> None:
    for path in sorted((storm.folder / "delivered").iterdir()):
        frame = outputs[path.stem]
        if path.is_dir():
            left = [str(file) for file in path.iterdir() if file.name.startswith(".")]
            if left:
                raise Failed(f"sink {path.stem} left {left}")
            found = pl.concat([pl.read_parquet(file) for file in path.iterdir()]).rows()
            wanted = with_times(frame).rows()
        else:
            found = path.read_text().splitlines()
            wanted = with_texts(frame).write_ndjson().splitlines()
        if Counter(found) != Counter(wanted):
            more, less = Counter(found) - Counter(wanted), Counter(wanted) - Counter(found)
            raise Failed(
                f"sink {path.stem} has {list(more.items())[:5]} too much and {list(less.items())[:5]} too little"
            )


def _nothing_lies_about(store: Path) -> None:
    catalog = Catalog.open(store)
    apps = {
        vertex.app: [v.name for v in catalog.epochs.vertices() if v.app == vertex.app]
        for vertex in catalog.epochs.vertices()
    }
    for app, vertices in apps.items():
        opened = Store(Catalog.open(store), catalog.leases.acquire(f"app {app}"))
        keeper = Keeper(opened, vertices, 0.0, 0.0)
        keeper.tidy()
        keeper.sweep()
        opened.close()
    named = {*catalog.streams.paths(), *catalog.epochs.paths()}
    catalog.close()
    there = {str(path.relative_to(store)) for path in store.rglob("*") if path.is_file()}
    left = {path for path in there - named if not path.startswith(("catalog.", "metrics/"))}
    if left or named - there:
        raise Failed(f"the store has files that nobody names: {left}; and is without {named - there}")
