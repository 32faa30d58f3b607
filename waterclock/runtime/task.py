"""What one task of an epoch does. The in-process runner and Spark's workers run exactly this code.

Stage 0 reads input pieces and runs the legs behind them. Stage k owns a range of keys: it takes the blocks sent to
its stateful nodes, steps them and runs the legs behind, which may lead to another node of the stage. Blocks for later
stages and reports pass through.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import polars as pl

from waterclock import crashpoints
from waterclock.expr import Expr, to_polars
from waterclock.hashing import SPACE, digest, ranges
from waterclock.operators import leg as legs
from waterclock.operators.base import Operator, Spec, Turn
from waterclock.operators.failures import Failures
from waterclock.operators.registry import latest as latest_of
from waterclock.operators.registry import operator_of
from waterclock.optimizer.cut import OUTPUT, Leg, Stateful, VertexPlan
from waterclock.plan.guarded import DEAD_ROWS, Guarded
from waterclock.runtime import observer
from waterclock.runtime.exchange import Block
from waterclock.runtime.files import Saved, decoded, retain, save
from waterclock.schema import SEQ, VE, VS
from waterclock.state import Indexed, Run, Table, changes, in_order, live_in, merge
from waterclock.storage.blobs import MOST_CHUNKS
from waterclock.streams import Declaration, Piece, scan_piece
from waterclock.time import BEGINNING, FOREVER

LARGE_STATE = 768 << 20
"""From so many bytes on, a worker keeps no pages of the state mapped between epochs."""
MERGED = 200_000
"""Rows of state that are merged together, as long as the parts are few."""


@dataclass(frozen=True)
class Program:
    """What stays the same over the epochs of a vertex; sent to the workers once."""

    root: str
    plan: VertexPlan
    declarations: dict[str, Declaration]


@dataclass(frozen=True)
class Step:
    """One epoch of a vertex, resolved to files."""

    epoch: int
    pieces: tuple[tuple[tuple[str, Piece], ...], ...]
    """For each reading task, in order: input stream and piece."""
    parts: tuple[int, ...]
    """How many tasks stage 1, 2... has."""
    ctis: dict[str, int]
    """New CTI of each input stream."""
    node_ctis: dict[str, int]
    """By node and port."""
    tops: dict[str, int]
    lows: dict[str, int]
    """By node and table."""
    runs: dict[str, tuple[Run, ...]]
    merges: dict[str, tuple[Run, ...]]
    """Runs of each node that this step rewrites; all tables together."""
    filters: dict[str, tuple[Expr, ...]] = field(default_factory=dict)
    """By input stream: rows for which one of these holds are left out."""
    only: tuple[tuple[int, int], ...] = ()
    """The ranges of keys to be computed, of a plan with one stage behind the first; empty: all."""

    def keys(self, stage: int) -> list[tuple[int, int]]:
        """The range of keys of each task of a stage behind the first."""
        return list(self.only) or ranges(self.parts[stage - 1])

    def has_input_of(self, other: Step | None) -> bool:
        """What was read for the other one is what this one needs."""
        mine = (self.epoch, self.pieces, self.ctis, self.parts, self.filters)
        return other is not None and mine == (other.epoch, other.pieces, other.ctis, other.parts, other.filters)


@dataclass(frozen=True)
class LeftOut:
    """Rows of a guarded node that its policy left out."""

    node: str
    rows: int
    last: tuple[str, str]
    """Of these rows: what went wrong, and the row."""
    dead: Saved | None
    """Dead letters, if they are wanted."""
    digest: int
    """Of what is told of them, but for the errors: their words may depend on where the code lies."""


@dataclass
class Report:
    stage: int
    index: int
    outputs: list[tuple[int, Saved, int]] = field(default_factory=list)
    """Leg, rows, digest."""
    output_cti: int = FOREVER
    runs: list[tuple[str, str, int, Saved]] = field(default_factory=list)
    """Node, table, level, rows."""
    ctis: dict[str, int] = field(default_factory=dict)
    """That the nodes stepped here have seen, by node and port."""
    tops: dict[str, int] = field(default_factory=dict)
    lows: dict[str, int] = field(default_factory=dict)
    """By node and table: for this range of keys."""
    rows: dict[str, int] = field(default_factory=dict)
    """That a node gave; by target and leg, that were sent to it."""
    left_out: dict[legs.Path, LeftOut] = field(default_factory=dict)
    sent_rows: int = 0
    """Handed on to a later stage; what stays in its task is not counted."""
    sent_bytes: int = 0
    taken: int = 0
    """Rows that came to the task."""
    seconds: float = 0.0
    retries: int = 0
    """How often Spark had tried it before."""


Given = tuple[list[Block], Report]
"""What a task gives."""

_operators: dict[str, Operator] = {}
_lock = threading.Lock()


def execute(program: Program, step: Step) -> list[Report]:
    """The whole step in this process, one task after another."""
    return finish(program, step, (read_stage(program, step, index) for index in range(len(step.pieces))), map)


def start_reading(program: Program, step: Step, threads: Executor) -> list[Future[Given]]:
    """Stage 0, its tasks as threads."""
    return [threads.submit(read_stage, program, step, index) for index in range(len(step.pieces))]


def finish(
    program: Program, step: Step, read: Iterable[Given], over: Callable[..., Iterable[Given]],
    meanwhile: Callable[[], None] = lambda: None,
) -> list[Report]:  # fmt: skip
    """The stages behind what was read. ``over`` is a map; ``meanwhile`` is called once the first is under way."""
    waiting: list[Block] = []
    reports: list[Report] = []

    def take(given: Iterable[Given]) -> None:
        for sent, report in given:
            reports.append(report)
            waiting.extend(sent)

    take(read)
    for stage in range(1, program.plan.stages):
        here = [block for block in waiting if program.plan.stage_of(block.target) == stage]
        given = over(partial(_key_stage, program, step, stage, here), range(len(step.keys(stage))))
        if stage == 1:
            meanwhile()
        take(given)
    return reports


def _key_stage(program: Program, step: Step, stage: int, blocks: Sequence[Block], part: int) -> Given:
    keys = step.keys(stage)[part]
    return key_stage(program, step, stage, part, [block.part(keys) for block in blocks])


def read_stage(program: Program, step: Step, index: int) -> Given:
    """Stage 0: the legs behind the input streams, over the pieces of this task."""
    crashpoints.reach("task.running")
    began = time.perf_counter()
    plan = program.plan
    report = Report(0, index, taken=sum(piece.rows for _, piece in step.pieces[index]))
    out: list[Block] = []
    for target, its_legs in plan.targets():
        for number, leg in enumerate(its_legs):
            if leg.stage == 0:
                frame = _input(program, step, index, leg)
                _run_leg(program, step, target, number, leg, frame, step.ctis[leg.origin], index, out, report)
    crashpoints.reach("task.after_files")
    report.seconds = time.perf_counter() - began
    return out, report


def key_stage(program: Program, step: Step, stage: int, part: int, blocks: Sequence[Block]) -> Given:
    """Stage k: the stateful nodes of this stage over one range of keys, and the legs behind them."""
    began = time.perf_counter()
    plan = program.plan
    report = Report(stage, part, taken=sum(len(rows) for block in blocks for rows in block.tables.values()))
    keys = step.keys(stage)[part]
    here, out = list(blocks), list[Block]()
    for node in plan.nodes:
        if node.stage != stage:
            continue
        # Ordered by origin: the order of arrival never matters.
        arrived = sorted(
            (block for block in here if block.target == node.id), key=lambda block: (block.leg, block.origin)
        )
        output, cti = _step_node(program, step, node, part, arrived, report)
        for target, its_legs in plan.targets():
            for number, leg in enumerate(its_legs):
                if leg.origin == node.id:
                    sent: list[Block] = []
                    _run_leg(program, step, target, number, leg, output.lazy(), cti, part, sent, report)
                    if leg.local:
                        here += [_at_home(block, keys) for block in sent]
                    else:
                        out += sent
    report.seconds = time.perf_counter() - began
    return out, report


def _at_home(block: Block, keys: tuple[int, int]) -> Block:
    """A block for a node of the same task."""
    mine = block.part(keys)
    assert sum(map(len, mine.tables.values())) == sum(map(len, block.tables.values())), "a row is in the wrong task"
    return mine


def _input(program: Program, step: Step, index: int, leg: Leg) -> pl.LazyFrame:
    declaration = program.declarations[leg.origin]
    root = Path(program.root)
    pieces = [piece for stream, piece in step.pieces[index] if stream == leg.origin]
    found = [scan_piece(root, piece, declaration) for piece in pieces]
    if any(isinstance(node, Guarded) and node.on_error.leaves_out for node in leg.operators):
        found = [rows.with_row_index(SEQ, piece.first) for rows, piece in zip(found, pieces, strict=True)]
    rows = pl.concat(found) if found else leg.source.schema.empty().lazy()
    for bad in step.filters.get(leg.origin, ()):
        rows = rows.filter(~to_polars(bad, declaration.schema).fill_null(False))
    return rows if observer.current is None else observer.current.read((0, index), leg, rows)


def _run_leg(
    program: Program, step: Step, target: str, number: int, leg: Leg, frame: pl.LazyFrame, cti: int, origin: int,
    out: list[Block], report: Report,
) -> None:  # fmt: skip
    failed: dict[legs.Path, tuple[Guarded, Failures]] = {}
    seen = observer.current
    watch = partial(seen.passed, (leg.stage, origin), leg) if seen is not None else None
    rows = legs.run(leg, frame, failed, watch)
    for path, (guarded, failures) in failed.items():
        if path not in report.left_out:
            report.left_out[path] = _left_out(program, step, guarded, failures, leg.origin if leg.stage == 0 else None)
    cti = legs.cti(leg, cti)
    if target == OUTPUT:
        report.output_cti = min(report.output_cti, cti)
        collected = rows.collect()
        if seen is not None:
            seen.output.append(((leg.stage, origin), collected))
        report.rows[f"{target}:{number}"] = collected.height
        if collected.height:
            saved = save(program.root, f"streams/{program.plan.name}", step.epoch, collected, state=False)
            report.outputs.append((number, saved, digest(collected)))
        return
    node = next(node for node in program.plan.nodes if node.id == target)
    operator = _operator(node)
    tables = operator.prepare(leg.port, rows)
    top = max((_top(frame) for frame in tables.values()), default=BEGINNING)
    shared = frozenset(spec.name for spec in operator.tables if spec.shared)
    report.rows[f"{target}:{number}"] = max((frame.height for frame in tables.values()), default=0)
    if not leg.local:
        report.sent_rows += sum(frame.height for frame in tables.values())
        report.sent_bytes += int(sum(frame.estimated_size() for frame in tables.values()))
    out.append(Block(target, number, origin, cti, top, tables, shared))


def _left_out(program: Program, step: Step, node: Guarded, failures: Failures, stream: str | None) -> LeftOut:
    columns = zip(*failures, strict=True)
    vs, ve, row, error, seq = (list(column) for column in columns)
    told = {VS: vs, VE: ve, "operator": node.essence, "error": error, "row": row, "stream": stream, "seq": seq}
    frame = pl.DataFrame(told, schema=DEAD_ROWS.frame_schema())
    dead = None
    if node.on_error.policy == "dead_letter":
        # In the folder of the vertex: whoever mends or sweeps its files finds these.
        dead = save(program.root, f"streams/{program.plan.name}", step.epoch, frame, state=False)
    return LeftOut(node.identity, frame.height, (error[-1], row[-1]), dead, digest(frame.drop("error")))


def _top(frame: pl.DataFrame) -> int:
    """The greatest finite time of some rows: where the last one starts to be, or ends."""
    ends = pl.col(VE).filter(pl.col(VE) < FOREVER)
    finite = frame.select(pl.max_horizontal(pl.col(VS).max() + 1, ends.max())).item()
    return BEGINNING if finite is None else int(finite)


def _step_node(
    program: Program, step: Step, node: Stateful, part: int, blocks: list[Block], report: Report
) -> tuple[pl.DataFrame, int]:
    operator = _operator(node)
    keys = step.keys(node.stage)[part]
    runs = step.runs.get(node.id, ())
    merging = step.merges.get(node.id, ())
    latest = max(latest_of(child, step.ctis) for child in node.node.inputs)
    top = max([latest, step.tops.get(node.id, BEGINNING), *(block.top for block in blocks)])
    old, new = [], []
    for port in range(len(node.node.inputs)):
        old.append(step.node_ctis.get(f"{node.id}:{port}", BEGINNING))
        new.append(max(old[-1], min(block.cti for block in blocks if node.legs[block.leg].port == port)))
        report.ctis[f"{node.id}:{port}"] = new[-1]
    files = {saved.blob for block in blocks for saved in block.files.values() if saved.blob is not None}
    retain(f"{program.root} {program.plan.name} {node.id}", {run.blob for run in runs} | files)
    state: dict[str, Table] = {}
    for spec in operator.tables:
        part_of_table = (0, SPACE) if spec.shared else keys
        low = step.lows.get(f"{node.id}:{spec.name}", BEGINNING)
        found = decoded(program.root, (run.blob for run in live_in(runs, spec.name, part_of_table)))
        state[spec.name] = Table(found, part_of_table, low, spec.mortal, step.epoch)
    arrived: dict[str, pl.DataFrame] = {}
    for name in {name for block in blocks for name in block.tables}:
        frames = [block.tables[name] for block in blocks if name in block.tables]
        arrived[name] = frames[0] if len(frames) == 1 else in_order(operator.fold(name, pl.concat(frames)))
    if observer.current is not None:
        observer.current.arrived((node.stage, part), node, arrived, state)
    stepped = operator.step(Turn(arrived, state, tuple(old), tuple(new), top, part == 0))
    if observer.current is not None:
        observer.current.stepped((node.stage, part), node, stepped)
    mapped = files | {run.blob for run in runs}
    if sum(blob.length for blob in mapped) > LARGE_STATE:
        for run in decoded(program.root, mapped):
            run.rest()  # the next epoch may go to another worker, which maps it too
    for spec in operator.tables:
        low = max(stepped.lows.get(spec.name, BEGINNING), step.lows.get(f"{node.id}:{spec.name}", BEGINNING))
        report.lows[f"{node.id}:{spec.name}"] = low
        if spec.shared and part > 0:
            continue
        added = stepped.added.get(spec.name)
        if spec.name in stepped.kept:
            added = _keep(node, spec.name, blocks, low, report)
        frame = changes(added, stepped.removed.get(spec.name), spec.mortal, step.epoch)
        if frame is not None:
            _save_run(program, step, node, spec.name, frame, 0, report)
        part_of_table = (0, SPACE) if spec.shared else keys
        old_runs = live_in(merging, spec.name, part_of_table)
        if old_runs:
            past = decoded(program.root, (run.blob for run in old_runs))
            merged = _merged(operator, spec, past, part_of_table, low)
            if merged.height:
                level = max(run.level for run in old_runs) + 1
                _save_run(program, step, node, spec.name, merged, level, report)
            for run in past:
                run.rest()
    report.tops[node.id] = top
    report.rows[node.id] = stepped.output.height
    if stepped.failures:
        assert isinstance(node.node, Guarded)
        report.left_out[node.id,] = _left_out(program, step, node.node, stepped.failures, None)
    return stepped.output, stepped.cti


def _merged(operator: Operator, spec: Spec, runs: Sequence[Indexed], keys: tuple[int, int], low: int) -> pl.DataFrame:
    """Several runs as one. Large ones range by range, so that memory is needed for a part of the rows only."""
    rows = sum(high - least for least, high in (run.rows_in(keys) for run in runs))
    merged: list[pl.DataFrame] = []
    for some in ranges(min(MOST_CHUNKS, 1 + rows // MERGED), keys):
        frames = [run.frame[slice(*run.rows_in(some))] for run in runs]
        merged.append(in_order(operator.fold(spec.name, merge(frames, low, spec.mortal))))
    return pl.concat(merged)


def _keep(node: Stateful, table: str, blocks: Sequence[Block], low: int, report: Report) -> pl.DataFrame | None:
    """Rows that arrived become state: files as they are, which every task reports; the others are given back."""
    loose: list[pl.DataFrame] = []
    for block in blocks:
        saved = block.files.get(table)
        if saved is None and table in block.tables:
            loose.append(block.tables[table])
        elif saved is not None and saved.greatest[1] > low:
            report.runs.append((node.id, table, 0, saved))
    return pl.concat(loose).filter(pl.col(VE) > low) if loose else None


def _operator(node: Stateful) -> Operator:
    with _lock:
        if node.id not in _operators:
            _operators[node.id] = operator_of(node.node)
        return _operators[node.id]


def _save_run(
    program: Program, step: Step, node: Stateful, table: str, frame: pl.DataFrame, level: int, report: Report
) -> None:
    saved = save(program.root, f"state/{program.plan.name}", step.epoch, frame, state=True)
    report.runs.append((node.id, table, level, saved))
