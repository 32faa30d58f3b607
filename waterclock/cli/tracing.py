"""Python's debugger for an epoch: it stops first where the user's code is called."""

from __future__ import annotations

import pdb
from bdb import BdbQuit
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import IO, TypeVar

from waterclock.errors import WaterclockError
from waterclock.operators import leg
from waterclock.usercode.code import Code

T = TypeVar("T")


class Tracer(pdb.Pdb):
    """Stops at the first line of the first of these functions that is called; of no functions, where operators are
    stepped."""

    def __init__(self, codes: Sequence[Code], stdin: IO[str] | None = None, stdout: IO[str] | None = None) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self._codes = codes
        self._first: FrameType | None = None
        self.left = False
        """The user has left it, and so the epoch."""

    @property
    def arrived(self) -> bool:
        """It has stopped there."""
        return self._first is not None

    def run_epoch(self, work: Callable[[], T]) -> T | None:
        try:
            return self.runcall(work)
        except (BdbQuit, WaterclockError):
            if not self.left:
                raise
            return None  # user code takes what ends it for an error of its own

    def stop_here(self, frame: FrameType) -> bool:
        if self._first is None and self._is_wanted(frame.f_code):
            self._first = frame
        return self._first is not None and super().stop_here(frame)

    def user_call(self, frame: FrameType, argument_list: None) -> None:
        if frame is not self._first:  # of that one, the first line is what one wants to see
            super().user_call(frame, argument_list)

    def set_quit(self) -> None:
        self.left = True
        super().set_quit()

    def _is_wanted(self, code: CodeType) -> bool:
        if not self._codes:
            return code is leg.run.__code__
        file = self.canonic(code.co_filename)
        return any(
            file == self.canonic(each.file)
            and each.line <= code.co_firstlineno < each.line + len(each.source.splitlines())
            for each in self._codes
        )
