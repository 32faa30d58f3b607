"""Top-k alone, over snapshots and over windows: random streams, cuts and hash ranges against the reference."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.kernel_cases import batches, check
from tests.properties.strategies import inputs, numbers, windows
from tests.properties.test_app import quick
from tests.properties.test_snapshot_kernel import KEYS, Case
from waterclock.expr.nodes import col
from waterclock.operators import ranges
from waterclock.plan import Node, TopK


@st.composite
def tops(draw: st.DrawFn, windowed: bool) -> Case:
    points = draw(st.booleans())
    node: Node = inputs(points)[0]
    by = draw(st.one_of(numbers(node), st.just(col("k")), st.just(col("y"))))
    rank = draw(st.sampled_from([None, "rank"]))
    window = draw(windows()) if windowed else None
    top = TopK(node, draw(KEYS), by, draw(st.integers(1, 3)), draw(st.booleans()), rank, window)
    return top, draw(batches(points=points))


@quick(300)
@given(tops(False))
def test_over_snapshots(case: Case) -> None:
    check(*case)


@quick(300)
@given(tops(True))
def test_over_windows(case: Case) -> None:
    check(*case)


@quick(300)
@given(st.one_of(tops(False), tops(True)))
def test_over_a_tree(case: Case) -> None:
    with patch.object(ranges, "_SHORT", 0):
        check(*case)


@quick(150)
@given(st.one_of(tops(False), tops(True)))
def test_in_small_chunks(case: Case) -> None:
    with patch.object(ranges, "CHUNK", 3):
        check(*case)


@pytest.mark.soak
@settings(quick(6000), derandomize=False)
@given(st.one_of(tops(False), tops(True)), st.booleans())
def test_at_length(case: Case, tree: bool) -> None:
    with patch.object(ranges, "_SHORT", 0 if tree else 4):
        check(*case)
