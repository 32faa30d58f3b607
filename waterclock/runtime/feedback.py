"""The back edge of a cycle: what its vertex takes of its own output, and how far it lets time go on.

The unread range of the own stream is the log of the edge: the snapshot names it by a position and an end. When all of
it is taken, time on the edge may go on to ``y`` if every later row starts at or after it. The stream's own CTI is such
a ``y``, but follows by one trip an epoch. So more is promised: as far as the other inputs are, unless a row that is
taken may lead to one before it. Whether it was right is seen before the commit: no row of the epoch, and not the time
behind it, may be before ``y``; otherwise the epoch is done again with what was seen.

Time goes on: the own CTI is always right, and ahead of the last promise as long as the other inputs are, because
results are later than what they are made of (``optimizer.cycles``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from waterclock.catalog import Intent
from waterclock.runtime.task import Report
from waterclock.time import BEGINNING, FOREVER


@dataclass(frozen=True)
class Feedback:
    stream: str
    advances: Mapping[str, int | None]
    """By input, how far behind its time the output's time is at least."""

    def promised(self, own: int, ctis: Mapping[str, int], least: Mapping[str, int]) -> int:
        """How far time goes on. ``ctis`` are those of the other inputs, ``least`` the first starts that are taken."""
        found = [(name, time) for times in (ctis, least) for name, time in times.items()]
        times = [self._behind(name, time) for name, time in found]
        return max(own, min(times, default=own))

    def corrected(self, intent: Intent, own: int, reports: Iterable[Report]) -> Intent | None:
        """What is to be done instead, if the promise does not hold."""
        taken = intent.inputs[self.stream]
        least = FOREVER
        for report in reports:
            starts = (saved.least[1] for _, saved, _ in report.outputs)
            least = min(least, report.output_cti, *starts)
        right = max(taken.old, own, least)
        if taken.new <= right:
            return None
        return replace(intent, inputs=intent.inputs | {self.stream: replace(taken, new=right)})

    def _behind(self, name: str, time: int) -> int:
        advance = self.advances[name]
        if advance is None or time == BEGINNING:
            return BEGINNING
        return FOREVER if time == FOREVER else time + advance
