"""One vertex on a desk: recorded epochs executed in this process, operator by operator, with every frame to look at.

User code runs as it is: breakpoints and pdb work in it.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from waterclock.catalog import Intent, Snapshot
from waterclock.errors import StoreError, WaterclockError
from waterclock.hashing import ranges
from waterclock.past.epochs import Recorded
from waterclock.plan import codes_of, user_code
from waterclock.runtime.log import StreamReader
from waterclock.runtime.observer import Seen, observing
from waterclock.runtime.replay import Closing, Keys, Replay, readable
from waterclock.usercode.code import Code


class Debugger(Closing):
    """Stands before ``epoch``, with the state of then. ``run`` executes it; ``steps`` are what its operators did.

    ``partition`` shows one task of each stage only: the input that it reads, its range of keys, and what it gives.
    """

    def __init__(self, found: Recorded, epoch: int, partition: int | None = None) -> None:
        self._found = found
        self._partition = partition
        self._replay = self._before(epoch)
        self._output = pl.DataFrame()
        """Of the partition."""
        self.steps: list[Seen] = []
        """What the operators of the epoch did, in order; empty before it was executed."""
        self.error: WaterclockError | None = None
        """What the epoch failed with."""
        self.is_done = False
        """It was executed."""

    def _before(self, epoch: int) -> Replay:
        found, base = self._found, self._found.base_of(epoch)
        self._check_partition(epoch)
        replay = Replay(found.catalog, found.plan, base, found.last, check=False, names=found.names(base + 1))
        while replay.snapshot.epoch < epoch - 1:  # a bundle begins before it
            replay.step()
        return replay

    def close(self) -> None:
        self._replay.close()
        self._found.catalog.close()

    @property
    def epoch(self) -> int:
        """The epoch at hand: executed, or to be executed next."""
        return self._replay.snapshot.epoch + (0 if self.is_done else 1)

    @property
    def intent(self) -> Intent:
        return self._recorded(self.epoch)[0]

    @property
    def codes(self) -> list[Code]:
        """The functions and classes of the user that its operators call."""
        return [code for found in user_code(self._found.plan.root) for code in codes_of(found)]

    @property
    def inputs(self) -> dict[str, pl.DataFrame]:
        """The events that the epoch takes, by stream."""
        intent, read = self.intent, self._replay.input
        if self._partition is None:
            return {name: read(name, taken.start, taken.end) for name, taken in intent.inputs.items()}
        taken = self._replay.pieces(intent)[self._partition] if self._partition < intent.readers else ()
        return {
            name: pl.concat(
                [read(name, 0, 0), *(read(name, it.first, it.first + it.rows) for of, it in taken if of == name)]
            )
            for name in intent.inputs
        }

    @property
    def state(self) -> dict[str, dict[str, pl.DataFrame]]:
        """What is remembered: before the epoch until it was executed, then after it. By operator and table."""
        labels = {node.id: node.node.label for node in self._found.plan.nodes}
        return {labels[node]: tables for node, tables in self._replay.state(self._keys()).items()}

    @property
    def output(self) -> pl.DataFrame:
        """What the epoch gives here."""
        if not self.is_done:
            raise StoreError("STORE.NOT_EXECUTED", epoch=self.epoch)
        return self._replay.output() if self._partition is None else self._output

    @property
    def recorded(self) -> pl.DataFrame:
        """What it gave when it was recorded, of all partitions: which one a row is of is not stored."""
        then = self._recorded(self.epoch)[1]
        reader = StreamReader(self._found.catalog, self._found.vertex)
        with readable(self._found.vertex):
            return reader.read(then.output_end - then.output_rows, then.output_end)

    def run(self, call: Callable[[Callable[[], Snapshot]], object] = lambda work: work()) -> list[Seen]:
        """Executes the epoch. ``call`` does it, such as ``pdb.runcall``."""
        if self.is_done:
            self.next()
        self.error, wanted = None, self.epoch
        with observing() as observer:
            try:
                call(self._replay.step)
                self.is_done = self._replay.snapshot.epoch == wanted  # not if it was left in a debugger
            except WaterclockError as error:
                self.error = error
        self.steps = [seen for seen in observer.seen if self._partition in (None, seen.task[1])]
        mine = [rows for task, rows in observer.output if task[1] == self._partition]
        self._output = pl.concat([self._found.plan.root.schema.empty(), *mine])
        if not self.is_done:  # to try it again
            self._replay.close()
            self._replay = self._before(wanted)
        return self.steps

    def next(self) -> int:
        """On to the next epoch, which is executed by ``run``; gives its number."""
        if not self.is_done:
            self.run()
            if self.error is not None:
                raise self.error
        if self._replay.snapshot.epoch >= self._found.last:
            raise self._found.missing(self._found.last + 1)
        self._check_partition(self.epoch + 1)
        self.steps, self.is_done = [], False
        return self.epoch

    def _check_partition(self, epoch: int) -> None:
        intent = self._recorded(epoch)[0]
        tasks = max((intent.readers, *intent.parts))
        if self._partition is not None and self._partition >= tasks:
            raise StoreError(
                "STORE.NO_PARTITION",
                epoch=epoch, vertex=self._found.vertex, partition=self._partition, tasks=tasks, last=tasks - 1,
            )  # fmt: skip

    def _keys(self) -> Keys | None:
        at = self._partition
        if at is None:
            return None
        return {stage: ranges(tasks)[at] for stage, tasks in enumerate(self.intent.parts, 1) if at < tasks}

    def _recorded(self, epoch: int) -> tuple[Intent, Snapshot]:
        return self._found.catalog.epochs.recorded(self._found.vertex, epoch - 1, epoch)[0]
