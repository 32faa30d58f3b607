"""Count windows alone: random streams, cuts and hash ranges against the reference."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.kernel_cases import batches, check
from tests.properties.strategies import inputs
from tests.properties.test_app import quick
from tests.properties.test_snapshot_kernel import KEYS, Case, some_aggregates
from waterclock.operators import ranges
from waterclock.plan import CountAggregate, Node
from waterclock.plan.window import RESULTS


@st.composite
def counts(draw: st.DrawFn) -> Case:
    points = draw(st.booleans())
    node: Node = inputs(points)[0]
    n, result = draw(st.integers(1, 5)), draw(st.sampled_from(RESULTS))
    return CountAggregate(node, draw(KEYS), draw(some_aggregates(node, 2)), n, result), draw(batches(points=points))


@quick(400)
@given(counts())
def test_count_windows_are_what_the_reference_says(case: Case) -> None:
    check(*case)


@pytest.mark.soak
@settings(quick(6000), derandomize=False)
@given(counts(), st.booleans())
def test_count_windows_at_length(case: Case, small: bool) -> None:
    with patch.object(ranges, "_SHORT", 0 if small else 4), patch.object(ranges, "CHUNK", 3 if small else 1000):
        check(*case)
