"""From what an app has declared to something that runs: the way of a program, and so the architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from waterclock.batch import run_batch
from waterclock.catalog import Catalog
from waterclock.connect.base import Sink, Source
from waterclock.errors import ConfigError
from waterclock.handle import Handle
from waterclock.optimizer import Statistics, VertexPlan, cut, optimize, share
from waterclock.plan import Node, explain
from waterclock.runtime.barriers import Barriers, Snapshots
from waterclock.runtime.delivery import DeliveryWorker
from waterclock.runtime.engine import Engine, Parts
from waterclock.runtime.idle import IdleClock
from waterclock.runtime.imports import TimeImport, check_origins
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.inprocess.twice import TwiceRunner
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.log import StreamLog, create_source
from waterclock.runtime.metrics.alerts import Alerts
from waterclock.runtime.metrics.watch import Watch
from waterclock.runtime.pump import Pump
from waterclock.runtime.recovery import check_tail
from waterclock.runtime.runner import Runner
from waterclock.runtime.store import Store
from waterclock.runtime.task import Program
from waterclock.runtime.vertex import POLL, VertexWorker
from waterclock.streams import Declaration


@dataclass(frozen=True)
class Declared:
    """All that an app has said until now; its fields are those of ``App``."""

    name: str
    store: str
    catalog: str | None
    streams: Mapping[str, tuple[Declaration, Source | None]]
    tables: Mapping[str, tuple[Declaration, pl.DataFrame]]
    outputs: Mapping[str, tuple[VertexPlan, Sink | None]]
    optimize: bool
    statistics: Statistics
    epoch_rows: int
    tasks: int | None
    master: str
    spark: Mapping[str, str]
    alerts: Alerts
    metrics_port: int | None
    snapshots: Snapshots
    retentions: Mapping[str, int]
    """Of outputs that are not kept for ever."""

    @property
    def lease(self) -> str:
        return f"app {self.name}"

    def open(self) -> Catalog:
        return Catalog.open(self.store, create=True, url=self.catalog)

    def vertices(self, catalog: Catalog) -> dict[str, tuple[str, ...]]:
        """Those of the app that the store knows, and what they read."""
        return {vertex.name: vertex.inputs for vertex in catalog.epochs.vertices() if vertex.app == self.name}

    def parts(self, known: Mapping[str, tuple[str, ...]]) -> dict[str, Node]:
        """The outputs as they are written, but for what they read from streams that they share, and these streams."""
        roots = {name: plan.root for name, (plan, _) in self.outputs.items()}
        if not self.optimize:
            return roots
        shared = share(roots, known, self.statistics)
        return shared.streams | shared.outputs

    def plans(self, catalog: Catalog) -> dict[str, VertexPlan]:
        """What runs: optimized, and computed once where outputs share it."""
        return {name: self.cut(name, root) for name, root in self.parts(self.vertices(catalog)).items()}

    def cut(self, name: str, root: Node) -> VertexPlan:
        return cut(name, self.optimized(root), in_place=self.optimize)

    def optimized(self, root: Node) -> Node:
        return optimize(root) if self.optimize else root


def start(app: Declared, mode: str, twice: bool = False) -> Engine:
    """The way of a program from its plan to a running job: this is the architecture."""
    catalog = app.open()  # the only mutable thing
    runner: Runner | None = None
    store = Store(catalog, None)
    try:
        lease = catalog.leases.acquire(app.lease)  # one process runs an app; a replaced one is fenced off
        store = Store(catalog, lease)
        plans = app.plans(catalog)
        declare(app, catalog, plans)  # streams and vertices, checked against what the store knows
        for name in plans:
            check_tail(store, name)  # what a power cut took is computed again from the last durable snapshot
        for name, (_, rows) in app.tables.items():
            StreamLog(store, name, lease).fill(rows)  # once; later they must be the same
        runner = TwiceRunner() if twice else runner_of(app, mode)  # where steps run: here, or on Spark
        vertices = [_vertex(app, store, plan, runner) for plan in plans.values()]
        pumps = [
            Pump(store, name, source, _consumers(name, plans), 4 * app.epoch_rows)
            for name, (_, source) in app.streams.items()
            if source is not None
        ]
        clocks = _clocks(app, store, pumps) if mode == "live" else []
        imports = _imports(app, store, pumps)
        deliveries = [
            DeliveryWorker(store, name, plan.root.schema, sink)
            for name, (plan, sink) in app.outputs.items()
            if sink is not None
        ]
        keeper = Keeper(store, list(plans))
        barriers = Barriers(store, app.name, list(plans), app.snapshots)
        counts = {vertex.vertex: vertex.progress for vertex in vertices}
        watch = Watch(catalog, app.name, tuple(app.streams), counts, keeper, app.alerts)  # figures and alerts
        sources = list(app.streams)
        parts = Parts(store, runner, sources, watch, pumps, clocks, imports, vertices, deliveries, keeper, barriers)
        return Engine(app.name, parts, mode != "live", app.metrics_port)
    except BaseException:
        if runner is not None:
            runner.close()
        store.close()
        raise


def batched(app: Declared) -> Handle:
    """All outputs at once over the history, after what the sources have was taken in."""
    catalog = app.open()
    try:
        for declaration, _ in app.streams.values():
            create_pushed(catalog, declaration, app.name)
        _take_in(app, catalog)
        outputs = {name: app.optimized(plan.root) for name, (plan, _) in app.outputs.items()}
        sinks = {name: sink for name, (_, sink) in app.outputs.items() if sink is not None}
        tables = {name: rows for name, (_, rows) in app.tables.items()}
        return run_batch(app.name, catalog, app.streams, outputs, sinks, tables, app.master, app.spark)
    finally:
        catalog.close()


def create_pushed(catalog: Catalog, declaration: Declaration, app: str) -> None:
    """Without the lease: what a process runs may not change under it."""

    def create() -> None:
        running = f"app {app}" in catalog.leases.holders()
        create_source(catalog, declaration, None if running else app)

    catalog.transact(create)


def declare(app: Declared, catalog: Catalog, plans: Mapping[str, VertexPlan]) -> None:
    declarations = {name: declaration for name, (declaration, _) in app.streams.items()}
    check_origins(declarations, {name: plan.inputs for name, (plan, _) in app.outputs.items()}, app.store)

    def all_of_it() -> None:
        catalog.epochs.drop_unused(app.name, plans)
        for declaration, _ in app.tables.values():
            catalog.streams.create(declaration, app.name)
        for declaration, source in app.streams.values():
            create_source(catalog, declaration, app.name)
            if source is not None:
                catalog.streams.claim(declaration.name, app.name)
        for name, plan in plans.items():
            retention = app.retentions.get(name) if name in app.outputs else 0
            catalog.streams.create(Declaration(name, plan.root.schema, None, retention=retention), app.name)
            catalog.epochs.create(name, app.name, plan.identity, explain(plan.root), plan.inputs)

    catalog.transact(all_of_it)


def _vertex(app: Declared, store: Store, plan: VertexPlan, runner: Runner) -> VertexWorker:
    declarations = {name: store.catalog.streams.get(name).declaration for name in plan.inputs}
    program = Program(str(store.root), plan, declarations)
    return VertexWorker(store, program, runner, app.epoch_rows, app.tasks, app.statistics)


def runner_of(app: Declared, mode: str) -> Runner:
    if mode == "offline":
        return InProcessRunner()
    from waterclock.runtime.spark.interrupt import interruptible  # Java is needed only here
    from waterclock.runtime.spark.runner import SparkRunner

    return interruptible(lambda: SparkRunner(app.name, app.master, dict(app.spark), len(app.outputs)))


def _clocks(app: Declared, store: Store, pumps: list[Pump]) -> list[IdleClock]:
    quiet = {pump.stream: pump.is_quiet for pump in pumps}
    return [
        IdleClock(store, name, declaration.idle, quiet.get(name, lambda: True))
        for name, (declaration, _) in app.streams.items()
        if declaration.idle is not None
    ]


def _imports(app: Declared, store: Store, pumps: list[Pump]) -> list[TimeImport]:
    empty = {pump.stream: pump.is_empty for pump in pumps}
    return [
        TimeImport(store, name, d.time_from, d.slack or 0, empty.get(name, lambda: True))
        for name, (d, _) in app.streams.items()
        if d.time_from is not None
    ]


def _take_in(app: Declared, catalog: Catalog) -> None:
    """What the sources have, as a drain would; those of an app that is running are its own business."""
    sources = {name: source for name, (_, source) in app.streams.items() if source is not None}
    if not sources or app.lease in catalog.leases.holders():
        return
    store = Store(Catalog.open(app.store, create=False), catalog.leases.acquire(app.lease))
    pumps: list[Pump] = []
    try:
        for name, source in sources.items():
            try:
                store.catalog.streams.claim(name, app.name)
            except ConfigError:
                continue  # another app brings its events in
            pumps.append(Pump(store, name, source, [], 0))
        seen = 0
        while not all(pump.exhausted for pump in pumps):
            worked = [pump.turn() for pump in pumps]
            if not any(worked):
                seen = store.bell.wait(seen, POLL)
    finally:
        for pump in pumps:
            pump.close()
        store.close()


def _consumers(stream: str, plans: Mapping[str, VertexPlan]) -> list[str]:
    return [name for name, plan in plans.items() if stream in plan.inputs]
