"""Runs a step in this process: offline mode, tests, and epochs too small for a Spark job."""

from __future__ import annotations

from waterclock.runtime.task import Program, Report, Step, execute


class InProcessRunner:
    cores = 1
    threads = 1

    def run(self, program: Program, step: Step, following: Step | None = None) -> list[Report]:
        return execute(program, step)

    def check(self) -> None:
        """This process is there."""

    def cancel(self) -> None:
        """A step in this process cannot be interrupted; it is short."""

    def close(self) -> None:
        pass
