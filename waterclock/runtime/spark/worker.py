"""The functions that Spark's Python workers run. Everything arrives as small arguments; programs are kept by key.

Records between stages are ``(part, item)``: an item is a packed block, a report on its way to the driver, or an
error. Errors that trying again cannot mend travel as items, so that Spark does not try again. A block may pass through
a stage that has fewer tasks than the one it is for, so its part is taken modulo their number.
"""

from __future__ import annotations

import gc
import pickle
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark import TaskContext

from waterclock.errors import WaterclockError
from waterclock.runtime.exchange import Block, Packed, pack, unpack
from waterclock.runtime.spark import threads
from waterclock.runtime.task import Program, Report, Step, key_stage, read_stage
from waterclock.storage import Damaged

_programs: dict[str, Program] = {}
Item = tuple[str, Any]


def warm(_: int, __: Iterable[Any]) -> Iterator[int]:
    """Imports are done by now."""
    yield 1


def whole(
    key: str, program: bytes, step: Step, following: Step | None, most: int, _: int, given: Iterable[Any]
) -> Iterator[tuple[int, Item]]:
    """An epoch that one executor can do: every stage in one task of Spark, no exchange; ``most`` threads."""
    deque(given, maxlen=0)  # Spark uses a worker again only if it read its input to the end
    try:
        reports = threads.run(key, _program(key, program), step, following, most)
        reports[0].retries = _tried()
        for report in reports:
            yield 0, ("report", report)
    except (WaterclockError, Damaged) as error:
        yield 0, ("error", error)


def read(key: str, program: bytes, step: Step, index: int, given: Iterable[Any]) -> Iterator[tuple[int, Item]]:
    """Stage 0: its blocks go to the driver, as files of the store where they are large."""
    deque(given, maxlen=0)
    known = _program(key, program)
    try:
        yield from _sent(known, step, *read_stage(known, step, index))
    except (WaterclockError, Damaged) as error:
        yield 0, ("error", error)


def keys(
    key: str, program: bytes, step: Step, blocks: Sequence[tuple[int, Packed]], part: int, given: Iterable[Any]
) -> Iterator[tuple[int, Item]]:
    """Stage 1, with what the driver got from stage 0."""
    deque(given, maxlen=0)
    mine = ((to, ("block", block)) for to, block in blocks if to % step.parts[0] == part)
    yield from later(key, program, step, 1, part, mine)


def later(
    key: str, program: bytes, step: Step, stage: int, part: int, records: Iterable[tuple[int, Item]]
) -> Iterator[tuple[int, Item]]:
    known = _program(key, program)
    packed: list[Packed] = []
    failed = False
    for to, (kind, value) in records:
        if kind == "block" and known.plan.stage_of(value.target) == stage:
            packed.append(value)
        else:  # for a later stage, or for the driver
            failed = failed or kind == "error"
            yield to, (kind, value)
    if failed:
        return
    try:
        mine = step.keys(stage)[part]
        blocks = [unpack(known.root, block, mine) for block in packed]
        yield from _sent(known, step, *key_stage(known, step, stage, part, blocks))
    except (WaterclockError, Damaged) as error:
        yield 0, ("error", error)


def _tried() -> int:
    context = TaskContext.get()
    return context.attemptNumber() if context is not None else 0


def part_of(part: int) -> int:
    return part


def _sent(program: Program, step: Step, blocks: list[Block], report: Report) -> Iterator[tuple[int, Item]]:
    for block in blocks:
        parts = step.parts[program.plan.stage_of(block.target) - 1]
        for part, packed in pack(program.root, program.plan.name, step.epoch, block, parts):
            yield part, ("block", packed)
    report.retries = _tried()
    yield 0, ("report", report)


def _program(key: str, program: bytes) -> Program:
    if key not in _programs:
        _programs[key] = pickle.loads(program)
    # Spark collects garbage after every task. What lives now, modules above all, is left out of that from now on:
    # looking through it took longer than a small epoch.
    gc.freeze()
    return _programs[key]
