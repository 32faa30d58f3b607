"""When to merge runs: a table never keeps more than ``FANOUT`` runs of one level, so a row is rewritten
once per level and an epoch reads few runs however long the history."""

from __future__ import annotations

from collections.abc import Sequence

from waterclock.state.runs import Run

FANOUT = 8


def pick_merge(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The runs of one table to merge in the next step, or nothing. A pure function of the runs, so replay agrees."""
    for level in sorted({run.level for run in runs}):
        same = [run for run in runs if run.level == level]
        if len(same) >= FANOUT:
            return tuple(same)
    return ()
