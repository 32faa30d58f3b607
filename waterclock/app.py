"""The app: streams, queries and outputs of one program, and how it is run."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import polars as pl

from waterclock.catalog import Catalog
from waterclock.connect.base import Chunk, Sink, Source
from waterclock.connect.callback import callback
from waterclock.connect.rows import to_frame
from waterclock.declared import Declared, lives_of
from waterclock.errors import ConfigError, RunError, did_you_mean
from waterclock.expr.nodes import start as start_of
from waterclock.lang.fluent import Stream
from waterclock.lang.sql.given import Given
from waterclock.optimizer import Statistics, VertexPlan, check_bounds, cut
from waterclock.optimizer.cycles import check_behind_cycles, check_cycle, closed
from waterclock.plan import Filter, Input, Node
from waterclock.plan.guarded import DEAD_ROWS, dead_stream, guards, has_dead_letters
from waterclock.plan.rebuild import parts_of
from waterclock.plan.strategy import Strategy
from waterclock.questions import Asked
from waterclock.runtime.barriers import Snapshots
from waterclock.runtime.log import StreamLog, create_pushed
from waterclock.runtime.metrics.alerts import Alerts
from waterclock.runtime.store import Store
from waterclock.schema import Schema
from waterclock.streams import Declaration
from waterclock.streams.declaration import BAD_ROWS
from waterclock.time import FOREVER, Duration, Instant, instant, micros
from waterclock.usercode import checking

if TYPE_CHECKING:  # what not every program needs is imported where it is used: SQL, Spark, what runs
    from waterclock.handle import Handle
    from waterclock.lang.sql.program import Program
    from waterclock.lang.sql.source import Source as SqlSource
    from waterclock.runtime.engine import Engine

LEAST_LEASE = 100_000
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.multiplier": "1.4",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.interval": "50ms",
    "spark.speculation.minTaskRuntime": "200ms",
}
"""Files have a name of their own for every attempt of a task, and Spark takes the report of one."""
MODES = ("live", "drain", "offline", "batch")
_SIDE_OPTIONS = {"late": "late='divert'", "bad": "on_bad='divert'", "quarantine": "ahead='quarantine'"}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,99}")


class SourceStream(Stream):
    """A declared stream. Without a source it takes what is pushed."""

    def __init__(self, app: App, declaration: Declaration) -> None:
        super().__init__(app, _input(declaration))
        self.declaration = declaration
        self._owner = app

    def push(self, rows: Any) -> int:
        """Appends events; returns when they are durable, with the number of the next event.

        Takes a list of dicts, a dict of columns, a Polars or pandas frame, or an Arrow table.
        """
        frame, rejected = to_frame(rows, self.declaration)
        if App.looking:
            return 0
        chunk = Chunk(None, "pushed", frame, rejected)
        return self._owner._log(self.declaration.name).append(chunk, keep_position=True).end

    def advance(self, to: Instant) -> None:
        """Says that no event that starts before ``to`` will follow (a CTI)."""
        if not App.looking:
            self._owner._log(self.declaration.name).advance(instant(to))

    def end(self) -> None:
        """Says that no event will follow: every window closes."""
        self.advance(FOREVER)


class Attached(NamedTuple):
    """A stream of another app."""

    start: int | str
    """``beginning``, ``now``, or a time."""
    given: Given


class App(Asked):
    """Streams, queries and outputs over one store.

    ``store`` is the directory where everything lives (default: ``$WATERCLOCK_STORE`` or ``./waterclock-store``).
    ``catalog`` is the URL of a PostgreSQL database for the catalog of a new store (default: ``$WATERCLOCK_CATALOG``, or
    a file in the directory); the store remembers it.
    ``epoch_rows`` bounds what one epoch takes of each input. ``tasks`` bounds its parallelism (default: Spark's cores).
    ``spark`` holds Spark settings; ``master`` is Spark's master. ``allow_unbounded`` lets plans run whose state has
    no bound. ``optimize=False`` runs plans as they are written: the same results, computed with more work.
    ``alerts`` says when to raise which alert. ``metrics_port`` serves figures at http://127.0.0.1:PORT/metrics while it
    runs (0: any free port, see ``Handle.metrics_url``).
    ``lease`` is how long a driver that is not heard of still counts: after that, one that stands by takes over.
    ``speculation`` lets Spark run a task again elsewhere that takes 1.4 times the median of its stage.
    ``duplicate_slow`` lets a driver that stands by run vertices too that fall behind: the first commit wins.
    ``snapshots`` says when to take global snapshots by itself, and how many to keep (default: only when told to).
    ``history`` is how many of its last epochs each output can be debugged and verified from, as far as that holds no
    more than 256 MiB of state that was merged away since. Events are kept by ``retention`` alone.
    """

    store_override: ClassVar[str | None] = None
    """Set by the command line while it loads a program: it goes before what the program says."""
    catalog_override: ClassVar[str | None] = None
    looking: ClassVar[bool] = False
    """Also set while it loads one: the program is only to be looked at, and what it pushes is not taken."""

    def __init__(
        self, name: str = "app", store: str | os.PathLike[str] | None = None, *, catalog: str | None = None,
        master: str = "local[*,4]", spark: Mapping[str, str] | None = None, epoch_rows: int = 2_000_000,
        tasks: int | None = None, allow_unbounded: bool = False, optimize: bool = True,
        alerts: Alerts | None = None, metrics_port: int | None = None, lease: Duration = "10s",
        speculation: bool = False, duplicate_slow: bool = False, snapshots: Snapshots | None = None,
        history: int = 1000,
    ) -> None:  # fmt: skip
        _check_name(name)
        if history < 0:
            raise ConfigError("CONFIG.BAD_OPTION", option="history", value=history, fix="It must be at least 0.")
        for option, value in (("epoch_rows", epoch_rows), ("tasks", tasks)):
            if value is not None and value < 1:
                raise ConfigError("CONFIG.BAD_OPTION", option=option, value=value, fix="It must be at least 1.")
        self.name = name
        self.store = App.store_override or str(store or os.environ.get("WATERCLOCK_STORE") or "waterclock-store")
        self.catalog = App.catalog_override or catalog
        self.master = master
        self.spark = dict(spark or {})
        self.epoch_rows = epoch_rows
        self.tasks = tasks
        self.allow_unbounded = allow_unbounded
        self.statistics = Statistics()
        """What to expect of the rows, where it is known before they come."""
        self.optimize = optimize
        self.alerts = alerts or Alerts()
        self.metrics_port = metrics_port
        self.lease = lease_micros(lease)
        self.speculation = speculation
        self.duplicate_slow = duplicate_slow
        self.snapshots = snapshots or Snapshots()
        self.history = history
        self._streams: dict[str, tuple[Declaration, Source | None]] = {}
        self._tables: dict[str, tuple[Declaration, pl.DataFrame]] = {}
        self._outputs: dict[str, tuple[VertexPlan, Sink | None]] = {}
        """As they are written; what runs is made of them when a run starts."""
        self._recovery: dict[str, Strategy] = {}
        self._retentions: dict[str, int] = {}
        self._attached: dict[str, Attached] = {}
        self._queries: dict[str, Given] = {}
        self._texts: list[SqlSource] = []
        self._engine: Engine | None = None
        self._batched = False
        self._push_store: Store | None = None
        self._logs: dict[str, tuple[Store, StreamLog]] = {}

    # -- declaring -----------------------------------------------------------------------------------------

    def stream(
        self, name: str, schema: Mapping[str, object], time: str, *, end: str | None = None,
        duration: Duration | None = None, source: Source | None = None, slack: Duration | None = 0,
        idle: Duration | None = None, late: str = "fail", on_bad: str = "fail",
        max_ahead: Duration | None = "1h", max_jump: Duration | None = None, ahead: str = "fail",
        retention: Duration | None = None, cti: str | None = None, time_from: str | None = None,
    ) -> SourceStream:  # fmt: skip
        """Declares a stream of events that start at column ``time``.

        An event is a point, or lasts until column ``end`` (null: open), or for ``duration``. The stream's time (its
        CTI) follows the greatest start seen, ``slack`` behind (None: events do not move it, ``advance`` does); after
        ``idle`` without input it goes on by the clock. ``cti`` names a column of CTIs which move it instead;
        ``time_from`` names a stream or an output whose time it takes over instead.

        ``late`` says what happens to events behind it: fail, drop, adjust or divert. ``on_bad`` says what happens to
        rows that are no events: fail, skip or divert. ``ahead`` says what happens to rows more than ``max_ahead`` in
        the future, or more than ``max_jump`` after all before them: fail or quarantine.
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
            duration=1 if duration is None else micros(duration), slack=None if slack is None else micros(slack),
            idle=None if idle is None else micros(idle), late=late, on_bad=on_bad,
            max_ahead=None if max_ahead is None else micros(max_ahead),
            max_jump=None if max_jump is None else micros(max_jump), ahead=ahead, cti=cti, time_from=time_from,
            retention=None if retention is None else micros(retention),
        )  # fmt: skip
        self._claim(name)
        self._streams[name] = (declaration, source)
        return SourceStream(self, declaration)

    def table(self, name: str, schema: Mapping[str, object], rows: Any) -> Stream:
        """Declares a table: rows that are valid for ever, such as reference data to join with.

        ``rows`` is what ``push`` takes, or the path of a JSONL, CSV, Parquet or Arrow file. They are put into the store
        when the app first runs; a later run must have the same rows, in any order.
        """
        declaration = Declaration(name, Schema.of(schema), None, static=True)
        if isinstance(rows, str | os.PathLike):
            from waterclock.connect.files import read_file

            frame, rejected = read_file(Path(rows), declaration)
        else:
            frame, rejected = to_frame(rows, declaration)
        if rejected:
            raise rejected[0].error
        self._claim(name)
        self._tables[name] = (declaration, frame)
        return Stream(self, _input(declaration))

    def read(self, name: str) -> Stream:
        """An output of this app as the input of another query, or a side stream such as ``'clicks.late'``."""
        if name in self._outputs:
            root = self._outputs[name][0].root
            made = Input(
                name, root.schema, root.points, root.open_ended, made_endless=root.endless, of_cycle=root.cyclic
            )
            return Stream(self, made)
        dead = {dead_stream(output): plan.root for output, (plan, _) in self._outputs.items()}
        if name in dead and has_dead_letters(dead[name]):
            return Stream(self, _dead_input(name, dead[name]))
        sides = {side: d for d, _ in self._streams.values() for side in d.side_streams()}
        if name in sides:
            return Stream(self, _side_input(sides[name], name))
        stream, _, kind = name.rpartition(".")
        if stream in self._streams and kind in _SIDE_OPTIONS:
            raise ConfigError("PLAN.NO_SIDE_STREAM", stream=stream, name=name, option=_SIDE_OPTIONS[kind])
        if name in dead:
            option = "on_error('dead_letter') behind an operator with user code"
            raise ConfigError("PLAN.NO_SIDE_STREAM", stream=stream, name=name, option=option)
        raise ConfigError(
            "STORE.NO_STREAM",
            name=name,
            store=self.store,
            choices=", ".join([*self._outputs, *sides]) or "none",
            guess="",
        )

    def sql(
        self, program: str | os.PathLike[str], params: Mapping[str, Any] | None = None, **streams: Stream
    ) -> Stream:
        """Runs statements in SQL, given as text or as a file, and gives what the last one makes.

        They see the streams, tables, outputs and queries of the app by their names, and ``streams`` by the given ones.
        A text may end in a query without a name: ``app.sql("SELECT user FROM clicks").tumbling("5s")``.
        """
        from waterclock.programs import load, source_of

        before = [dict(part) for part in (self._streams, self._tables, self._outputs, self._queries)]
        names = {**self._named(), **{name: Given(stream._plan) for name, stream in streams.items()}}
        slacks = {name: declaration.waits for name, (declaration, _) in self._streams.items()}
        source = source_of(program)
        loaded = load(self, source, params or {}, names, slacks, whole=False)
        if loaded.errors:
            self._streams, self._tables, self._outputs, self._queries = before  # type: ignore[assignment]
            raise loaded.errors[0]
        self._texts.append(source)
        self._queries |= {name: given for name, given in loaded.names.items() if name in loaded.defined}
        if isinstance(loaded.last, Node):
            return Stream(self, loaded.last)
        assert loaded.last is not None
        return self.named(loaded.last)

    def named(self, name: str) -> Stream:
        """A stream, a table, an output, or a query that has its name from SQL."""
        if name in self._streams:
            return SourceStream(self, self._streams[name][0])
        known = self._named()
        return Stream(self, known[name].plan) if name in known else self.read(name)

    def attach(self, name: str, from_: Instant = "beginning") -> Stream:
        """A stream or an output that another app of the same store writes: its history first, then what comes.

        ``from_`` is ``beginning`` (of what is kept), ``now``, or a time: all events that start then or later. It counts
        when an output that reads it is run for the first time; later runs go on where the last one was.
        """
        from waterclock.asking.reading import input_of

        self._claim(name)
        catalog = Catalog.open(self.store, url=self.catalog)
        try:
            plan: Node = input_of(catalog, name)
            time = catalog.streams.get(name).declaration.time
        finally:
            catalog.close()
        start = str(from_) if from_ in ("beginning", "now") else instant(from_)
        if isinstance(start, int):
            plan = Filter(plan, start_of().unix_micros() >= start)
        self._attached[name] = Attached(start, Given(plan, time))
        return Stream(self, plan)

    def source(self, name: str) -> SourceStream:
        """A declared stream, to push to."""
        if name in self._streams:
            return SourceStream(self, self._streams[name][0])
        choices, guess = ", ".join(self._streams) or "none", did_you_mean(name, list(self._streams))
        raise ConfigError("STORE.NO_STREAM", name=name, store=self.store, choices=choices, guess=guess)

    def _named(self) -> dict[str, Given]:
        """Everything that a query can read, by name."""
        sides = [side for declaration, _ in self._streams.values() for side in declaration.side_streams()]
        sides += [dead_stream(name) for name, (plan, _) in self._outputs.items() if has_dead_letters(plan.root)]
        return {
            **{name: Given(self.read(name)._plan) for name in (*sides, *self._outputs)},
            **{name: Given(_input(d), d.time) for name, (d, _) in self._streams.items()},
            **{name: Given(_input(d)) for name, (d, _) in self._tables.items()},
            **{name: attached.given for name, attached in self._attached.items()},
            **self._queries,
        }

    def add_output(
        self, name: str | None, plan: Node, sink: Any, recovery: Strategy | None = None,
        retention: Duration | None = None,
    ) -> None:  # fmt: skip
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
        if not self.allow_unbounded:
            check_bounds(plan)
        inside = next((part.stream for part in parts_of(plan) if isinstance(part, Input) and part.back), name)
        if inside != name:
            raise ConfigError("PLAN.CYCLE_INSIDE", name=name, cycle=inside)
        check_behind_cycles(plan)
        if retention is not None:
            self._retentions[name] = micros(retention)
        self._outputs[name] = (cut(name, plan), sink)
        if recovery is not None:
            self._recovery[name] = recovery

    def add_cycle(self, name: str, seeds: Node, body: Callable[[Node], Node]) -> Node:
        """What ``Stream.iterate`` calls: an output that reads itself."""
        root = closed(name, seeds, body)
        lives = lives_of(self._streams, {known: plan.root for known, (plan, _) in self._outputs.items()})
        check_cycle(name, root, lives, self.allow_unbounded)
        self.add_output(name, root, None)
        return self.read(name)._plan

    def add_callback(self, name: str | None, plan: Node, function: Callable[[int, pl.DataFrame], None]) -> None:
        """An output whose rows are given to a function, epoch by epoch."""
        self.add_output(name, plan, callback(function))

    def _claim(self, name: str) -> None:
        _check_name(name)
        if any(name in known for known in (self._streams, self._tables, self._outputs, self._attached)):
            raise ConfigError("PLAN.DUPLICATE_NAME", name=name, app=self.name)

    # -- running -------------------------------------------------------------------------------------------

    def run(
        self, mode: str = "live", *, check_determinism: bool = False, standby: bool = False, driver: str | None = None
    ) -> Handle:
        """Starts the app.

        ``live`` runs on Spark until stopped; ``drain`` runs on Spark until the input is used up; ``offline`` does
        the same in this process, one thing after another and without Java, and returns when it is done. ``batch``
        takes in what the sources have and computes all outputs at once over the history, with Spark SQL: ``frame`` of
        what it returns gives them, sinks get them as one epoch, and no output is written to the store.

        ``check_determinism`` (offline only) calls user code and runs every epoch twice, and fails where they differ.

        ``standby`` (live only): while another driver leads the app, this one is ready to take over, and runs what it
        is told to (``waterclock move``). ``driver`` is its name (default: host and process).
        """
        from waterclock.handle import Handle
        from waterclock.launch import batched, start

        if mode not in MODES:
            raise ConfigError("RUN.BAD_MODE", mode=mode, choices=", ".join(MODES))
        if check_determinism and mode != "offline":
            fix = "It is checked in mode='offline'."
            raise ConfigError("CONFIG.BAD_OPTION", option="check_determinism", value=check_determinism, fix=fix)
        if standby and mode != "live":
            fix = "A driver stands by in mode='live'."
            raise ConfigError("CONFIG.BAD_OPTION", option="standby", value=standby, fix=fix)
        if driver is not None:
            _check_name(driver)
        if not self._outputs:
            raise ConfigError("PLAN.NO_OUTPUT", app=self.name)
        if self._engine is not None and self._engine.state in ("standby", "running", "draining"):
            raise RunError("RUN.ALREADY", app=self.name)
        if mode == "batch":
            self._batched = True
            return batched(self._declared)
        engine = start(self._declared, mode, check_determinism, driver, standby)
        self._engine = engine
        handle = Handle(self.name, engine)
        if mode == "offline":
            with checking.checked(check_determinism):
                engine.run_here()
        else:
            engine.start()
        return handle

    @property
    def was_run(self) -> bool:
        """Whether ``run`` was called in this process."""
        return self._engine is not None or self._batched

    @property
    def _declared(self) -> Declared:
        return Declared(
            self.name, self.store, self.catalog, self._streams, self._tables, self._outputs, self._recovery,
            self._retentions, self.optimize, self.statistics, self.epoch_rows, self.tasks, self.master,
            (SPECULATION if self.speculation else {}) | self.spark, self.alerts, self.metrics_port, self.lease,
            self.duplicate_slow, self.snapshots, self.history,
            {name: each.start for name, each in self._attached.items()},
        )  # fmt: skip

    def _log(self, name: str) -> StreamLog:
        """The writing end for pushes: through the running engine, or straight to the store."""
        store = self._engine.parts.store if self._engine and self._engine.state == "running" else self._push_store
        if store is None:
            store = self._push_store = Store(Catalog.open(self.store, create=True, url=self.catalog), None)
        known = self._logs.get(name)
        if known is None or known[0] is not store:
            create_pushed(store.catalog, self._streams[name][0], self.name)
            known = self._logs[name] = (store, StreamLog(store, name))
        return known[1]


def sql(
    program: str | os.PathLike[str], params: Mapping[str, Any] | None = None, *, name: str | None = None,
    store: str | os.PathLike[str] | None = None, **options: Any,
) -> App:  # fmt: skip
    """The app that a program in SQL describes, given as text or as a file.

    ``params`` are the values of its ``:parameters``. ``name`` and ``store`` go before what the program sets;
    the other options are those of ``App``.
    """
    from waterclock.programs import source_of

    source = source_of(program)
    app = App(name or _stem(source.name), store, **options)
    before = (app.name, app.store)
    loaded = check(app, source, params or {})
    if loaded.errors:
        raise loaded.errors[0]
    if name is not None:
        app.name = before[0]
    if store is not None or App.store_override is not None:
        app.store = before[1]
    app._queries = {name: given for name, given in loaded.names.items() if name in loaded.defined}
    app._texts = [source]
    return app


def check(app: App, source: SqlSource, params: Mapping[str, Any]) -> Program:
    """Loads a whole program into an empty app; all that is wrong with it is in ``errors``."""
    from waterclock.programs import load

    return load(app, source, params, {}, {}, whole=True)


def lease_micros(lease: Duration) -> int:
    if micros(lease) < LEAST_LEASE:
        raise ConfigError("CONFIG.BAD_OPTION", option="lease", value=lease, fix="It must be at least '100ms'.")
    return micros(lease)


def _stem(file: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9_.-]", "-", Path(file).stem)
    return stem if _NAME.fullmatch(stem) else "app"


def _input(declaration: Declaration) -> Input:
    return Input(
        declaration.name, declaration.schema, declaration.points, declaration.end is not None, declaration.static
    )


def _dead_input(name: str, root: Node) -> Input:
    """Dead letters live as long as the rows that they are of."""
    rows = [node.input for node in guards(root)]
    return Input(name, DEAD_ROWS, all(each.points for each in rows), any(each.open_ended for each in rows))


def _side_input(declaration: Declaration, name: str) -> Input:
    if name == declaration.bad_stream:
        return Input(name, BAD_ROWS, of_points=True)
    return replace(_input(declaration), stream=name)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError("PLAN.BAD_NAME", name=name)
