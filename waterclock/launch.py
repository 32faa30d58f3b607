"""From what an app has declared to something that runs: the way of a program, and so the architecture."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from waterclock.batch import run_batch
from waterclock.catalog import Catalog, Lease, Observer
from waterclock.declared import Declared, lives_of, making_of
from waterclock.errors import ConfigError
from waterclock.handle import Handle
from waterclock.optimizer import Statistics, VertexPlan
from waterclock.optimizer.cycles import advances
from waterclock.optimizer.recovery import chosen
from waterclock.plan import Node, explain, user_code
from waterclock.plan.guarded import DEAD_ROWS, dead_stream, has_dead_letters
from waterclock.plan.strategy import Strategy
from waterclock.runtime.barriers import Barriers
from waterclock.runtime.delivery import DeliveryWorker
from waterclock.runtime.drivers import Assignment, Succession, default_name
from waterclock.runtime.engine import Engine, Parts, StandBy
from waterclock.runtime.feedback import Feedback
from waterclock.runtime.idle import IdleClock
from waterclock.runtime.imports import TimeImport, check_origins
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.inprocess.twice import TwiceRunner
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.log import StreamLog, create_pushed, create_source, wall_clock
from waterclock.runtime.measured import measured
from waterclock.runtime.metrics.watch import Watch
from waterclock.runtime.pump import Pump
from waterclock.runtime.rebuild import rows_since
from waterclock.runtime.recovery import check_tail
from waterclock.runtime.runner import Runner
from waterclock.runtime.store import Store
from waterclock.runtime.task import Program
from waterclock.runtime.vertex import POLL, VertexWorker
from waterclock.streams import Declaration

ALONE = 1_000_000
"""Rows that are taken again in the driver sooner than Spark has started."""


def start(app: Declared, mode: str, twice: bool = False, driver: str | None = None, standby: bool = False) -> Engine:
    """The way of a program from its plan to a running job: this is the architecture."""
    catalog = app.open()  # the only mutable thing
    runner: Runner | None = None
    store = Store(catalog, None)
    try:
        me = driver or default_name()
        if not standby:
            store.go_by(
                catalog.leases.acquire(app.lease, app.lease_micros, me)
            )  # one leads; a replaced one is fenced off
        if standby or mode != "offline":
            (store.go_by if standby else store.keep_lease)(catalog.leases.join(app.name, me, app.lease_micros))
        plans = _known_plans(app, catalog) if standby else _prepared(app, store)
        at_once = not standby and _goes_on(app, catalog, plans)
        runner = TwiceRunner() if twice else runner_of(app, mode, at_once)  # where steps run: here, or on Spark
        vertices = [_vertex(app, store, plan, runner) for plan in plans.values()]
        assignment = Assignment(store, app.name, me, vertices) if mode != "offline" else None
        parts = _parts(app, store, plans, runner, vertices, assignment)
        if not standby:
            return Engine(app.name, _leading(app, parts, plans, mode), mode != "live", app.metrics_port)
        for vertex in vertices:
            vertex.host(False)
        succession = Succession(store, app.lease, me, app.lease_micros)
        return Engine(app.name, parts, False, app.metrics_port, StandBy(succession, partial(_take_over, app, parts)))
    except BaseException:
        if runner is not None:
            runner.close()
        store.close()
        raise


def _prepared(app: Declared, store: Store) -> dict[str, VertexPlan]:
    """What the leader of an app does before anything runs."""
    plans = app.plans(store.catalog)
    declare(app, store.catalog, plans)  # streams and vertices, checked against what the store knows
    for plan in plans.values():
        check_tail(store, plan)  # what a power cut took is computed again from what is durable
    for name, (_, rows) in app.tables.items():
        StreamLog(store, name, store.lease).fill(rows)  # once; later they must be the same
    return plans


def _parts(
    app: Declared, store: Store, plans: Mapping[str, VertexPlan], runner: Runner, vertices: list[VertexWorker],
    assignment: Assignment | None,
) -> Parts:  # fmt: skip
    """Of every driver."""
    keeper = Keeper(store, list(plans))
    counts = {vertex.vertex: vertex.progress for vertex in vertices}
    watch = Watch(store.catalog, app.name, tuple(app.streams), counts, keeper, app.alerts)  # figures and alerts
    barriers = Barriers(store, app.name, list(plans), app.snapshots)
    return Parts(store, runner, [*app.streams, *app.attached], watch, vertices, keeper, barriers, assignment)


def _leading(app: Declared, parts: Parts, plans: Mapping[str, VertexPlan], mode: str) -> Parts:
    """With what one driver of an app has: its sources, clocks and sinks."""
    store = parts.store
    if parts.assignment is not None:
        parts.assignment.leads = True
        parts.assignment.helped = parts.watch if app.duplicate_slow else None
    began = None if mode == "live" else wall_clock()
    pumps = [
        Pump(store, name, source, _consumers(name, plans), 4 * app.epoch_rows, began)
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
    return replace(parts, pumps=pumps, clocks=clocks, imports=imports, deliveries=deliveries)


def _take_over(app: Declared, parts: Parts, lease: Lease) -> Parts:
    """From standing by to leading: what a start does, with the runner and the vertices that are there."""
    parts.store.go_by(lease)
    return _leading(app, parts, _prepared(app, parts.store), "live")


class _Undone(Exception):
    pass


def _known_plans(app: Declared, catalog: Catalog) -> dict[str, VertexPlan]:
    """For a driver that stands by: checked as for one that starts, with nothing changed, once the leader has declared
    what there is."""

    def check() -> None:
        declare(app, catalog, app.plans(catalog))
        raise _Undone

    with suppress(_Undone):
        catalog.transact(check)
    observer = Observer()
    while not set(plans := app.plans(catalog)) <= set(app.vertices(catalog)):
        held = catalog.leases.get(app.lease)
        if held is None or observer.is_free(held):
            declare(app, catalog, plans)  # nobody leads it yet, so this one will
        time.sleep(POLL)
    return plans


def batched(app: Declared, look_only: bool = False) -> Handle:
    """All outputs at once over the history, after what the sources have was taken in.

    ``look_only``: over the history as it is; nothing is taken in, and sinks get nothing.
    """
    if "now" in app.attached.values():
        fix = "A batch run is over the history: attach from 'beginning' or from a time."
        raise ConfigError("CONFIG.BAD_OPTION", option="from_", value="now", fix=fix)
    catalog = app.open()
    try:
        if not look_only:
            for declaration, _ in app.streams.values():
                create_pushed(catalog, declaration, app.name)
            _take_in(app, catalog)
        outputs = {name: app.optimized(plan.root) for name, (plan, _) in app.outputs.items()}
        sinks = {name: sink for name, (_, sink) in app.outputs.items() if sink is not None and not look_only}
        tables = {name: rows for name, (_, rows) in app.tables.items()}
        return run_batch(app.name, catalog, app.streams, outputs, sinks, tables, app.master, app.spark)
    finally:
        catalog.close()


def declare(app: Declared, catalog: Catalog, plans: Mapping[str, VertexPlan]) -> None:
    declarations = {name: declaration for name, (declaration, _) in app.streams.items()}
    check_origins(declarations, {name: plan.inputs for name, (plan, _) in app.outputs.items()}, app.store)
    makings = {name: making_of(plan) for name, plan in plans.items()}

    def all_of_it() -> None:
        catalog.epochs.drop_unused(app.name, plans)
        for declaration, _ in app.tables.values():
            catalog.streams.create(declaration, app.name)
        for declaration, source in app.streams.values():
            create_source(catalog, declaration, app.name)
            if source is not None:
                catalog.streams.claim(declaration.name, app.name)
        strategies = _strategies(app, catalog, plans)
        for name, plan in plans.items():
            retention = app.retentions.get(name) if name in app.outputs else 0
            made = Declaration(name, plan.root.schema, None, retention=retention, made=made_by(plan.root))
            catalog.streams.create(made, app.name)
            if has_dead_letters(plan.root):
                catalog.streams.create(Declaration(dead_stream(name), DEAD_ROWS, None), app.name)
            catalog.epochs.create(name, app.name, plan.identity, _described(plan), plan.inputs)
            catalog.epochs.set_strategy(name, strategies[name])
            catalog.epochs.set_history(name, app.history)
            catalog.makings.note(name, catalog.epochs.standing(name).epoch + 1, makings[name])
            starts = {
                stream: _start(catalog, stream, app.attached[stream])
                for stream in plan.inputs
                if stream in app.attached
            }
            if starts:
                catalog.epochs.set_starts(name, starts)

    catalog.transact(all_of_it)


def _described(plan: VertexPlan) -> str:
    """For people: the plan, and what each operator is whose state has only its number."""
    return "\n".join([explain(plan.root), *(f"{node.id} {node.node.label}" for node in plan.nodes)])


def _start(catalog: Catalog, stream: str, wanted: int | str) -> int:
    row = catalog.streams.get(stream)
    if wanted == "beginning":
        return row.first
    found = catalog.streams.first_after(stream, wanted - 1, row.first) if isinstance(wanted, int) else None
    return row.next if found is None else found


def made_by(root: Node) -> tuple[str, ...]:
    """What those who read the output by its name alone have to know of its events."""
    said = {"points": root.points, "open": root.open_ended, "endless": root.endless, "cyclic": root.cyclic}
    return tuple(word for word, holds in said.items() if holds)


def _strategies(app: Declared, catalog: Catalog, plans: Mapping[str, VertexPlan]) -> dict[str, Strategy]:
    """How each vertex gets lost state back, by what earlier runs have measured where nobody said it."""
    lives = lives_of(app.streams, {name: plan.root for name, plan in plans.items()})
    known = app.vertices(catalog)
    found: dict[str, Strategy] = {}
    for name, plan in plans.items():
        seen = measured(catalog, name) if name in known else Statistics()
        # What outputs share has the strategy of those that read it, if they have one in common.
        asked = {app.recovery[reader] for reader in _consumers(name, plans) if reader in app.recovery}
        shared = asked.pop() if name not in app.outputs and len(asked) == 1 else None
        found[name] = chosen(plan, app.recovery.get(name, shared), lives, app.statistics.over(seen))
    return found


def _vertex(app: Declared, store: Store, plan: VertexPlan, runner: Runner) -> VertexWorker:
    declarations = {name: store.catalog.streams.get(name).declaration for name in plan.inputs}
    program = Program(str(store.root), plan, declarations)
    feedback = None
    if plan.name in plan.inputs:  # a cycle
        lives = lives_of(app.streams, {name: output.root for name, (output, _) in app.outputs.items()})
        feedback = Feedback(plan.name, advances(plan.root, lives))
    return VertexWorker(store, program, runner, app.epoch_rows, app.tasks, app.statistics, feedback)


def _goes_on(app: Declared, catalog: Catalog, plans: Mapping[str, VertexPlan]) -> bool:
    """Whether its epochs need not wait for Spark: it has run before, so that Spark is known to start, nothing that
    users wrote can take the driver down, and there is no more state to rebuild than one process does meanwhile."""
    ours = [vertex for vertex in catalog.epochs.vertices() if vertex.app == app.name]
    return (
        any(vertex.epoch >= 0 for vertex in ours)
        and not user_code(*(plan.root for plan in plans.values()))
        and all(vertex.lost is None or rows_since(catalog, vertex) < ALONE for vertex in ours)
    )


def runner_of(app: Declared, mode: str, at_once: bool = False) -> Runner:
    """``at_once``: steps run in this process until Spark has started."""
    if mode == "offline":
        return InProcessRunner()
    from waterclock.runtime.spark.interrupt import interruptible  # Java is needed only here
    from waterclock.runtime.spark.runner import SparkRunner
    from waterclock.runtime.spark.starting import StartingRunner

    spark = partial(SparkRunner, app.name, app.master, dict(app.spark), len(app.outputs))
    return StartingRunner(spark) if at_once else interruptible(spark)


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
    began = wall_clock()
    try:
        for name, source in sources.items():
            try:
                store.catalog.streams.claim(name, app.name)
            except ConfigError:
                continue  # another app brings its events in
            pumps.append(Pump(store, name, source, [], 0, began))
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
