"""Chop of events that may never end, against the reference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.kernel import Batch
from tests.properties.kernel_cases import batches, check
from tests.properties.strategies import SCHEMA
from tests.properties.test_app import quick
from waterclock.plan import Chop, Input

NODES = st.builds(
    lambda period, offset: Chop(Input("s0", SCHEMA, False, may_be_open=True), period, offset),
    st.one_of(st.integers(1, 12), st.integers(20, 60)),
    st.integers(-13, 13),
)


@quick(300)
@given(NODES, batches())
def test_chop_gives_what_the_reference_says(node: Chop, some: list[Batch]) -> None:
    assert not node.stateless
    check(node, some)


@pytest.mark.soak
@settings(quick(7000), derandomize=False)
@given(NODES, batches())
def test_chop_at_length(node: Chop, some: list[Batch]) -> None:
    check(node, some)
