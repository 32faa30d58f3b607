"""Runs every step twice and compares what it gives: determinism on demand."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from waterclock.errors import UserError
from waterclock.plan.user import codes_of, user_code
from waterclock.runtime.files import Saved
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.task import Program, Report, Step, execute
from waterclock.state.table import ID
from waterclock.storage.blobs import decode, read


class TwiceRunner(InProcessRunner):
    def run(self, program: Program, step: Step, following: Step | None = None) -> list[Report]:
        once, again = execute(program, step), execute(program, step)
        left, right = (_rows(program, reports) for reports in (once, again))
        if left != right:
            raise _difference(program, step, left, right)
        return once


def _rows(program: Program, reports: list[Report]) -> list[str]:
    """All rows of output and state, in an order of their own."""
    saved = [("output", found) for report in reports for _, found, _ in report.outputs]
    saved += [(f"state {table}", found) for report in reports for _, table, _, found in report.runs]
    frames = [(where, _frame(program, found).drop(ID, strict=False)) for where, found in saved]
    return sorted(f"{where} {row!r}" for where, frame in frames for row in frame.iter_rows(named=True))


def _frame(program: Program, saved: Saved) -> pl.DataFrame:
    if saved.data is not None:
        return decode(saved.data)
    assert saved.blob is not None
    return read(Path(program.root), saved.blob)


def _difference(program: Program, step: Step, left: list[str], right: list[str]) -> UserError:
    names = [code.name for found in user_code(program.plan.root) for code in codes_of(found)]
    first, second = (
        next(iter(sorted(set(one) - set(other))), "no such row") for one, other in ((left, right), (right, left))
    )
    return UserError(
        "USER.STEP_DIFFERS", epoch=step.epoch, vertex=program.plan.name, names=", ".join(names) or "none",
        first=first, second=second,
    )  # fmt: skip
