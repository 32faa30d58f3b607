"""What runs a step. Two kinds: in this process, and on Spark."""

from __future__ import annotations

from typing import Protocol

from waterclock.runtime.task import Program, Report, Step


class Runner(Protocol):
    cores: int
    """How many tasks can run at once."""

    def run(self, program: Program, step: Step) -> list[Report]:
        """Runs every task of the step; raises if one of them cannot be done."""

    def cancel(self) -> None:
        """Ends running steps soon; they raise."""

    def close(self) -> None: ...
