"""What runs a step. Two kinds: in this process, and on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from waterclock.runtime.exchange import Packed
from waterclock.runtime.task import Program, Report, Step


@dataclass(frozen=True)
class Read:
    """What stage 0 of a step gave."""

    reports: list[Report]
    blocks: dict[int, list[Packed]]
    """For each task of the next stage."""


class Runner(Protocol):
    cores: int
    """How many tasks can run at once."""
    reads_ahead: bool
    """Whether it can ``read`` a step while it runs another."""

    def run(self, program: Program, step: Step, read: Read | None = None) -> list[Report]:
        """Runs every task of the step, or those behind what was ``read`` of it; raises if one cannot be done."""

    def read(self, program: Program, step: Step) -> Read:
        """Runs stage 0 alone. It needs no state, and may be done for nothing."""

    def cancel(self) -> None:
        """Ends running steps soon; they raise."""

    def close(self) -> None: ...
