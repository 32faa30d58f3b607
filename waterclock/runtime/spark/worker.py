"""The functions that Spark's Python workers run. Everything arrives as small arguments; programs are kept by key.

Records between stages are ``(part, item)``: an item is a block with its tables as Arrow bytes, a report on its way to
the driver, or an error. Errors that trying again cannot mend travel as items, so that Spark does not try again.
"""

from __future__ import annotations

import gc
import pickle
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from waterclock.errors import WaterclockError
from waterclock.runtime.task import Block, Program, Report, Step, execute, key_stage, read_stage
from waterclock.storage import Damaged, encode
from waterclock.storage.blobs import decode

_programs: dict[str, Program] = {}
Item = tuple[str, Any]


def warm(_: int, __: Iterable[Any]) -> Iterator[int]:
    """Imports are done by now; frozen, they cost nothing in the collection that Spark makes after every task."""
    gc.collect()
    gc.freeze()
    yield 1


def whole(key: str, program: bytes, step: Step, _: int, given: Iterable[Any]) -> Iterator[Item]:
    """A small epoch: every stage in one task, no exchange."""
    deque(given, maxlen=0)  # Spark uses a worker again only if it read its input to the end
    try:
        for report in execute(_program(key, program), step):
            yield "report", report
    except (WaterclockError, Damaged) as error:
        yield "error", error


def first(key: str, program: bytes, step: Step, index: int, _: Iterable[Any]) -> Iterator[tuple[int, Item]]:
    try:
        blocks, report = read_stage(_program(key, program), step, index)
        yield from _sent(blocks, report)
    except (WaterclockError, Damaged) as error:
        yield 0, ("error", error)


def later(
    key: str, program: bytes, step: Step, stage: int, part: int, records: Iterable[tuple[int, Item]]
) -> Iterator[tuple[int, Item]]:
    blocks: list[Block] = []
    failed = False
    for _, (kind, value) in records:
        if kind == "block":
            target, leg, origin, cti, top, tables = value
            blocks.append(Block(target, leg, origin, cti, top, {name: decode(data) for name, data in tables.items()}))
        else:
            failed = failed or kind == "error"
            yield 0, (kind, value)
    if failed:
        return
    try:
        sent, report = key_stage(_program(key, program), step, stage, part, blocks)
        yield from _sent(sent, report)
    except (WaterclockError, Damaged) as error:
        yield 0, ("error", error)


def part_of(part: int) -> int:
    return part


def _sent(blocks: list[tuple[int, Block]], report: Report) -> Iterator[tuple[int, Item]]:
    for part, b in blocks:
        tables = {name: encode(frame) for name, frame in b.tables.items()}
        yield part, ("block", (b.target, b.leg, b.origin, b.cti, b.top, tables))
    yield 0, ("report", report)


def _program(key: str, program: bytes) -> Program:
    if key not in _programs:
        _programs[key] = pickle.loads(program)
    return _programs[key]
