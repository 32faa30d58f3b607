"""Errors of user code as the user wants to see them: the line, the row, and how to do it again on the desk."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

from waterclock.errors import UserError
from waterclock.usercode.code import Code
from waterclock.usercode.identity import is_installed

MOST = 200
"""Letters of a value that are shown."""


def failed(code: Code, error: BaseException, row: str, again: str) -> UserError:
    """User code raised ``error`` for ``row``; ``again`` is what to write to see it again."""
    file, line = _place(code, error)
    shown = f"{type(error).__name__}: {error}".rstrip(": ")
    return UserError(
        "USER.FAILED", name=code.name, error=shown, where="", place=f"{file}:{line}", line=code.text_at(line)
        if file == code.file else _text(file, line), row=row, again=again,
    )  # fmt: skip


def bad_result(code: Code, found: object, row: str, fix: str) -> UserError:
    return UserError("USER.BAD_RESULT", found=str(found), row=row, fix=fix, **_whole(code))


def not_deterministic(code: Code, first: object, second: object, row: str) -> UserError:
    return UserError("USER.NOT_DETERMINISTIC", first=first, second=second, row=row, **_whole(code))


def show(values: Mapping[str, Any]) -> str:
    """A row for people."""
    return ", ".join(f"{name}={short(value)}" for name, value in values.items()) or "no columns"


def short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MOST else f"{text[: MOST - 3]}..."


def _whole(code: Code) -> dict[str, Any]:
    lines = code.source.splitlines()
    number = next((n for n, text in enumerate(lines) if not text.strip().startswith("@")), 0)
    return {
        "name": code.name,
        "where": "",
        "place": f"{code.file}:{code.line + number}",
        "line": lines[number].strip() if lines else "",
    }


def _place(code: Code, error: BaseException) -> tuple[str, int]:
    """The innermost line of the user's own files; of the code itself where there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.lineno is not None and not is_installed(frame.filename):
            return frame.filename, frame.lineno
    return code.file, code.line


def _text(file: str, line: int) -> str:
    return traceback.FrameSummary(file, line, "").line or ""
