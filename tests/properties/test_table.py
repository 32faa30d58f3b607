"""State tables against the obvious: a list of rows from which some were taken."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.test_app import CHECKS, quick
from waterclock.hashing import SPACE
from waterclock.schema import HASH, VE, VS
from waterclock.state import Indexed, Table, changes, merge
from waterclock.state import table as tables
from waterclock.time import BEGINNING

SCHEMA = {HASH: pl.UInt64, VS: pl.Int64, VE: pl.Int64, "x": pl.Int64}
Row = tuple[int, int, int, int]
HASHES = [0, 1, 5, 2**63, SPACE - 1]


@st.composite
def rows(draw: st.DrawFn, ages: int) -> Row:
    vs = draw(st.integers(0, 20))
    return draw(st.sampled_from(HASHES)), vs, vs + draw(st.integers(1, 20)), ages


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[list[Row], list[int], int, bool]]:
    """Per epoch: rows added, which of the live ones go, how far the low rises, whether runs are merged."""
    return [
        (
            draw(st.lists(rows(epoch), max_size=6)),
            draw(st.lists(st.integers(0, 30), max_size=3)),
            draw(st.integers(0, 6)),
            draw(st.booleans()),
        )
        for epoch in range(draw(st.integers(1, 7)))
    ]


@pytest.fixture(autouse=True)
def _short_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_CHUNK", 2)


def as_rows(frame: pl.DataFrame | None) -> list[Row]:
    return [] if frame is None else sorted(frame.select(HASH, VS, VE, "x").rows())


@settings(quick(300), suppress_health_check=[*CHECKS, HealthCheck.function_scoped_fixture])
@given(histories(), st.booleans(), st.sampled_from([(0, SPACE), (0, 2), (2, SPACE), (2**63, SPACE)]))
def test_a_table_is_the_live_rows(
    history: list[tuple[list[Row], list[int], int, bool]], mortal: bool, part: tuple[int, int]
) -> None:
    live: list[Row] = []
    runs: list[Indexed] = []
    low = 0
    for epoch, (added, going, rise, merging) in enumerate(history):
        table = Table(runs, (0, SPACE), low, mortal, epoch)
        held = table.all()
        removed = None
        if mortal and held is not None:
            chosen = sorted({number % held.height for number in going})
            removed = held[chosen] if chosen else None
            for row in as_rows(removed):
                live.remove(row)
        live += added
        frame = pl.DataFrame(added, schema=SCHEMA, orient="row") if added else None
        change = changes(frame, removed, mortal, epoch)
        if change is not None:
            runs.append(Indexed(change))
        low += rise
        live = [row for row in live if row[2] > low]
        if merging and runs:
            merged = merge([run.frame for run in runs], low, mortal)
            runs = [Indexed(merged)] if merged.height else []

        mine = sorted(row for row in live if part[0] <= row[0] < part[1])
        table = Table(runs, part, low, mortal, epoch + 1)
        assert as_rows(table.all()) == mine
        for some in ([0], [5, 2**63], HASHES):
            wanted = [row for row in mine if row[0] in some]
            assert as_rows(table.of(np.array(some, dtype=np.uint64))) == wanted
        assert table.least() == min((row[1] for row in mine), default=None)
        for column, at in ((VS, 1), (VE, 2)):
            due = {row[0] for row in mine if 5 < row[at] <= 12}
            assert due <= set(table.due(5, 12, column).tolist()), "a key that is due is found"
        assert not set(table.due(-5, -1).tolist())


def test_an_epoch_done_again_may_see_the_dead() -> None:
    """What was found dead is forgotten where an earlier epoch is executed again."""
    first = changes(pl.DataFrame([(1, 3, 9, 0), (1, 7, 9, 0)], schema=SCHEMA, orient="row"), None, True, 0)
    assert first is not None
    run = Indexed(first)
    held = Table([run], (0, SPACE), BEGINNING, True, 1).all()
    assert held is not None
    grave = changes(None, held.filter(pl.col(VS) == 3), True, 1)
    assert grave is not None
    assert Table([run, Indexed(grave)], (0, SPACE), BEGINNING, True, 2).least() == 7
    assert Table([run], (0, SPACE), BEGINNING, True, 1).least() == 3
