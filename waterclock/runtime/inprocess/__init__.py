"""Runs a step in this process: offline mode, tests, and epochs too small for a Spark job."""

from __future__ import annotations

from waterclock.runtime.runner import Read
from waterclock.runtime.task import Program, Report, Step, execute


class InProcessRunner:
    cores = 1
    reads_ahead = False

    def run(self, program: Program, step: Step, read: Read | None = None) -> list[Report]:
        assert read is None
        return execute(program, step)

    def read(self, program: Program, step: Step) -> Read:
        raise AssertionError("nothing runs beside a step here")

    def cancel(self) -> None:
        """A step in this process cannot be interrupted; it is short."""

    def close(self) -> None:
        pass
