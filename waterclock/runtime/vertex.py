"""One vertex at work: carries out what its coordinator says, one instruction a turn.

Other drivers may run the same vertex. The first commit of an epoch wins; whoever loses drops what it computed and goes
on from what the catalog says.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from waterclock import crashpoints
from waterclock.catalog import Commit, Intent, Snapshot, Standing
from waterclock.errors import RunError, UserError, WaterclockError
from waterclock.expr import Expr
from waterclock.lang.sql.predicate import predicate
from waterclock.operators.registry import latest as latest_of
from waterclock.optimizer import parallelism
from waterclock.optimizer.cut import OUTPUT
from waterclock.optimizer.parallelism import Parallelism
from waterclock.optimizer.statistics import Statistics
from waterclock.plan.guarded import dead_stream
from waterclock.runtime import coordinator as c
from waterclock.runtime.barriers import Gate
from waterclock.runtime.dead import dead_of
from waterclock.runtime.feedback import Feedback
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.measured import counted
from waterclock.runtime.metrics.figures import Task
from waterclock.runtime.metrics.windows import Epoch, Progress, Tasks
from waterclock.runtime.pieces import grouped, kept_runs, pieces_of, rows_of, times_of
from waterclock.runtime.rebuild import rebuild
from waterclock.runtime.recovery import (
    beyond_repair,
    check_output,
    check_tail,
    producer_of,
    roll_back,
    roll_back_where_named,
)
from waterclock.runtime.runner import Runner
from waterclock.runtime.store import NAMED_WITHIN, Store
from waterclock.runtime.task import Program, Report, Step
from waterclock.state import Run, pick_merge
from waterclock.storage import Damaged
from waterclock.streams import Segment
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
    def __init__(
        self, store: Store, program: Program, runner: Runner, max_rows: int, most_tasks: int | None,
        statistics: Statistics, feedback: Feedback | None = None,
    ) -> None:  # fmt: skip
        self.name = f"vertex {program.plan.name}"
        self.store = store
        self.program = program
        self.runner = runner
        self.max_rows = max_rows
        self.vertex = program.plan.name
        self.inputs = program.plan.inputs
        self.feedback = feedback
        """Of a cycle, which reads its own output."""
        self.progress = Progress()
        self.damaged = threading.Event()
        """Set by a reader that found our output damaged."""
        self.halted = False
        self.host(True)
        self._standing = Standing(-1, 0)
        """What the epoch in hand builds on."""
        self._overtaken = False
        """Another driver has moved the vertex, or rolled it back, when this was last looked at."""
        self._failed = False
        self._stop_requested = threading.Event()
        self._peers: dict[str, VertexWorker] = {}
        self._in_driver = InProcessRunner()
        self._most_tasks = most_tasks
        self._known = Parallelism(program.plan, most_tasks or runner.cores, runner.threads, statistics)
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

    def host(self, here: bool, alone: bool = True) -> None:
        """Whether this driver runs it, alone or beside others. What only waits for its commit is committed."""
        self.hosted = here
        self.alone = alone
        self.poll = 0.01 if here else 0.2
        self.ready = False
        """Since it runs here, it has committed an epoch itself or found that there is nothing to do."""

    def turn(self) -> bool:
        """Does the next thing; False when there is nothing to do."""
        if self.halted:
            return False
        if not self.hosted and self._coordinator.state != "committing":
            self._coordinator = c.Coordinator(self.inputs, self._split)
            self._todo.clear()
            self.damaged.clear()  # whoever waits for it sees that it runs elsewhere
            self.halted = self._stop_requested.is_set()
            return False
        if self._coordinator.state == "new":
            self._todo.extend(self._recover())
        if self._stop_requested.is_set() and not self._coordinator.stopping:
            self._todo.extend(self._coordinator.handle(c.StopRequested()))
        if self.damaged.is_set() and self._coordinator.state in ("idle", "running"):  # nothing is in flight
            roll_back(self.store, self.vertex, self._standing.generation)
            self._todo.extend(self._recover())
            self.damaged.clear()
        if not self._todo and self._coordinator.state == "idle":
            offers = self._offers(self._coordinator.snapshot)
            self._todo.extend(self._recover() if self._overtaken else self._coordinator.handle(c.Offered(offers)))
            if not self._todo and self._gate.is_at_next(self._coordinator.snapshot):
                return self._pass_barrier()
        if not self._todo:
            self.ready = True
            return False
        instruction = self._todo.popleft()
        if isinstance(instruction, c.Halt):
            self.halted = True
            return False
        if isinstance(instruction, c.Execute) and not self._is_there(instruction.intent):
            self._todo.appendleft(instruction)  # its producer was rolled back and is computing it again
            return False
        try:
            self._todo.extend(self._attempt(instruction))
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

    def _attempt(self, instruction: c.Instruction) -> list[c.Instruction]:
        try:
            return self._carry_out(instruction)
        except Exception as error:
            if not self._lost_the_race(error):
                raise
            return self._recover()

    def _lost_the_race(self, error: Exception) -> bool:
        """What it built on may be gone because another driver went on: then the error means nothing."""
        if isinstance(error, WaterclockError) and error.code == "STORE.FENCED":
            return False
        with suppress(WaterclockError):
            return self.store.catalog.epochs.standing(self.vertex) != self._standing
        return False

    def _pass_barrier(self) -> bool:
        """Without an epoch: there is nothing to take before it."""
        catalog, snapshot = self.store.catalog, self._coordinator.snapshot

        def note() -> bool:
            return catalog.epochs.standing(self.vertex) == self._standing and self._gate.note(snapshot)

        passed = catalog.transact(note, self.store.lease)
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
        """Starts from what the catalog says. What other drivers run too is left as it was recorded."""
        epochs = self.store.catalog.epochs
        if epochs.get(self.vertex).lost is not None:
            rebuild(self.store, self.program, self.runner, self._split, self.max_rows)
        self._promised = None
        self._todo.clear()
        self._coordinator = c.Coordinator(self.inputs, self._split)
        self._standing, snapshot, pending = self.store.catalog.transact(
            lambda: (epochs.standing(self.vertex), epochs.snapshot(self.vertex), epochs.pending(self.vertex))
        )
        self._hear()
        if pending is not None and self.alone and pending.filters != self._coordinator.filters:
            # It may have failed on the very rows that are to be left out.
            filtered = replace(pending, filters=self._coordinator.filters)
            pending = filtered if self._rewrite(filtered) else pending
        if pending is not None and self.alone:
            count = partial(epochs.count, self.vertex, {"retries": epochs.unfinished(self.vertex)})
            self.store.catalog.transact(count, self.store.lease)
        return self._coordinator.handle(c.Recovered(snapshot, pending))

    def _rewrite(self, intent: Intent) -> bool:
        rewrite = partial(self.store.catalog.epochs.rewrite_intent, self.vertex, intent)
        return self.store.catalog.transact(rewrite, self.store.lease)

    def _hear(self) -> None:
        """What was said to the running vertex from outside; it holds from the next intent on."""
        self._tasks, standing = self.store.catalog.epochs.heard(self.vertex)
        self._overtaken = standing != self._standing
        self._coordinator.filters = tuple(each.id for each in self.store.catalog.filters.holding(self.vertex))

    @property
    def _parallelism(self) -> Parallelism:
        """By the runner as it is now: one that starts has few cores first."""
        most, threads = self._most_tasks or self.runner.cores, self.runner.threads
        if (self._known.most, self._known.threads) != (most, threads):
            self._known = replace(self._known, most=most, threads=threads)
        return self._known

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
            record = partial(epochs.record, self.vertex, intent, self._standing.generation)
            recorded = self.store.catalog.transact(record, self.store.lease)
            crashpoints.reach("epoch.after_intent")
            return [] if recorded == intent else self._recover()
        if isinstance(instruction, c.Execute):
            return self._execute(instruction.intent)
        assert isinstance(instruction, c.Commit)
        return self._commit(instruction)

    # -- execute -------------------------------------------------------------------------------------------

    def _execute(self, intent: Intent) -> list[c.Instruction]:
        began = time.perf_counter()
        rows = rows_of(intent)
        while True:
            step, merged, arrived = self._resolve(intent)
            small = rows == 0 and sum(run.blob.length for runs in step.runs.values() for run in runs) < SMALL_STATE
            runner = self._in_driver if small else self.runner
            started = time.perf_counter()
            try:
                reports = runner.run(self.program, step, self._following(intent))
                break
            except Damaged as damage:
                if self._lost_the_race(damage):
                    return self._recover()
                mine = {run.blob for runs in step.runs.values() for run in runs}
                if damage.blob in mine or producer_of(self.store, damage) == self.vertex:
                    if not check_tail(self.store, self.program.plan):
                        raise beyond_repair(damage) from None
                    return self._recover()
                self._wait_for_repair(damage)
        if self.feedback is not None:
            corrected = self.feedback.corrected(intent, self._coordinator.snapshot.cti, reports)
            if corrected is not None and self._rewrite(corrected):
                return self._coordinator.handle(c.Corrected(corrected))
        self._done = Done(reports, merged, arrived, began, time.perf_counter() - started)
        if self.feedback is not None:
            return self._coordinator.handle(c.Executed({}))  # the next one takes what this one gives
        offers, self._promised = self._promised or self._offers(_behind(intent)), None
        return self._coordinator.handle(c.Executed(offers))

    def _following(self, intent: Intent) -> Step | None:
        """The step behind this one, if there is enough for it already: its input can be read at once."""
        self._promised = None
        if self.program.plan.stages == 1 or self.feedback is not None:
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
        pieces, filters = pieces_of(self.store.catalog, following)[0], self._filters(following)
        return Step(following.epoch, pieces, following.parts, ctis, {}, {}, {}, {}, {}, filters)

    def _is_there(self, intent: Intent) -> bool:
        marks = self.store.catalog.streams.marks()
        return all(marks[name][0] >= taken.end for name, taken in intent.inputs.items())

    def _wait_for_repair(self, damage: Damaged) -> None:
        producer = self._peers.get(producer_of(self.store, damage) or "")
        if producer is None:
            raise beyond_repair(damage)
        target = self.store.catalog.epochs.snapshot(producer.vertex).epoch
        if producer.hosted:
            producer.damaged.set()
        else:
            roll_back_where_named(self.store, producer.vertex, damage)
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
        if self.feedback is not None and offers[self.vertex].end == marks[self.vertex][0]:
            cti = self._fed_back(snapshot, offers, marks[self.vertex][1])
            offers[self.vertex] = c.Offer(offers[self.vertex].end, cti)
        return offers

    def _fed_back(self, snapshot: Snapshot, offers: dict[str, c.Offer], own: int) -> int:
        """The time of the back edge when all that is offered is taken."""
        assert self.feedback is not None
        least: dict[str, int] = {}
        for name, offer in offers.items():
            start = snapshot.positions.get(name, 0)
            if offer.end > start:
                taken = self.store.catalog.streams.segments(name, start, offer.end)
                least[name] = min(segment.least_vs for segment in taken)
        ctis = {name: offer.cti for name, offer in offers.items() if name != self.vertex}
        return self.feedback.promised(own, ctis, least)

    def _resolve(self, intent: Intent) -> tuple[Step, tuple[int, ...], int | None]:
        """Names to files: the pieces of each reading task, and the state. And when the oldest row came."""
        snapshot = self._coordinator.snapshot
        numbered = self.store.catalog.epochs.runs(self.vertex)
        runs = grouped(run for _, run in numbered)
        merges: dict[str, tuple[Run, ...]] = {}
        for operator, its_runs in runs.items():
            for table in {run.table for run in its_runs}:
                merges[operator] = merges.get(operator, ()) + pick_merge(
                    [run for run in its_runs if run.table == table]
                )
        merging = {run for group in merges.values() for run in group}
        pieces, arrived = pieces_of(self.store.catalog, intent)
        step = Step(
            epoch=intent.epoch,
            pieces=pieces,
            parts=intent.parts,
            ctis={name: taken.new for name, taken in intent.inputs.items()},
            node_ctis=snapshot.node_ctis,
            tops=snapshot.tops,
            lows=snapshot.lows,
            runs=runs,
            merges=merges,
            filters=self._filters(intent),
        )
        return step, tuple(number for number, run in numbered if run in merging), arrived

    # -- commit --------------------------------------------------------------------------------------------

    def _commit(self, instruction: c.Commit) -> list[c.Instruction]:
        catalog = self.store.catalog
        intent, before = instruction.intent, self._coordinator.snapshot
        done = self._done
        assert done is not None
        began = time.monotonic()
        segments, dead, snapshot = self._output(intent, before, done.reports)
        runs = kept_runs(self.store, self.vertex, done.reports)
        check_output(catalog, self.vertex, snapshot)
        crashpoints.reach("epoch.before_commit")

        commit = Commit(intent, snapshot, runs, done.merged, self._standing.generation)

        def write() -> tuple[bool, Intent | None]:
            if time.monotonic() - began > NAMED_WITHIN or not catalog.epochs.commit(self.vertex, commit):
                return False, None
            catalog.streams.append(self.vertex, before.output_end, segments, snapshot.cti)
            if dead:
                catalog.streams.append(dead_stream(self.vertex), before.dead_end, dead, dead[-1].cti)
            catalog.filters.applied(self.vertex, intent)
            self._gate.note(snapshot)
            following = instruction.following
            pending = catalog.epochs.pending(self.vertex)
            if pending is None and following is not None:
                catalog.epochs.write_intent(self.vertex, following)
            return True, pending

        committed, pending = catalog.transact(write, self.store.lease)
        crashpoints.reach("epoch.after_commit")
        self.store.bell.ring()
        if not committed:
            return self._recover()
        self._standing = Standing(intent.epoch, self._standing.generation)
        self.ready = True
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

    def _output(
        self, intent: Intent, before: Snapshot, reports: list[Report]
    ) -> tuple[list[Segment], list[Segment], Snapshot]:
        """Segments of output and of dead letters."""
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
        ends = cti == FOREVER and before.cti < FOREVER
        dead = dead_of(self.store, self.vertex, self.program.plan.root, intent.epoch, before, reports, ends)
        node_ctis, tops, lows = times_of(reports)
        snapshot = Snapshot(
            epoch=intent.epoch,
            positions={name: taken.end for name, taken in intent.inputs.items()},
            ctis=after,
            node_ctis=node_ctis,
            tops=tops | {OUTPUT: latest},
            lows=lows,
            cti=cti,
            output_end=at,
            output_rows=at - before.output_end,
            digest=(sum(digest for *_, digest in parts) + dead.digest) % 2**64,
            left_out=dead.counts,
            dead_end=dead.end,
        )
        return segments, dead.segments, counted(before, snapshot, intent, reports)


def _behind(intent: Intent) -> Snapshot:
    """Where the inputs stand when the intent is done."""
    return Snapshot(
        positions={name: taken.end for name, taken in intent.inputs.items()},
        ctis={name: taken.new for name, taken in intent.inputs.items()},
    )
