"""What runs a step. Two kinds: in this process, and on Spark."""

from __future__ import annotations

from typing import Protocol

from waterclock.runtime.task import Program, Report, Step


class Runner(Protocol):
    @property
    def cores(self) -> int:
        """How many tasks can run at once, by what has started until now."""

    @property
    def threads(self) -> int:
        """How many of them in one process, where they need no exchange."""

    def run(self, program: Program, step: Step, following: Step | None = None) -> list[Report]:
        """Runs every task of the step; raises if one cannot be done.

        ``following`` is the step behind it as far as its input is known. Reading needs no state, so it may be read at
        the same time; it may also turn out to be for nothing.
        """

    def check(self) -> None:
        """Raises if it can run nothing any more. Cheap: asked all the time."""

    def cancel(self) -> None:
        """Ends running steps soon; they raise."""

    def close(self) -> None: ...
