"""Questions to a store: what they read, where they are answered, and the answer as a frame."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from waterclock.asking import here
from waterclock.asking.asof import AsOf, Cut, resolve
from waterclock.asking.ranges import ranges
from waterclock.asking.reading import Laid, input_of, lay
from waterclock.asking.state import lay_state, rows_of, schema_of
from waterclock.batch import run_batch
from waterclock.catalog import Catalog
from waterclock.connect.validity import FROM, TO, with_times
from waterclock.errors import ConfigError, StoreError, WaterclockError
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind import Context
from waterclock.lang.sql.bind.constants import constant
from waterclock.lang.sql.given import Given
from waterclock.lang.sql.question import Question, question
from waterclock.lang.sql.source import Source
from waterclock.operators.registry import apply
from waterclock.optimizer import cut, optimize
from waterclock.plan import Filter, Input, Node, Project, WindowAggregate
from waterclock.plan.rebuild import parts_of
from waterclock.runtime.recovery import beyond_repair
from waterclock.schema import VE, VS, Schema
from waterclock.storage import Damaged
from waterclock.time import DAY, Instant, show_instant

ANSWER = "the answer"
STATE = "state."
PLACES = ("auto", "here", "spark")
LARGE = 25_000_000
"""More events than this are better read by Spark, if it may be chosen."""
TOO_MANY = 50_000_000
"""More than this of a stream, without a time, is likely a mistake."""
TRIES = 5
"""So often it is begun again when files were removed meanwhile: what they had is in others by then."""


def query(
    store: str | os.PathLike[str], asked: str, *, params: Mapping[str, Any] | None = None,
    as_of: AsOf | Instant | None = None, on: str = "auto", scan_all: bool = False, limit: int | None = None,
    master: str = "local[*]", spark: Mapping[str, str] | None = None, names: Mapping[str, Given] | None = None,
) -> pl.DataFrame:  # fmt: skip
    """The answer to a query in SQL over the streams, outputs and state of a store, while programs run on it.

    Every stream counts as ended where it is cut: now, or where ``as_of`` says (a time by the clock, ``'epoch 7 of
    NAME'``, ``'snapshot NAME'``). ``on`` is where it is answered: ``here`` in this process, on ``spark``, or ``auto``
    by the events that it has to read.
    """
    with _opened(store) as catalog:
        asking = _Asking(catalog, AsOf.of(as_of))
        found = question(Source(asked), params or {}, {**asking.names(), **(names or {})}, asking.at)
        return asking.answer(found, on, scan_all, limit, master, spark or {})


def ask(
    store: str | os.PathLike[str], plan: Node, *, as_of: AsOf | Instant | None = None, on: str = "auto",
    scan_all: bool = False, limit: int | None = None, master: str = "local[*]", spark: Mapping[str, str] | None = None,
) -> pl.DataFrame:  # fmt: skip
    """The same for a plan over streams of the store."""
    with _opened(store) as catalog:
        asking = _Asking(catalog, AsOf.of(as_of))
        for part in parts_of(plan):
            if isinstance(part, Input):
                asking.readings[part.stream] = part.stream, asking.as_of
                catalog.streams.get(part.stream)
        found = Question(plan, tuple(plan.schema.names))
        return asking.answer(found, on, scan_all, limit, master, spark or {})


@contextmanager
def _opened(store: str | os.PathLike[str]) -> Iterator[Catalog]:
    catalog = Catalog.open(Path(store))
    try:
        yield catalog
    finally:
        catalog.close()


class _Asking:
    def __init__(self, catalog: Catalog, as_of: AsOf) -> None:
        self.catalog = catalog
        self.as_of = as_of
        self.readings: dict[str, tuple[str, AsOf]] = {}
        """By the name that the plan has for it: a stream, or the state of a vertex, and as of when."""
        self.schemas: dict[str, Schema] = {}
        """The columns that a state had when the question was read."""

    # -- names ---------------------------------------------------------------------------------------------

    def names(self) -> dict[str, Given]:
        """All that can be read: streams and outputs, and the state of each vertex as ``state.NAME``."""
        streams = self.catalog.streams
        found = {
            name: Given(input_of(self.catalog, name), streams.get(name).declaration.time) for name in streams.names()
        }
        for vertex in self.catalog.epochs.vertices():
            name = f"{STATE}{vertex.name}"
            found.setdefault(name, Given(Input(name, schema_of(None), False, True)))
        self.readings = {name: (name, self.as_of) for name in found}
        return found

    def at(self, context: Context, reference: tree.Reference, given: Given) -> Given:
        """A stream that is named in the question, perhaps with ``FOR SYSTEM_TIME AS OF``; of a state, its columns."""
        plan, moment = given.plan, reference.at
        stored = isinstance(plan, Input) and plan.stream in self.readings
        if not stored:
            if moment is not None:
                fix = "Put it behind the streams that this query reads."
                raise context.unsupported(moment.span, "FOR SYSTEM_TIME behind the name of a query", fix)
            return given
        assert isinstance(plan, Input)
        if moment is not None:
            name, as_of = plan.stream, _as_of(context, moment)
            plan = replace(plan, stream=f"{plan.stream} as of {as_of.label}")
            self.readings[plan.stream] = name, as_of
        name, as_of = self.readings[plan.stream]
        if name.startswith(STATE):
            try:
                vertex = name.removeprefix(STATE)
                epoch = resolve(self.catalog, as_of, (), (vertex,)).epoch(vertex)
                plan = replace(plan, columns=schema_of(rows_of(self.catalog, vertex, epoch)))
                self.schemas[plan.stream] = plan.columns
            except ConfigError as error:
                raise context.source.caused(error, reference.span) from None
        return replace(given, plan=plan)

    # -- the answer ----------------------------------------------------------------------------------------

    def answer(
        self, found: Question, on: str, scan_all: bool, limit: int | None, master: str, spark: Mapping[str, str]
    ) -> pl.DataFrame:
        if on not in PLACES:
            fix = f"Choose one of: {', '.join(PLACES)}."
            raise ConfigError("CONFIG.BAD_OPTION", option="on", value=on, fix=fix)
        root = optimize(found.plan)
        plan = cut(ANSWER, root)
        for _ in range(TRIES):
            with here.folder() as folder:
                laid = self._laid(root, plan.inputs, folder, scan_all)
                place = on if on != "auto" else "spark" if sum(each.rows for each in laid.values()) > LARGE else "here"
                try:
                    if place == "spark":
                        with here.scratch(folder, laid) as catalog:
                            done = run_batch("question", catalog, (), {ANSWER: root}, {}, {}, master, spark)
                            return finished(found, done.frame(ANSWER).lazy(), limit)
                    rows = here.lazy(plan, laid) if here.is_lazy(plan) else None
                    if rows is None:
                        rows = here.stepped(plan, laid, folder, _enough(found, limit)).lazy()
                    return finished(found, rows, limit)
                except (WaterclockError, Damaged, OSError, pl.exceptions.PolarsError) as error:
                    if all(file.exists() for each in laid.values() for file in each.files):
                        if isinstance(error, Damaged):
                            raise beyond_repair(error) from None
                        raise
        raise StoreError("QUERY.FILES_GONE")

    def _laid(self, root: Node, inputs: Sequence[str], folder: Path, scan_all: bool) -> dict[str, Laid]:
        """What is read, at one cut for each time that was asked for."""
        readings = {name: self.readings.get(name, (name, self.as_of)) for name in inputs}
        streams = {key: name for key, (name, _) in readings.items() if key not in self.schemas}
        declarations = {key: self.catalog.streams.get(name).declaration for key, name in streams.items()}
        cuts: dict[AsOf, Cut] = {}
        for _, as_of in readings.values():
            if as_of not in cuts:
                named = {key: name for key, (name, when) in readings.items() if when == as_of}
                states = [name.removeprefix(STATE) for key, name in named.items() if key in self.schemas]
                cuts[as_of] = resolve(self.catalog, as_of, [n for k, n in named.items() if k in streams], states)
        wanted = ranges(root, declarations)
        laid: dict[str, Laid] = {}
        for key, (name, as_of) in readings.items():
            if key not in streams:
                vertex = name.removeprefix(STATE)
                laid[key] = lay_state(self.catalog, vertex, cuts[as_of].epoch(vertex), self.schemas[key], folder)
                continue
            laid[key] = lay(self.catalog, name, cuts[as_of].mark(name), as_of, wanted[key])
            if laid[key].rows > TOO_MANY and wanted[key].is_open and not scan_all:
                since = show_instant(laid[key].cti - DAY)
                raise ConfigError("QUERY.SCANS_ALL", rows=laid[key].rows, stream=name, since=since)
        return laid


def _as_of(context: Context, moment: tree.Moment) -> AsOf:
    value = constant(context, moment.value, "What a stream is read as of")
    if moment.kind == "epoch":
        if not isinstance(value, int) or isinstance(value, bool):
            raise context.error(
                "SQL.BAD_VALUE", moment.value.span, what="EPOCH", value=value, fix="It is a whole number."
            )
        assert moment.vertex is not None
        return AsOf(epoch=(moment.vertex.text, value))
    if moment.kind == "snapshot":
        return AsOf(snapshot=str(value))
    try:
        return AsOf.of(value)
    except ConfigError as error:
        raise context.source.caused(error, moment.span) from None


def _enough(found: Question, limit: int | None) -> Callable[[int], bool]:
    """Whether the first rows are all that is wanted."""
    most = [each for each in (found.limit if not found.per else None, limit) if each is not None]
    return lambda rows: bool(most) and not found.order and rows >= min(most)


def finished(found: Question, rows: pl.LazyFrame, limit: int | None) -> pl.DataFrame:
    """Ordered and cut, with lifetimes as people read them where there are any."""
    if found.order:
        names, down = [name for name, _ in found.order], [descending for _, descending in found.order]
        rows = rows.sort(names, descending=down, nulls_last=down, maintain_order=True)
    if found.limit is not None and found.per:
        rows = rows.filter(pl.int_range(pl.len()).over(found.per) < found.limit)
    elif found.limit is not None:
        rows = rows.head(found.limit)
    if limit is not None:
        rows = rows.head(limit)
    frame = rows.select(VS, VE, *found.columns).collect(engine="streaming")
    if found.timeless:
        return (frame if frame.height else _of_nothing(found)).select(found.columns)
    return frame.select(found.columns) if {FROM, TO} & set(found.columns) else with_times(frame)


def _of_nothing(found: Question) -> pl.DataFrame:
    """What SQL says of no rows at all where nothing is grouped by: one row, in which counts are 0."""
    above: list[Node] = []
    node = found.plan
    while isinstance(node, Project | Filter):
        above.append(node)
        node = node.input
    assert isinstance(node, WindowAggregate)
    if node.keys:
        return found.plan.schema.empty()
    values = {name: 0 if "count" in aggregate.function else None for name, aggregate in node.aggregates}
    frame = pl.DataFrame(
        {VS: [0], VE: [1], **{name: [value] for name, value in values.items()}}, node.schema.frame_schema()
    )
    rows = frame.lazy()
    for each in reversed(above):
        rows = apply(each, rows, [])
    return rows.collect()
