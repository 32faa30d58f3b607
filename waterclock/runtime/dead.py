"""Rows that policies left out, when their epoch is committed: counted, held against the limits, and kept if wanted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from waterclock.catalog import Snapshot
from waterclock.errors import UserError
from waterclock.plan.guarded import guards, has_dead_letters
from waterclock.plan.nodes import Node
from waterclock.runtime.store import Store
from waterclock.runtime.task import LeftOut, Report
from waterclock.streams import Segment
from waterclock.time import BEGINNING, FOREVER


@dataclass(frozen=True)
class Dead:
    """Of one epoch."""

    segments: list[Segment]
    counts: dict[str, int]
    """Rows left out by each node since the beginning."""
    digest: int
    end: int
    """The next number in the stream of dead letters."""


def dead_of(
    store: Store, vertex: str, root: Node, epoch: int, before: Snapshot, reports: Iterable[Report], ends: bool
) -> Dead:
    """What an epoch has left out. Raises where it is too much."""
    # In the order of tasks, which the intent records: an epoch done again gives the same numbers.
    found = [
        each
        for report in sorted(reports, key=lambda report: (report.stage, report.index))
        for each in report.left_out.values()
    ]
    counts = dict(before.left_out)
    for each in found:
        counts[each.node] = counts.get(each.node, 0) + each.rows
    _check(vertex, root, epoch, counts, found)
    segments: list[Segment] = []
    at = before.dead_end
    for saved in (each.dead for each in found if each.dead is not None):
        blob = store.keep(f"streams/{vertex}", saved.blob, saved.data)
        segments.append(Segment(at, saved.rows, BEGINNING, blob, saved.least[1], saved.greatest[1]))
        at += saved.rows
    if ends and has_dead_letters(root):
        segments.append(Segment(at, 0, FOREVER, None, BEGINNING, BEGINNING))
    return Dead(segments, counts, sum(each.digest for each in found), at)


def _check(vertex: str, root: Node, epoch: int, counts: dict[str, int], found: list[LeftOut]) -> None:
    for node in guards(root):
        rows, limit = counts.get(node.identity, 0), node.on_error.limit
        here = [each for each in found if each.node == node.identity]
        if limit is not None and rows > limit and here:
            error, row = here[-1].last
            raise UserError(
                "USER.TOO_MANY", rows=rows, vertex=vertex, limit=limit, epoch=epoch, row=row,
                operator=node.essence, error=error,
            )  # fmt: skip
