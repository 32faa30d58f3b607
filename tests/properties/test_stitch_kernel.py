"""Stitch alone: random streams of few payloads, so that copies meet, against the reference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.kernel import Batch, run_operator
from tests.properties.kernel_cases import batches, check, few_hashes
from tests.properties.test_app import quick
from waterclock.plan import Chop, Input, Stitch
from waterclock.reference import Event, bag_difference, logical_difference
from waterclock.schema import Schema
from waterclock.time import FOREVER

SCHEMA = Schema.of({"k": "string", "y": "double"})
NODE = Stitch(Input("s0", SCHEMA, False, may_be_open=True))


@st.composite
def events(draw: st.DrawFn) -> Event:
    vs = draw(st.integers(-20, 15))
    ve = draw(st.sampled_from([vs + 1, vs + 1, vs + 2, vs + 3, vs + 5, vs + 20, FOREVER]))
    payload = {"k": draw(st.sampled_from(["a", "a", "b", None])), "y": draw(st.sampled_from([0.5, 0.5, None]))}
    return vs, ve, payload


@st.composite
def dense(draw: st.DrawFn) -> list[Batch]:
    """Many short events of one payload in a short time."""
    some = st.builds(lambda vs, n: (vs, vs + n, {"k": "a", "y": None}), st.integers(-20, -8), st.integers(1, 4))
    return draw(batches(1, some=some))


@quick(300)
@given(batches(1, some=events()))
def test_stitch_gives_what_the_reference_says(some: list[Batch]) -> None:
    check(NODE, some)


@quick(300)
@given(dense())
def test_many_copies_meet(some: list[Batch]) -> None:
    check(NODE, some)


@quick(100)
@given(batches(1, some=events()))
def test_unequal_payloads_may_share_a_hash(some: list[Batch]) -> None:
    with few_hashes():
        check(NODE, some)


@pytest.mark.soak
@settings(quick(7000), derandomize=False)
@given(st.one_of(batches(1, some=events()), dense()))
def test_stitch_at_length(some: list[Batch]) -> None:
    check(NODE, some)


@quick(100)
@given(st.lists(events(), max_size=12), st.integers(1, 9), st.integers(-5, 5))
def test_stitch_undoes_chop(some: list[Event], period: int, offset: int) -> None:
    chop = Chop(NODE.input, period, offset)
    ended = (FOREVER,)
    pieces, _ = run_operator(chop, [Batch((tuple(some),), (10,)), Batch(((),), ended)])
    found, _ = run_operator(NODE, [Batch((tuple(pieces),), ended)])
    assert not logical_difference(found, some)


def test_one_chain_over_many_epochs_is_one_event() -> None:
    payload = {"k": "a", "y": None}
    some = [Batch((((vs, vs + 1, payload),) * 2,), (vs,)) for vs in range(30)]
    found, cti = run_operator(NODE, some)
    assert (found, cti) == ([], 0)
    found, cti = run_operator(NODE, [*some, Batch(((),), (31,))])
    assert not bag_difference(found, [(0, 30, payload)] * 2)
    assert cti == 31


def test_time_passes_where_many_chains_start_together() -> None:
    """More of them than are looked at together when the earliest open one is sought."""
    events = [tuple((0, 2, {"k": f"{run} {number}", "y": None}) for number in range(1000)) for run in range(2)]
    late = ((2, 9, {"k": "late", "y": None}),)
    arrived = [*events, late, (), ()]
    check(NODE, [Batch((some,), (cti,)) for some, cti in zip(arrived, [0, 0, 3, 4, 5], strict=True)])


def test_a_shorter_event_at_the_cti_goes_first() -> None:
    """A chain that ends at the CTI must not be linked before all that starts there is known."""
    payload = {"k": "a", "y": None}
    early = ((0, 5, payload), (5, 8, payload))
    some = [Batch((early,), (5,)), Batch((((5, 6, payload),),), (5,)), Batch(((),), (9,))]
    check(NODE, some)
    found, _ = run_operator(NODE, some)
    assert not bag_difference(found, [(0, 6, payload), (5, 8, payload)])
