"""Counts over the last seconds and the last epochs. No clock in here: whoever calls says what time it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from waterclock.runtime.metrics.figures import Spread, Task

LAST_EPOCHS = 500
SAMPLES = 60
"""At most about so many in a window, however long it is."""


def spread(values: Sequence[float]) -> Spread | None:
    """
    >>> spread([3.0, 1.0, 2.0])
    Spread(median=2.0, p95=3.0, most=3.0)
    """
    if not values:
        return None
    ordered = sorted(values)
    return Spread(ordered[(len(ordered) - 1) // 2], ordered[-(-len(ordered) * 95 // 100) - 1], ordered[-1])


class Window:
    """What some numbers were, now and then during the last ``span`` seconds."""

    def __init__(self, span: float) -> None:
        self.span = span
        self._samples: deque[tuple[float, tuple[int, ...]]] = deque()

    def add(self, at: float, *values: int) -> None:
        while self._samples and self._samples[-1][0] >= at:
            self._samples.pop()  # the clock was set back
        if len(self._samples) > 1 and at - self._samples[-2][0] <= self.span / SAMPLES:
            self._samples.pop()
        self._samples.append((at, values))
        while len(self._samples) > 2 and self._samples[1][0] <= at - self.span:
            self._samples.popleft()

    def risen(self) -> tuple[int, ...] | None:
        """How much each number rose; None before there are two samples."""
        if len(self._samples) < 2:
            return None
        return tuple(new - old for old, new in zip(self._samples[0][1], self._samples[-1][1], strict=True))

    def rate(self) -> float | None:
        """A second, of the first number."""
        risen = self.risen()
        return None if risen is None else risen[0] / (self._samples[-1][0] - self._samples[0][0])

    def grew_from(self) -> int | None:
        """If the first number was always greater in the later half than ever in the earlier one: the greatest there."""
        end, start = self._samples[-1][0], self._samples[0][0]
        if end - start < self.span * 0.9:
            return None
        earlier = [values[0] for at, values in self._samples if at < end - self.span / 2]
        later = [values[0] for at, values in self._samples if at >= end - self.span / 2]
        return max(earlier) if earlier and min(later) > max(earlier) else None


class Epoch(NamedTuple):
    """One that was committed."""

    seconds: float
    overhead: float
    latency: float | None
    """From the arrival of its oldest row; None where it took none."""


class Tasks(NamedTuple):
    """What the tasks of an epoch took, by stage."""

    at: float
    stages: dict[int, tuple[Task, ...]]


@dataclass
class Progress:
    """What a vertex counts while it runs: a few numbers per epoch, nothing per row."""

    epochs: int = 0
    seconds: float = 0.0
    arrivals: int = 0
    arrival_seconds: float = 0.0
    sent_rows: int = 0
    sent_bytes: int = 0
    task_retries: int = 0
    recent: deque[Epoch] = field(default_factory=lambda: deque(maxlen=LAST_EPOCHS))
    tasks: deque[Tasks] = field(default_factory=lambda: deque(maxlen=20))

    def add(self, epoch: Epoch, tasks: Tasks) -> None:
        self.epochs += 1
        self.seconds += epoch.seconds
        if epoch.latency is not None:
            self.arrivals += 1
            self.arrival_seconds += epoch.latency
        self.recent.append(epoch)
        if any(len(found) > 1 for found in tasks.stages.values()):
            self.tasks.append(tasks)
