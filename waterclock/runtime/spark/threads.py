"""A whole step in one worker of Spark: its tasks are threads, which share memory where processes would exchange files.

Kernels leave Python's lock alone, so threads run as well as processes do. While a step is computed the input of the
next one is read; it is kept here until that step comes. Should Spark send it to another worker, that one reads anew.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial

from waterclock.runtime.task import Given, Program, Report, Step, execute, finish, start_reading

_ahead: list[tuple[str, Step, list[Future[Given]]]] = []
"""At most one: the program and the step whose input is read or being read."""


def run(key: str, program: Program, step: Step, following: Step | None, threads: int) -> list[Report]:
    """``following`` is the step behind this one, as far as its input is known."""
    read = _taken(key, step)
    if read is None and following is None and {len(step.pieces), *step.parts} == {1}:
        return execute(program, step)
    pool = _pool(threads)
    reading = read or start_reading(program, step, pool)
    # Behind the tasks of this step in the queue, so that they go first.
    meanwhile = partial(_read_ahead, key, program, following, pool)
    return finish(program, step, (each.result() for each in reading), pool.map, meanwhile)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    # Twice as many as may compute: tasks wait for the disk, and reading for the next step fills what they leave.
    return ThreadPoolExecutor(2 * threads, thread_name_prefix="tasks")


def _taken(key: str, step: Step) -> list[Future[Given]] | None:
    """What was read of this step, if that was done here."""
    if not _ahead:
        return None
    program, known, read = _ahead.pop()
    return read if program == key and step.has_input_of(known) else None


def _read_ahead(key: str, program: Program, following: Step | None, pool: ThreadPoolExecutor) -> None:
    if following is not None:
        _ahead[:] = [(key, following, start_reading(program, following, pool))]
