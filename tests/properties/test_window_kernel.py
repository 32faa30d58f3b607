"""The window kernel alone, without an app: random streams, cuts and hash ranges against the reference."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.strategies import SCHEMA, aggregated, events, inputs
from tests.properties.test_app import quick
from waterclock.hashing import ranges
from waterclock.operators.window import WindowOperator
from waterclock.plan.nodes import Node, WindowAggregate
from waterclock.reference import Event, bag_difference, final
from waterclock.schema import HASH, VE, VS
from waterclock.state import slice_range
from waterclock.time import BEGINNING, FOREVER

Batch = tuple[list[Event], int, int]
"""Events, the CTI behind them, the number of parts."""


@st.composite
def batches(draw: st.DrawFn, points: bool) -> list[Batch]:
    cti = BEGINNING
    found: list[Batch] = []
    for _ in range(draw(st.integers(1, 5))):
        low = max(-20, cti)
        some = draw(st.lists(events(low, points), max_size=8))
        if draw(st.booleans()):
            cti = max(cti, draw(st.integers(low, low + 25)))
        found.append((some, cti, draw(st.sampled_from([1, 2, 3, 7]))))
    if draw(st.booleans()):
        found.append(([], FOREVER, draw(st.sampled_from([1, 2]))))
    return found


@st.composite
def cases(draw: st.DrawFn) -> tuple[WindowAggregate, list[Batch]]:
    points = draw(st.booleans())
    node: Node = inputs(points)[0]
    return draw(aggregated(node)), draw(batches(points))


def frame_of(some: Sequence[Event]) -> pl.LazyFrame:
    rows = [{VS: vs, VE: ve, **payload} for vs, ve, payload in some]
    return pl.DataFrame(rows, schema=SCHEMA.frame_schema(), orient="row").lazy()


def run_kernel(node: WindowAggregate, given_batches: list[Batch]) -> tuple[list[Event], int]:
    operator = WindowOperator(node)
    saved: dict[str, list[pl.DataFrame]] = {table: [] for table in operator.tables}
    found: list[Event] = []
    old, top, cti = BEGINNING, BEGINNING, BEGINNING
    for some, new, parts in given_batches:
        tables = operator.prepare(frame_of(some))
        finite = [time for vs, ve, _ in some for time in (vs + 1, ve) if time < FOREVER]
        top = max([top, *finite, *([new] if new < FOREVER else [])])
        added: dict[str, list[pl.DataFrame]] = {table: [] for table in operator.tables}
        for keys in ranges(parts):
            mine = {table: slice_range(frame, keys) for table, frame in tables.items()}

            def load(table: str, keys: tuple[int, int] = keys) -> list[pl.DataFrame]:
                return [slice_range(frame, keys) for frame in saved[table]]

            stepped = operator.step(load, {t: f for t, f in mine.items() if f.height}, old, new, top)
            rows = stepped.output.drop(HASH, strict=False).iter_rows(named=True)
            found += [(row.pop(VS), row.pop(VE), row) for row in rows]
            for table, frame in stepped.added.items():
                added[table].append(frame)
            cti, low = stepped.cti, stepped.low
        for table, frames in added.items():
            saved[table] += frames
            if len(saved[table]) > 3:
                saved[table] = [operator.merge(table, saved[table], low)]
        old = new
    return found, cti


def check(case: tuple[WindowAggregate, list[Batch]]) -> None:
    node, some_batches = case
    found, cti = run_kernel(node, some_batches)
    arrived = {"s0": [event for some, _, _ in some_batches for event in some]}
    seen = max([new for _, new, _ in some_batches if new < FOREVER], default=BEGINNING)
    expected, expected_cti = final(node, arrived, {"s0": some_batches[-1][1]}, {"s0": seen})
    assert not bag_difference(found, expected)
    assert cti == expected_cti


@quick(700)
@given(cases())
def test_the_kernel_gives_what_the_reference_says(case: tuple[WindowAggregate, list[Batch]]) -> None:
    check(case)


@pytest.mark.soak
@settings(quick(7000), derandomize=False)
@given(cases())
def test_the_kernel_at_length(case: tuple[WindowAggregate, list[Batch]]) -> None:
    check(case)
