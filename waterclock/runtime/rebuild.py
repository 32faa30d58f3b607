"""Computes lost state again, from the last checkpoint or from nothing, for the keys that lost it.

What state becomes does not depend on how the input is cut into epochs, so all that came since is taken in few large
steps, in parallel, and their output is thrown away: it is stored already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from waterclock import crashpoints
from waterclock.catalog import Catalog, Intent, Keys, Range, Snapshot, Standing, Vertex
from waterclock.expr import Expr
from waterclock.hashing import ranges
from waterclock.lang.sql.predicate import predicate
from waterclock.optimizer.cut import VertexPlan
from waterclock.plan import Apply, Node, WindowAggregate
from waterclock.runtime.coordinator import Splitting
from waterclock.runtime.pieces import grouped, kept_runs, pieces_of, times_of
from waterclock.runtime.recovery import EVERY_KEY, base_of
from waterclock.runtime.runner import Runner
from waterclock.runtime.store import Store
from waterclock.runtime.task import Program, Step
from waterclock.state import Run
from waterclock.time import BEGINNING, FOREVER


def rebuild(store: Store, program: Program, runner: Runner, split: Splitting, max_rows: int) -> None:
    catalog, name = store.catalog, program.plan.name
    vertex = catalog.epochs.get(name)
    standing = Standing(vertex.epoch, vertex.generation)
    if vertex.lost is None:
        return  # another driver was faster
    try:
        added = _computed(store, program, runner, split, max_rows, vertex, vertex.lost)
    except Exception:
        if catalog.epochs.standing(name) != standing:
            return  # it was faster meanwhile, and what this one was reading may have been trimmed
        raise
    catalog.transact(lambda: catalog.epochs.restore(name, standing, added), store.lease)
    crashpoints.reach("rebuild.after_commit")
    store.bell.ring()


def _computed(
    store: Store, program: Program, runner: Runner, split: Splitting, max_rows: int, vertex: Vertex, lost: Keys
) -> list[Run]:  # fmt: skip
    catalog, name = store.catalog, vertex.name
    at = catalog.epochs.durable_snapshot(vertex)
    runs = [run for _, run in base_of(catalog, vertex)]
    only = () if lost == EVERY_KEY else _shared_out(lost, runner.threads)
    added: list[Run] = []
    for intent in _steps(catalog, program.plan, vertex, at, split, max_rows):
        if only:  # in one process: an exchange between several knows whole stages only
            readers, parts = min(intent.readers, runner.threads), min(len(only), runner.threads)
            intent = replace(intent, readers=readers, parts=(parts,))
        step = Step(
            epoch=intent.epoch,
            pieces=pieces_of(catalog, intent)[0],
            parts=intent.parts,
            ctis={stream: taken.new for stream, taken in intent.inputs.items()},
            node_ctis=at.node_ctis,
            tops=at.tops,
            lows=at.lows,
            runs=grouped([*runs, *added]),
            merges={},
            filters=_filters(catalog, program, intent),
            only=only,
        )
        reports = runner.run(program, step)
        added += kept_runs(store, name, reports)
        node_ctis, tops, lows = times_of(reports)
        at = replace(at, node_ctis=node_ctis, tops=tops, lows=lows)
        crashpoints.reach("rebuild.after_step")
    return added


def rows_since(catalog: Catalog, vertex: Vertex) -> int:
    """How many it has taken since the state that survives anything."""
    base, now = catalog.epochs.durable_snapshot(vertex).positions, catalog.epochs.snapshot(vertex.name).positions
    return sum(end - base.get(stream, 0) for stream, end in now.items())


def _steps(
    catalog: Catalog, plan: VertexPlan, vertex: Vertex, base: Snapshot, split: Splitting, max_rows: int
) -> Iterator[Intent]:
    """What was taken between the base and now, in pieces as large as epochs may be."""
    if any(map(_is_about_epochs, _nodes(plan.root))):
        yield from (intent for intent, _ in catalog.epochs.recorded(plan.name, base.epoch, vertex.epoch))
        return
    goal = catalog.epochs.snapshot(plan.name)
    positions, ctis = dict(base.positions), dict(base.ctis)
    epochs = vertex.epoch - base.epoch
    rows = max((goal.positions[name] - positions.get(name, 0) for name in plan.inputs), default=0)
    # No more steps than there were epochs: each has a number of its own, and later ones are not taken yet.
    most = max(max_rows, -(-rows // max(1, epochs)))
    for epoch in range(base.epoch + 1, vertex.epoch + 1):
        inputs: dict[str, Range] = {}
        for name in plan.inputs:
            start, old = positions.get(name, 0), ctis.get(name, BEGINNING)
            end = min(goal.positions[name], start + most, *_changes_of_filters(catalog, plan.name, name, start))
            cti = goal.ctis[name] if end == goal.positions[name] else catalog.streams.cti_at(name, end)
            if cti == FOREVER and old < (last := catalog.streams.last_finite_cti(name)):
                cti = last  # as in any run, it has an epoch of its own
            inputs[name] = Range(start, end, old, max(old, cti))
        if all(taken.end == taken.start and taken.new == taken.old for taken in inputs.values()):
            return
        tasks = split({name: taken.end - taken.start for name, taken in inputs.items()}, base.flows)
        yield Intent(epoch, inputs, tasks.readers, tasks.parts)
        positions = {name: taken.end for name, taken in inputs.items()}
        ctis = {name: taken.new for name, taken in inputs.items()}
    assert positions == goal.positions, "more steps than epochs"


def _nodes(root: Node) -> Iterator[Node]:
    yield root
    for child in root.inputs:
        yield from _nodes(child)


def _is_about_epochs(node: Node) -> bool:
    """What it does depends on how the input was cut."""
    return isinstance(node, Apply) or (isinstance(node, WindowAggregate) and bool(node.early))


def _changes_of_filters(catalog: Catalog, vertex: str, stream: str, start: int) -> list[int]:
    found = [each for each in catalog.filters.all() if (each.vertex, each.stream) == (vertex, stream)]
    return [seq for each in found for seq in (each.since, each.until) if seq is not None and seq > start]


def _filters(catalog: Catalog, program: Program, intent: Intent) -> dict[str, tuple[Expr, ...]]:
    """Those that held when these events were taken first."""
    found: dict[str, tuple[Expr, ...]] = {}
    for each in catalog.filters.all():
        if each.vertex == program.plan.name and each.since is not None:
            start = intent.inputs[each.stream].start
            if each.since <= start and (each.until is None or start < each.until):
                schema = program.declarations[each.stream].schema
                found[each.stream] = (*found.get(each.stream, ()), predicate(each.predicate, each.stream, schema))
    return found


def _shared_out(lost: Keys, threads: int) -> Keys:
    """Enough ranges for all threads."""
    return tuple(part for some in lost for part in ranges(max(1, -(-threads // len(lost))), some))
