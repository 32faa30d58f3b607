"""One vertex at work: carries out what its coordinator says, one instruction a turn."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from waterclock import crashpoints
from waterclock.catalog import Commit, Intent, Snapshot
from waterclock.errors import RunError, StoreError, UserError, WaterclockError
from waterclock.expr import Expr
from waterclock.lang.sql.predicate import predicate
from waterclock.operators.registry import latest as latest_of
from waterclock.optimizer import parallelism
from waterclock.optimizer.cut import OUTPUT
from waterclock.optimizer.parallelism import Parallelism
from waterclock.optimizer.statistics import Statistics
from waterclock.runtime import coordinator as c
from waterclock.runtime.barriers import Gate
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.measured import counted
from waterclock.runtime.metrics.figures import Task
from waterclock.runtime.metrics.windows import Epoch, Progress, Tasks
from waterclock.runtime.recovery import check_output, producer_of, roll_back
from waterclock.runtime.runner import Runner
from waterclock.runtime.store import Store
from waterclock.runtime.task import Program, Report, Step
from waterclock.state import Run, pick_merge
from waterclock.storage import Blob, Damaged
from waterclock.streams import Piece, Segment
from waterclock.time import BEGINNING, FOREVER

POLL = 0.05
SMALL_STATE = 64 << 20
"""An epoch that only moves time runs in the driver unless the state is larger than this."""


@dataclass(frozen=True)
class Done:
    """A step that ran and waits for its commit."""

    reports: list[Report]
    merged: tuple[int, ...]
    """Ids of the runs that it rewrote."""
    arrived: int | None
    """When the oldest of its rows came."""
    began: float
    job_seconds: float


class VertexWorker:
    poll = 0.01

    def __init__(
        self, store: Store, program: Program, runner: Runner, max_rows: int, most_tasks: int | None,
        statistics: Statistics,
    ) -> None:  # fmt: skip
        self.name = f"vertex {program.plan.name}"
        self.store = store
        self.program = program
        self.runner = runner
        self.max_rows = max_rows
        self.vertex = program.plan.name
        self.inputs = program.plan.inputs
        self.progress = Progress()
        self.damaged = threading.Event()
        """Set by a reader that found our output damaged."""
        self.halted = False
        self._failed = False
        self._stop_requested = threading.Event()
        self._peers: dict[str, VertexWorker] = {}
        self._in_driver = InProcessRunner()
        self._parallelism = Parallelism(program.plan, most_tasks or runner.cores, runner.threads, statistics)
        self._tasks: int | None = None
        """What the user said with ``waterclock scale``."""
        self._predicates: dict[int, Expr] = {}
        """Of filters, by number."""
        self._coordinator = c.Coordinator(self.inputs, self._split)
        self._todo: deque[c.Instruction] = deque()
        self._done: Done | None = None
        self._promised: dict[str, c.Offer] | None = None
        """What the next epoch takes, when its input is already being read."""
        self._gate = Gate(store.catalog, self.vertex, self.inputs)

    def know(self, peers: dict[str, VertexWorker]) -> None:
        """The other vertices of the app, by name."""
        self._peers = peers

    def request_stop(self) -> None:
        """No new epoch; one that is recorded is finished."""
        self._stop_requested.set()  # heard at the next turn: another thread may be in one

    def turn(self) -> bool:
        """Does the next thing; False when there is nothing to do."""
        if self.halted:
            return False
        if self._coordinator.state == "new":
            self._todo.extend(self._recover())
        if self._stop_requested.is_set() and not self._coordinator.stopping:
            self._todo.extend(self._coordinator.handle(c.StopRequested()))
        if self.damaged.is_set() and self._coordinator.state in ("idle", "running"):  # nothing is in flight
            roll_back(self.store, self.vertex)
            self._todo = deque(self._recover())
            self.damaged.clear()
        if not self._todo and self._coordinator.state == "idle":
            self._todo.extend(self._coordinator.handle(c.Offered(self._offers(self._coordinator.snapshot))))
            if not self._todo and self._gate.is_at_next(self._coordinator.snapshot):
                return self._pass_barrier()
        if not self._todo:
            return False
        instruction = self._todo.popleft()
        if isinstance(instruction, c.Halt):
            self.halted = True
            return False
        if isinstance(instruction, c.Execute) and not self._is_there(instruction.intent):
            self._todo.appendleft(instruction)  # its producer was rolled back and is computing it again
            return False
        try:
            self._todo.extend(self._carry_out(instruction))
        except UserError as error:
            self._fail()
            raise error.within(self.vertex, self._epoch) from error.__cause__
        except WaterclockError:
            self._fail()
            raise
        except Exception as error:
            self._fail()
            raise RunError(
                "RUN.STEP_FAILED",
                epoch=self._epoch,
                vertex=self.vertex,
                reason=f"{type(error).__name__}: {error}",
            ) from error
        return True

    def _pass_barrier(self) -> bool:
        """Without an epoch: there is nothing to take before it."""
        note = partial(self._gate.note, self._coordinator.snapshot)
        passed = self.store.catalog.transact(note, self.store.lease)
        self.store.bell.ring()
        return passed

    def _fail(self) -> None:
        self._coordinator.handle(c.Failed())
        self._failed = True

    def count_failure(self) -> None:
        """If the epoch in hand has failed by itself: one that was cancelled is not counted."""
        if self._failed:
            self._failed = False
            with suppress(WaterclockError), self.store.catalog.transaction(self.store.lease):  # full disk, fenced off
                self.store.catalog.epochs.failed(self.vertex, self._epoch)

    @property
    def _epoch(self) -> int:
        return self._coordinator.snapshot.epoch + 1

    def _recover(self) -> list[c.Instruction]:
        epochs = self.store.catalog.epochs
        self._promised = None
        self._coordinator = c.Coordinator(self.inputs, self._split)
        snapshot = epochs.snapshot(self.vertex)
        self._hear()
        pending = epochs.pending(self.vertex)
        if pending is not None and pending.filters != self._coordinator.filters:
            # It may have failed on the very rows that are to be left out.
            filtered = replace(pending, filters=self._coordinator.filters)
            rewrite = partial(epochs.rewrite_intent, self.vertex, filtered)
            pending = filtered if self.store.catalog.transact(rewrite, self.store.lease) else pending
        if pending is not None:
            count = partial(epochs.count, self.vertex, {"retries": epochs.unfinished(self.vertex)})
            self.store.catalog.transact(count, self.store.lease)
        return self._coordinator.handle(c.Recovered(snapshot, pending))

    def _hear(self) -> None:
        """What was said to the running vertex from outside; it holds from the next intent on."""
        self._tasks = self.store.catalog.epochs.tasks(self.vertex)
        self._coordinator.filters = tuple(each.id for each in self.store.catalog.filters.holding(self.vertex))

    def _split(self, rows: Mapping[str, int], flows: Mapping[str, int]) -> parallelism.Tasks:
        if self._tasks is None:
            return self._parallelism.tasks(rows, flows)
        return parallelism.Tasks(self._tasks, (self._tasks,) * (self.program.plan.stages - 1))

    def _filters(self, intent: Intent) -> dict[str, tuple[Expr, ...]]:
        found: dict[str, tuple[Expr, ...]] = {}
        if intent.filters:
            known = {each.id: each for each in self.store.catalog.filters.all()}
            for number in intent.filters:
                each = known[number]
                if number not in self._predicates:
                    schema = self.program.declarations[each.stream].schema
                    self._predicates[number] = predicate(each.predicate, each.stream, schema)
                found[each.stream] = (*found.get(each.stream, ()), self._predicates[number])
        return found

    def _carry_out(self, instruction: c.Instruction) -> list[c.Instruction]:
        if isinstance(instruction, c.Record):
            crashpoints.reach("epoch.before_intent")
            epochs, intent = self.store.catalog.epochs, instruction.intent
            self.store.catalog.transact(lambda: epochs.write_intent(self.vertex, intent), self.store.lease)
            crashpoints.reach("epoch.after_intent")
            return []
        if isinstance(instruction, c.Execute):
            return self._execute(instruction.intent)
        assert isinstance(instruction, c.Commit)
        return self._commit(instruction)

    # -- execute -------------------------------------------------------------------------------------------

    def _execute(self, intent: Intent) -> list[c.Instruction]:
        began = time.perf_counter()
        rows = _rows(intent)
        while True:
            step, merged, arrived = self._resolve(intent)
            small = rows == 0 and sum(run.blob.length for runs in step.runs.values() for run in runs) < SMALL_STATE
            runner = self._in_driver if small else self.runner
            started = time.perf_counter()
            try:
                reports = runner.run(self.program, step, self._following(intent))
                break
            except Damaged as damage:
                if damage.blob in {run.blob for runs in step.runs.values() for run in runs}:
                    roll_back(self.store, self.vertex)
                    return self._recover()
                self._wait_for_repair(damage)
        self._done = Done(reports, merged, arrived, began, time.perf_counter() - started)
        offers, self._promised = self._promised or self._offers(_behind(intent)), None
        return self._coordinator.handle(c.Executed(offers))

    def _following(self, intent: Intent) -> Step | None:
        """The step behind this one, if there is enough for it already: its input can be read at once."""
        self._promised = None
        if self.program.plan.stages == 1:
            return None
        offers = self._offers(_behind(intent))
        following = self._coordinator.preview(offers)
        if following is None:
            return None
        rows = {name: taken.end - taken.start for name, taken in following.inputs.items()}
        if not self._parallelism.is_worth_reading_ahead(rows, self._coordinator.snapshot.flows):
            return None
        self._promised = offers
        ctis = {name: taken.new for name, taken in following.inputs.items()}
        filters = self._filters(following)
        return Step(following.epoch, self._pieces(following)[0], following.parts, ctis, {}, {}, {}, {}, {}, filters)

    def _is_there(self, intent: Intent) -> bool:
        marks = self.store.catalog.streams.marks()
        return all(marks[name][0] >= taken.end for name, taken in intent.inputs.items())

    def _wait_for_repair(self, damage: Damaged) -> None:
        producer = self._peers.get(producer_of(self.store, damage) or "")
        if producer is None:
            fix = "It was durable and cannot be computed again: restore the file from a copy."
            raise StoreError("STORE.DAMAGED", what=damage.blob.path, reason=damage.reason, fix=fix)
        target = self.store.catalog.epochs.snapshot(producer.vertex).epoch
        producer.damaged.set()
        self.store.bell.ring()
        seen = 0
        while producer.damaged.is_set() or self.store.catalog.epochs.snapshot(producer.vertex).epoch < target:
            if self.single_threaded:
                producer.turn()
            else:
                seen = self.store.bell.wait(seen, POLL)

    single_threaded = False
    """In offline mode nobody else gives the producer its turns."""

    def _offers(self, snapshot: Snapshot) -> dict[str, c.Offer]:
        self._hear()
        streams = self.store.catalog.streams
        offers: dict[str, c.Offer] = {}
        marks = self._gate.limited(streams.marks())
        for name in self.inputs:
            following, cti = marks[name]
            start = snapshot.positions.get(name, 0)
            end = min(following, start + self.max_rows)
            if end < following:
                cti = max(snapshot.ctis.get(name, BEGINNING), streams.cti_at(name, end))
            elif cti == FOREVER and snapshot.ctis.get(name, BEGINNING) < FOREVER:
                # The last time before the end gets an epoch of its own: it bounds the windows of open-ended events,
                # and must do so wherever the epochs are cut.
                before = streams.last_finite_cti(name)
                cti = before if before > snapshot.ctis.get(name, BEGINNING) else cti
            offers[name] = c.Offer(end, cti)
        return offers

    def _resolve(self, intent: Intent) -> tuple[Step, tuple[int, ...], int | None]:
        """Names to files: the pieces of each reading task, and the state. And when the oldest row came."""
        snapshot = self._coordinator.snapshot
        numbered = self.store.catalog.epochs.runs(self.vertex)
        runs: dict[str, list[Run]] = {}
        for _, run in numbered:
            runs.setdefault(run.operator, []).append(run)
        merges: dict[str, tuple[Run, ...]] = {}
        for operator, its_runs in runs.items():
            for table in {run.table for run in its_runs}:
                merges[operator] = merges.get(operator, ()) + pick_merge(
                    [run for run in its_runs if run.table == table]
                )
        merging = {run for group in merges.values() for run in group}
        pieces, arrived = self._pieces(intent)
        step = Step(
            epoch=intent.epoch,
            pieces=pieces,
            parts=intent.parts,
            ctis={name: taken.new for name, taken in intent.inputs.items()},
            node_ctis=snapshot.node_ctis,
            tops=snapshot.tops,
            lows=snapshot.lows,
            runs={operator: tuple(its_runs) for operator, its_runs in runs.items()},
            merges=merges,
            filters=self._filters(intent),
        )
        return step, tuple(number for number, run in numbered if run in merging), arrived

    def _pieces(self, intent: Intent) -> tuple[tuple[tuple[tuple[str, Piece], ...], ...], int | None]:
        rows = _rows(intent)
        share = -(-rows // intent.readers) if rows else 1
        tasks: list[list[tuple[str, Piece]]] = [[] for _ in range(intent.readers)]
        taken_rows = 0
        arrived: list[int] = []
        for name, taken in intent.inputs.items():
            at = taken.start
            for segment in self.store.catalog.streams.segments(name, taken.start, taken.end):
                assert segment.blob is not None
                if segment.arrived is not None:
                    arrived.append(segment.arrived)
                while at < min(segment.end, taken.end):
                    task = taken_rows // share
                    size = min(segment.end, taken.end) - at
                    size = min(size, (task + 1) * share - taken_rows)
                    tasks[task].append((name, Piece(segment.blob, at - segment.first, size, segment.external)))
                    at += size
                    taken_rows += size
            if at < taken.end:
                first = self.store.catalog.streams.get(name).first
                raise StoreError("STREAM.TRIMMED", seq=at, stream=name, first=first)
        return tuple(tuple(task) for task in tasks), min(arrived, default=None)

    # -- commit --------------------------------------------------------------------------------------------

    def _commit(self, instruction: c.Commit) -> list[c.Instruction]:
        catalog = self.store.catalog
        intent, before = instruction.intent, self._coordinator.snapshot
        done = self._done
        assert done is not None
        segments, snapshot = self._output(intent, before, done.reports)
        runs = self._kept_runs(done.reports)
        check_output(catalog, self.vertex, snapshot)
        crashpoints.reach("epoch.before_commit")

        def write() -> Intent | None:
            if catalog.epochs.commit(self.vertex, Commit(intent, snapshot, runs, done.merged)):
                catalog.streams.append(self.vertex, before.output_end, segments, snapshot.cti)
                catalog.filters.applied(self.vertex, intent)
                self._gate.note(snapshot)
            following = instruction.following
            pending = catalog.epochs.pending(self.vertex)
            if pending is None and following is not None:
                catalog.epochs.write_intent(self.vertex, following)
            return pending

        pending = catalog.transact(write, self.store.lease)
        crashpoints.reach("epoch.after_commit")
        self.store.bell.ring()
        self._count(done)
        return self._coordinator.handle(c.Committed(snapshot, pending))

    def _count(self, done: Done) -> None:
        seconds, now = time.perf_counter() - done.began, time.time()
        latency = None if done.arrived is None else max(0.0, now - done.arrived / 1e6)
        stages: dict[int, list[Task]] = {}
        for report in sorted(done.reports, key=lambda report: (report.stage, report.index)):
            stages.setdefault(report.stage, []).append(Task(report.index, report.taken, report.seconds))
            self.progress.sent_rows += report.sent_rows
            self.progress.sent_bytes += report.sent_bytes
            self.progress.task_retries += report.retries
        tasks = Tasks(now, {stage: tuple(found) for stage, found in stages.items()})
        self.progress.add(Epoch(seconds, seconds - done.job_seconds, latency), tasks)

    def _output(self, intent: Intent, before: Snapshot, reports: list[Report]) -> tuple[list[Segment], Snapshot]:
        # By leg and then by task, whose number the intent records: an epoch done again gives the same numbers.
        parts = sorted(
            ((leg, report.index, saved, digest) for report in reports for leg, saved, digest in report.outputs),
            key=lambda part: part[:2],
        )
        after = {name: taken.new for name, taken in intent.inputs.items()}
        cti = max(before.cti, min(report.output_cti for report in reports))
        at = before.output_end
        segments: list[Segment] = []
        for _, _, saved, _ in parts:
            blob = self.store.keep(f"streams/{self.vertex}", saved.blob, saved.data)
            segments.append(Segment(at, saved.rows, before.cti, blob, saved.least[1], saved.greatest[1]))
            at += saved.rows
        latest = max(before.tops.get(OUTPUT, BEGINNING), latest_of(self.program.plan.root, after))
        if cti == FOREVER and before.cti < latest:
            segments.append(Segment(at, 0, latest, None, BEGINNING, BEGINNING))  # for readers, as in _offers
        if cti > before.cti:
            # Data first, then time: the CTI stands behind the last row.
            segments.append(Segment(at, 0, cti, None, BEGINNING, BEGINNING))
        lows: dict[str, int] = {}
        for report in reports:
            for name, low in report.lows.items():
                lows[name] = min(low, lows.get(name, low))  # what one range of keys still needs, stays
        node_ctis: dict[str, int] = {}
        tops = {OUTPUT: latest}
        for report in reports:
            for name, seen in report.ctis.items():
                assert node_ctis.setdefault(name, seen) == seen, "tasks of a stage differ in time"
            for name, top in report.tops.items():
                tops[name] = max(top, tops.get(name, top))
        snapshot = Snapshot(
            epoch=intent.epoch,
            positions={name: taken.end for name, taken in intent.inputs.items()},
            ctis=after,
            node_ctis=node_ctis,
            tops=tops,
            lows=lows,
            cti=cti,
            output_end=at,
            output_rows=at - before.output_end,
            digest=sum(digest for *_, digest in parts) % 2**64,
        )
        return segments, counted(before, snapshot, intent, reports)

    def _kept_runs(self, reports: list[Report]) -> tuple[Run, ...]:
        kept: list[Run] = []
        seen: set[Blob | None] = set()
        for report in sorted(reports, key=lambda report: (report.stage, report.index)):
            for node, table, level, saved in report.runs:
                if saved.blob is not None and saved.blob in seen:
                    continue  # rows that arrived in a file, which every task of the stage has kept
                seen.add(saved.blob)
                blob = self.store.keep(f"state/{self.vertex}", saved.blob, saved.data)
                (least_hash, least_vs), (greatest_hash, greatest_ve) = saved.least, saved.greatest
                kept.append(Run(node, table, blob, saved.rows, least_hash, greatest_hash, least_vs, greatest_ve, level))
        return tuple(kept)


def _rows(intent: Intent) -> int:
    return sum(taken.end - taken.start for taken in intent.inputs.values())


def _behind(intent: Intent) -> Snapshot:
    """Where the inputs stand when the intent is done."""
    return Snapshot(
        positions={name: taken.end for name, taken in intent.inputs.items()},
        ctis={name: taken.new for name, taken in intent.inputs.items()},
    )
