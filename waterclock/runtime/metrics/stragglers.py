"""Tasks that stay behind those of their stage.

A task is behind when it takes ``factor`` times the median of its stage or more. That is skew if it stands out by its
rows, and doing it twice would not help; it is slow if it stands out by its seconds per row. One epoch means nothing:
most tasks that fall behind catch up by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median_low

from waterclock.runtime.metrics.figures import Stage, Straggler, Task
from waterclock.runtime.metrics.windows import Tasks

PERSISTENT = 5
"""Epochs in a row."""
NOISE = 0.02
"""Seconds behind the median that may be chance."""
SHOWN = 8
RECENT = 60.0
"""What is older tells nothing of now."""


def stages(history: Sequence[Tasks], factor: float | None, now: float) -> tuple[Stage, ...]:
    """The stages that had several tasks; ``history`` is oldest first, ``factor`` None looks for no straggler."""
    fresh = [tasks.stages for tasks in history if tasks.at >= now - RECENT]
    numbers = sorted({number for found in fresh for number, tasks in found.items() if len(tasks) > 1})
    return tuple(_stage(number, [f[number] for f in fresh if len(f.get(number, ())) > 1], factor) for number in numbers)


def _stage(number: int, history: list[tuple[Task, ...]], factor: float | None) -> Stage:
    last = history[-1]
    # With another number of tasks the same number means another range of keys.
    alike = [tasks for tasks in history[-PERSISTENT:] if len(tasks) == len(last)]
    found: list[Straggler] = []
    if factor is not None and len(alike) == PERSISTENT:
        for index in range(len(last)):
            ratios = [_behind(tasks, index, factor) for tasks in alike]
            if all(ratio is not None for ratio in ratios):
                least = min(ratio for ratio in ratios if ratio is not None)
                slow = sum(_is_slow(tasks, index) for tasks in alike) > len(alike) / 2
                cause = "slow" if slow else "skew"
                found.append(Straggler(number, index, len(last), least, cause, last[index].rows, last[index].seconds))
    slowest = sorted(last, key=lambda task: -task.seconds)[:SHOWN]
    rows = sum(task.rows for task in last)
    return Stage(number, len(last), rows, _median(task.seconds for task in last), tuple(slowest), tuple(found))


def _behind(tasks: Sequence[Task], index: int, factor: float) -> float | None:
    """How many times the median it took, if it is behind."""
    median, mine = _median(task.seconds for task in tasks), tasks[index].seconds
    return mine / max(median, 1e-6) if mine >= factor * median and mine - median >= NOISE else None


def _is_slow(tasks: Sequence[Task], index: int) -> bool:
    """Whether seconds per row, more than rows, set it apart from the median."""
    mine, rows = tasks[index], _median(task.rows for task in tasks)
    if mine.rows == 0 or rows == 0:
        return mine.rows == 0
    pace = _median(task.seconds / task.rows for task in tasks if task.rows)
    return mine.seconds / mine.rows / max(pace, 1e-12) > mine.rows / rows


def _median(values: Iterable[float]) -> float:
    # The lower one of two: the other task, where there are two.
    return median_low(values)
