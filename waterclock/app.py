"""The app: streams, queries and outputs of one program, and how it is run."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from waterclock.catalog import Catalog
from waterclock.connect.base import Chunk, Sink, Source
from waterclock.connect.rows import to_frame
from waterclock.errors import ConfigError, RunError
from waterclock.handle import Handle
from waterclock.lang.fluent import Stream
from waterclock.optimizer import VertexPlan, cut
from waterclock.plan import Input, Node, explain
from waterclock.runtime.delivery import DeliveryWorker
from waterclock.runtime.engine import Engine, Parts
from waterclock.runtime.idle import IdleClock
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.log import StreamLog, bad_rows_declaration, late_rows_declaration
from waterclock.runtime.pump import Pump
from waterclock.runtime.recovery import check_tail
from waterclock.runtime.runner import Runner
from waterclock.runtime.store import Store
from waterclock.runtime.task import Program
from waterclock.runtime.vertex import VertexWorker
from waterclock.schema import Schema
from waterclock.streams import Declaration
from waterclock.time import FOREVER, Duration, Instant, instant, micros

MODES = ("live", "drain", "offline")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,99}")


class SourceStream(Stream):
    """A declared stream. Without a source it takes what is pushed."""

    def __init__(self, app: App, declaration: Declaration) -> None:
        super().__init__(app, Input(declaration.name, declaration.schema, declaration.points))
        self.declaration = declaration
        self._owner = app

    def push(self, rows: Any) -> int:
        """Appends events; returns when they are durable, with the number of the next event.

        Takes a list of dicts, a dict of columns, a Polars or pandas frame, or an Arrow table.
        """
        frame, rejected = to_frame(rows, self.declaration)
        chunk = Chunk(None, "pushed", frame, rejected)
        return self._owner._log(self.declaration.name).append(chunk, keep_position=True).end

    def advance(self, to: Instant) -> None:
        """Says that no event that starts before ``to`` will follow (a CTI)."""
        self._owner._log(self.declaration.name).advance(instant(to))

    def end(self) -> None:
        """Says that no event will follow: every window closes."""
        self._owner._log(self.declaration.name).advance(FOREVER)


class App:
    """Streams, queries and outputs over one store.

    ``store`` is the directory where everything lives (default: ``$WATERCLOCK_STORE`` or ``./waterclock-store``).
    ``epoch_rows`` bounds what one epoch takes of each input. ``tasks`` bounds its parallelism (default: Spark's cores).
    ``spark`` holds Spark settings; ``master`` is Spark's master.
    """

    store_override: ClassVar[str | None] = None
    """Set by the command line while it loads a program: it goes before what the program says."""

    def __init__(
        self, name: str = "app", store: str | os.PathLike[str] | None = None, *, master: str = "local[*,4]",
        spark: Mapping[str, str] | None = None, epoch_rows: int = 2_000_000, tasks: int | None = None,
    ) -> None:  # fmt: skip
        _check_name(name)
        for option, value in (("epoch_rows", epoch_rows), ("tasks", tasks)):
            if value is not None and value < 1:
                raise ConfigError("CONFIG.BAD_OPTION", option=option, value=value, fix="It must be at least 1.")
        self.name = name
        self.store = App.store_override or str(store or os.environ.get("WATERCLOCK_STORE") or "waterclock-store")
        self.master = master
        self.spark = dict(spark or {})
        self.epoch_rows = epoch_rows
        self.tasks = tasks
        self._streams: dict[str, tuple[Declaration, Source | None]] = {}
        self._outputs: dict[str, tuple[VertexPlan, Sink | None]] = {}
        self._engine: Engine | None = None
        self._push_store: Store | None = None
        self._logs: dict[str, tuple[Store, StreamLog]] = {}

    # -- declaring -----------------------------------------------------------------------------------------

    def stream(
        self, name: str, schema: Mapping[str, object], time: str, *, end: str | None = None,
        duration: Duration | None = None, source: Source | None = None, slack: Duration = 0,
        idle: Duration | None = None, late: str = "fail", on_bad: str = "fail",
        max_ahead: Duration | None = "1h", retention: Duration | None = None,
    ) -> SourceStream:  # fmt: skip
        """Declares a stream of events that start at column ``time``.

        An event is a point, or lasts until column ``end`` (null: open), or for ``duration``. The stream's time (its
        CTI) follows the greatest start seen, ``slack`` behind; after ``idle`` without input it goes on by the clock.
        ``late`` says what happens to events behind it: fail, drop, adjust or divert. ``on_bad`` says what happens to
        rows that are no events: fail, skip or divert. A row more than ``max_ahead`` in the future is bad.
        ``retention`` keeps events for so long behind the CTI; without it, for ever.
        """
        if source is not None and not hasattr(source, "open"):
            fix = f"Use a source, such as wc.files({source!r})."
            raise ConfigError("CONFIG.BAD_OPTION", option="source", value=source, fix=fix)
        if end is not None and duration is not None:
            raise ConfigError(
                "CONFIG.BAD_OPTION", option="duration", value=duration, fix="Give either end or duration."
            )
        declaration = Declaration(
            name=name, schema=Schema.of(schema), time=time, end=end,
            duration=1 if duration is None else micros(duration), slack=micros(slack),
            idle=None if idle is None else micros(idle), late=late, on_bad=on_bad,
            max_ahead=None if max_ahead is None else micros(max_ahead),
            retention=None if retention is None else micros(retention),
        )  # fmt: skip
        self._claim(name)
        self._streams[name] = (declaration, source)
        return SourceStream(self, declaration)

    def read(self, name: str) -> Stream:
        """An output of this app as the input of another query."""
        if name not in self._outputs:
            raise ConfigError(
                "STORE.NO_STREAM",
                name=name,
                store=self.store,
                choices=", ".join(self._outputs) or "none",
                guess="",
            )
        root = self._outputs[name][0].root
        return Stream(self, Input(name, root.schema, root.points))

    def add_output(self, name: str | None, plan: Node, sink: Any) -> None:
        """What ``Stream.to`` and ``Stream.into`` call."""
        if name is None:
            name = "out" if "out" not in self._outputs else f"out{len(self._outputs) + 1}"
        self._claim(name)
        if sink is not None and not hasattr(sink, "open"):
            fix = "Use a sink: wc.jsonl(path), wc.parquet(directory), wc.console() or wc.callback(function)."
            raise ConfigError("CONFIG.BAD_OPTION", option="sink", value=sink, fix=fix)
        for other, (_, taken) in self._outputs.items():
            if sink is not None and taken is not None and sink.target is not None and sink.target == taken.target:
                raise ConfigError("PLAN.SAME_TARGET", name=name, other=other, target=sink.target)
        self._outputs[name] = (cut(name, plan), sink)

    def explain(self) -> str:
        """The plans of all outputs."""
        return "\n\n".join(f"{name} =\n{explain(plan.root)}" for name, (plan, _) in self._outputs.items())

    def _claim(self, name: str) -> None:
        _check_name(name)
        if name in self._streams or name in self._outputs:
            raise ConfigError("PLAN.DUPLICATE_NAME", name=name, app=self.name)

    # -- running -------------------------------------------------------------------------------------------

    def run(self, mode: str = "live") -> Handle:
        """Starts the app.

        ``live`` runs on Spark until stopped; ``drain`` runs on Spark until the input is used up; ``offline`` does
        the same in this process, one thing after another and without Java, and returns when it is done.
        """
        if mode not in MODES:
            raise ConfigError("RUN.BAD_MODE", mode=mode, choices=", ".join(MODES))
        if not self._outputs:
            raise ConfigError("PLAN.NO_OUTPUT", app=self.name)
        if self._engine is not None and self._engine.state in ("running", "draining"):
            raise RunError("RUN.ALREADY", app=self.name)
        engine = self._start(mode)
        self._engine = engine
        handle = Handle(self.name, engine)
        if mode == "offline":
            engine.run_here()
        else:
            engine.start()
        return handle

    @property
    def was_run(self) -> bool:
        """Whether ``run`` was called in this process."""
        return self._engine is not None

    def _start(self, mode: str) -> Engine:
        """The way of a program from its plan to a running job: this is the architecture."""
        catalog = Catalog.open(self.store, create=True)  # the only mutable thing
        runner: Runner | None = None
        store = Store(catalog, None)
        try:
            self._declare(catalog)  # streams and vertices, checked against what the store knows
            lease = catalog.leases.acquire(f"app {self.name}")  # one process runs an app; a replaced one is fenced off
            store = Store(catalog, lease)
            for name in self._outputs:
                check_tail(store, name)  # what a power cut took is computed again from the last durable snapshot
            runner = self._runner(mode)  # where steps run: here, or on Spark
            vertices = [self._vertex(store, plan, runner) for plan, _ in self._outputs.values()]
            pumps = [
                Pump(store, name, source, self._consumers(name), 4 * self.epoch_rows)
                for name, (_, source) in self._streams.items()
                if source is not None
            ]
            clocks = self._clocks(store, pumps) if mode == "live" else []
            deliveries = [
                DeliveryWorker(store, name, plan.root.schema, sink)
                for name, (plan, sink) in self._outputs.items()
                if sink is not None
            ]
            keeper = Keeper(store, list(self._outputs))
            parts = Parts(store, runner, list(self._streams), pumps, clocks, vertices, deliveries, keeper)
            return Engine(self.name, parts, drain=mode != "live")
        except BaseException:
            if runner is not None:
                runner.close()
            store.close()
            raise

    def _declare(self, catalog: Catalog) -> None:
        with catalog.transaction():
            for declaration, source in self._streams.values():
                _create_source(catalog, declaration)
                if source is not None:
                    catalog.streams.claim(declaration.name, self.name)
            for name, (plan, _) in self._outputs.items():
                catalog.streams.create(Declaration(name, plan.root.schema, None))
                catalog.epochs.create(name, self.name, plan.identity, explain(plan.root), plan.inputs)

    def _vertex(self, store: Store, plan: VertexPlan, runner: Runner) -> VertexWorker:
        declarations = {name: store.catalog.streams.get(name).declaration for name in plan.inputs}
        program = Program(str(store.root), plan, declarations)
        return VertexWorker(store, program, runner, self.epoch_rows, self.tasks)

    def _runner(self, mode: str) -> Runner:
        if mode == "offline":
            return InProcessRunner()
        from waterclock.runtime.spark.runner import SparkRunner  # Java is needed only here

        return SparkRunner(self.name, self.master, self.spark)

    def _clocks(self, store: Store, pumps: list[Pump]) -> list[IdleClock]:
        quiet = {pump.stream: pump.is_quiet for pump in pumps}
        return [
            IdleClock(store, name, declaration.idle, quiet.get(name, lambda: True))
            for name, (declaration, _) in self._streams.items()
            if declaration.idle is not None
        ]

    def _consumers(self, stream: str) -> list[str]:
        return [name for name, (plan, _) in self._outputs.items() if stream in plan.inputs]

    def _log(self, name: str) -> StreamLog:
        """The writing end for pushes: through the running engine, or straight to the store."""
        store = self._engine.parts.store if self._engine and self._engine.state == "running" else self._push_store
        if store is None:
            store = self._push_store = Store(Catalog.open(self.store, create=True), None)
        known = self._logs.get(name)
        if known is None or known[0] is not store:
            _create_source(store.catalog, self._streams[name][0])
            known = self._logs[name] = (store, StreamLog(store, name))
        return known[1]


def _create_source(catalog: Catalog, declaration: Declaration) -> None:
    catalog.streams.create(declaration)
    if declaration.on_bad == "divert":
        catalog.streams.create(bad_rows_declaration(declaration))
    if declaration.late == "divert":
        catalog.streams.create(late_rows_declaration(declaration))


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError("PLAN.BAD_NAME", name=name)
