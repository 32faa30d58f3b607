"""The clip join alone: random streams on both sides, cuts and hash ranges against the reference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.kernel import Batch, run_operator
from tests.properties.kernel_cases import batches, check, few_hashes
from tests.properties.strategies import SCHEMA
from tests.properties.test_app import quick
from waterclock.expr.nodes import Expr, col, lit
from waterclock.operators import clip
from waterclock.plan import Input, Join
from waterclock.reference import bag_difference
from waterclock.time import FOREVER

NAMES = tuple((name, f"r_{name}") for name in SCHEMA.names)
RESIDUALS: list[Expr | None] = [
    None,
    None,
    col("x") < col("r_x"),
    (col("y") + col("r_y")) > 0,
    col("r_x").is_null(),
    lit(False) & (col("x") > 0),
]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Join, list[Batch]]:
    points = draw(st.booleans())
    left, right = (Input(name, SCHEMA, points) for name in ("s0", "s1"))
    one, other = draw(st.sampled_from([((), ()), (("k",), ("k",)), (("x",), ("t",)), (("k", "x"), ("k", "x"))]))
    node = Join("clip", left, right, one, other, NAMES, draw(st.sampled_from(RESIDUALS)))
    return node, draw(batches(2, points))


@quick(400)
@given(cases())
def test_clip_gives_what_the_reference_says(case: tuple[Join, list[Batch]]) -> None:
    check(*case)


@quick(100)
@given(cases())
def test_unequal_keys_may_share_a_hash(case: tuple[Join, list[Batch]]) -> None:
    with few_hashes():
        check(*case)


@pytest.mark.soak
@settings(quick(7000), derandomize=False)
@given(cases())
def test_clip_at_length(case: tuple[Join, list[Batch]]) -> None:
    check(*case)


@quick(150)
@given(cases())
def test_pairs_are_looked_at_in_any_portion(case: tuple[Join, list[Batch]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clip, "PAIRS", 2)
        check(*case)


def test_a_signal_keeps_one_row_of_each_key() -> None:
    """A value holds until the next one of its key: clip join of open-ended events with themselves."""
    node = Join("clip", *(Input(name, SCHEMA, False) for name in ("s0", "s1")), ("k",), ("k",), NAMES)
    payload = {"t": None, "e": None, "y": None}
    values = [(vs, FOREVER, {**payload, "k": "ab"[vs % 2], "x": vs}) for vs in range(40)]
    epochs = [Batch((tuple(values[at : at + 10]),) * 2, (at + 10,) * 2) for at in range(0, 40, 10)]
    found, cti = run_operator(node, epochs)
    assert not bag_difference(found, [(vs, vs + 2, payload) for vs, _, payload in values[:-2]])
    assert cti == 38


@pytest.mark.parametrize("residual", [None, col("x") < col("r_x")])
def test_a_right_event_at_the_cti_clips_what_waits(residual: Expr | None) -> None:
    node = Join("clip", *(Input(name, SCHEMA, False) for name in ("s0", "s1")), ("k",), ("k",), NAMES, residual)
    payload = {"t": None, "e": None, "k": "a", "y": None}
    lefts = ((0, 20, {**payload, "x": 1}), (0, 20, {**payload, "x": 9}))
    rights = ((5, 6, {**payload, "x": 2}),)
    epochs = [Batch((lefts, ()), (5, 5)), Batch(((), rights), (5, 5)), Batch(((), ()), (8, 8))]
    check(node, epochs)
    found, _ = run_operator(node, epochs)
    assert (0, 5, lefts[0][2]) in found
