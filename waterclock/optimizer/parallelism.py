"""How many tasks each stage of an epoch gets: by the rows it takes, what they cost, and how many go on.

The numbers are written into the intent, so they may follow from what was measured: doing an epoch again is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from waterclock.optimizer.cost import READ, Estimate, estimate, weight
from waterclock.optimizer.cut import Leg, Stateful, VertexPlan
from waterclock.optimizer.statistics import Statistics
from waterclock.plan.nodes import Node

SHARE = 500_000
"""Units of work (see ``Weight``) that are worth a task. An exchange costs about as much, so it pays off from two on."""
KEY_SHARE = 0.1
"""Of that, for a further task where rows are exchanged anyway, and for a further thread, which needs no exchange."""
AHEAD = 0.25
"""Of that, for a job of its own that reads the next epoch."""


@dataclass(frozen=True)
class Tasks:
    readers: int
    parts: tuple[int, ...]
    """Of each stage behind."""


@dataclass(frozen=True)
class Work:
    """In units; what an epoch has to do."""

    gain: float
    """What several tasks are worth for."""
    stages: tuple[float, ...]
    """Of each stage behind the first."""


@dataclass(frozen=True)
class Parallelism:
    plan: VertexPlan
    most: int
    """Tasks that can run at once."""
    threads: int
    """Of these, in one process."""
    given: Statistics

    def tasks(self, rows: Mapping[str, int], flows: Mapping[str, int]) -> Tasks:
        """For an epoch that takes so many rows of each stream; ``flows`` as they were counted until now."""
        work = self.work(rows, flows)
        share = SHARE * KEY_SHARE
        if self._in_threads or work.gain <= 2 * SHARE:
            most = min(self.most, self.threads)
            readers = work.gain // share
        else:
            most = self.most
            readers = ceil(work.gain / SHARE)
        return Tasks(
            max(1, min(most, int(readers))),
            tuple(max(1, min(most, ceil(units / share))) for units in work.stages),
        )

    def is_worth_reading_ahead(self, rows: Mapping[str, int], flows: Mapping[str, int]) -> bool:
        return self.work(rows, flows).gain >= SHARE * (KEY_SHARE if self._in_threads else AHEAD)

    @property
    def _in_threads(self) -> bool:
        """One process has all there is: no epoch needs an exchange."""
        return self.most <= self.threads

    def work(self, rows: Mapping[str, int], flows: Mapping[str, int]) -> Work:
        counted = Statistics(flows=flows)
        given: dict[str, float] = {name: float(number) for name, number in rows.items()}
        gain = READ * sum(given.values())
        stages = [0.0] * (self.plan.stages - 1)
        for node in self.plan.nodes:
            come = sent = 0.0
            for number, leg in enumerate(node.legs):
                passing, folding = self._passing[node.id][number]
                measured = counted.share(f"{node.id}:{number}", leg.origin)
                each = passing * folding if measured is None else measured
                sent += given[leg.origin] * each
                come += given[leg.origin] * (passing if folding < 1 else each)
            arrived = sum(flows.get(f"{node.id}:{number}", 0) for number in range(len(node.legs)))
            given[node.id] = sent * (flows.get(node.id, 0) / arrived if arrived else self._fanning[node.id])
            gain += come * weight(node.node).gain
            stages[node.stage - 1] += sent * weight(node.node).cost
        return Work(gain, tuple(stages))

    @cached_property
    def _known(self) -> dict[str, Estimate]:
        return estimate(self.plan.root, self.given)

    @cached_property
    def _passing(self) -> dict[str, tuple[tuple[float, float], ...]]:
        """For each leg into a node, as estimated: of the rows of its origin those behind it, of these those sent."""
        return {node.id: tuple(self._leg(node, leg) for leg in node.legs) for node in self.plan.nodes}

    def _leg(self, node: Stateful, leg: Leg) -> tuple[float, float]:
        last = leg.operators[-1] if leg.operators else leg.source
        target = self._of(node.node)
        return (
            _ratio(self._of(last).rows_out, self._of(leg.source).rows_out),
            _ratio(target.sent, target.rows_in),
        )

    @cached_property
    def _fanning(self) -> dict[str, float]:
        """What a node gives for each row sent to it, as estimated."""
        known = {node.id: self._of(node.node) for node in self.plan.nodes}
        return {name: _ratio(each.rows_out, each.sent) for name, each in known.items()}

    def _of(self, node: Node) -> Estimate:
        return self._known[node.identity]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 1.0
