"""The as-of join alone: random streams on both sides, cuts and hash ranges against the reference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.kernel import Batch
from tests.properties.kernel_cases import batches, check, few_hashes
from tests.properties.strategies import SCHEMA
from tests.properties.test_app import quick
from waterclock.operators import asof
from waterclock.plan import AsOf, Input

NAMES = tuple((name, f"r_{name}") for name in SCHEMA.names)
KEYS = [((), ()), (("k",), ("k",)), (("k",), ("k",)), (("x",), ("t",)), (("k", "x"), ("k", "x"))]


@st.composite
def cases(draw: st.DrawFn) -> tuple[AsOf, list[Batch]]:
    points = draw(st.booleans())
    left, right = (Input(name, SCHEMA, points) for name in ("s0", "s1"))
    one, other = draw(st.sampled_from(KEYS))
    tolerance = draw(st.one_of(st.none(), st.integers(0, 15)))
    node = AsOf(draw(st.sampled_from(["inner", "left"])), left, right, one, other, NAMES, tolerance)
    return node, draw(batches(2, points))


@quick(400)
@given(cases())
def test_as_of_gives_what_the_reference_says(case: tuple[AsOf, list[Batch]]) -> None:
    check(*case)


@quick(100)
@given(cases())
def test_unequal_keys_may_share_a_hash(case: tuple[AsOf, list[Batch]]) -> None:
    with few_hashes():
        check(*case)


@pytest.mark.soak
@settings(quick(7000), derandomize=False)
@given(cases())
def test_as_of_at_length(case: tuple[AsOf, list[Batch]]) -> None:
    check(*case)


@quick(100)
@given(cases())
def test_pairs_are_made_in_any_portion(case: tuple[AsOf, list[Batch]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asof, "PAIRS", 2)
        check(*case)
