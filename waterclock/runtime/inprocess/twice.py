"""Runs every step twice and compares what it gives: determinism on demand."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from waterclock.errors import UserError
from waterclock.plan.user import codes_of, user_code
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.task import Program, Report, Saved, Step, execute
from waterclock.storage.blobs import decode, read


class TwiceRunner(InProcessRunner):
    def run(self, program: Program, step: Step) -> list[Report]:
        once, again = execute(program, step), execute(program, step)
        for one, other in zip(_frames(program, once), _frames(program, again), strict=True):
            if not one.equals(other, null_equal=True):
                raise _difference(program, step, one, other)
        return once


def _frames(program: Program, reports: list[Report]) -> list[pl.DataFrame]:
    """Output and state, each as one frame per place."""
    found: dict[tuple[object, ...], list[pl.DataFrame]] = {("output", 0): [], ("state", 0): []}
    for report in reports:
        for leg, saved, _ in report.outputs:
            found.setdefault(("output", leg), []).append(_frame(program, saved))
        for node, table, level, saved in report.runs:
            found.setdefault(("state", node, table, level), []).append(_frame(program, saved))
    ordered = sorted(found.items(), key=lambda item: str(item[0]))
    return [pl.concat(frames, how="diagonal") if frames else pl.DataFrame() for _, frames in ordered]


def _frame(program: Program, saved: Saved) -> pl.DataFrame:
    if saved.data is not None:
        return decode(saved.data)
    assert saved.blob is not None
    return read(Path(program.root), saved.blob)


def _difference(program: Program, step: Step, one: pl.DataFrame, other: pl.DataFrame) -> UserError:
    names = [code.name for found in user_code(program.plan.root) for code in codes_of(found)]
    left, right = one.rows(named=True), other.rows(named=True)
    at = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if repr(a) != repr(b)), None)
    at = min(len(left), len(right)) if at is None else at
    first, second = (repr(rows[at]) if at < len(rows) else "no row" for rows in (left, right))
    return UserError(
        "USER.STEP_DIFFERS", epoch=step.epoch, vertex=program.plan.name, names=", ".join(names) or "none",
        first=first, second=second,
    )  # fmt: skip
