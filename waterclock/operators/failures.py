"""Rows that user code failed for and that a policy leaves out: what is told of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from waterclock.errors import UserError
from waterclock.plan.guarded import OnError


class Failure(NamedTuple):
    vs: int
    ve: int
    row: str
    """Its columns as JSON."""
    error: str
    seq: int | None
    """Its number in the input stream, where it is known."""


Failures = list[Failure]


Given = tuple[int, int, Mapping[str, Any], int | None]
"""A row that user code was given: its lifetime, its columns, its number."""


def check(on_error: OnError, error: UserError) -> None:
    """Raises the error unless the policy leaves rows out; also where code gives this and then that for the same row."""
    if not on_error.leaves_out or error.code not in ("USER.FAILED", "USER.BAD_RESULT"):
        raise error


def leave_out(on_error: OnError, error: UserError, rows: Iterable[Given], failures: Failures) -> None:
    """Rows that user code failed for are told, or the error is raised, as the policy says."""
    check(on_error, error)
    told = _told(error)
    failures += [Failure(vs, ve, json.dumps(dict(row), default=str), told, seq) for vs, ve, row, seq in rows]


def _told(error: UserError) -> str:
    """What was raised or given, and the line of the user's code."""
    values = error.values
    what = f"raised {values['error']}" if error.code == "USER.FAILED" else f"gave {values['found']}"
    return f"{values['name']} {what}\n  {values['place']}\n    {values['line']}"
