"""The operators that change lifetimes event by event, and what they do to time, against the reference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.kernel import frame_of
from tests.properties.strategies import SCHEMA, events
from tests.properties.test_app import quick
from waterclock.expr.nodes import Expr, col, lit, start
from waterclock.operators.registry import apply, cti_behind
from waterclock.plan import (
    AlterLifetime,
    Chop,
    ClipDuration,
    Extend,
    HopLifetime,
    Input,
    Node,
    PointAtEnd,
    Quantize,
    SetDuration,
    Shift,
)
from waterclock.reference import Event, bag_difference, final
from waterclock.schema import VE, VS
from waterclock.time import BEGINNING, FOREVER

ENDING = Input("s0", SCHEMA, False)
OPEN = Input("s0", SCHEMA, False, may_be_open=True)
NOW = 1_790_000_000_000_000
STEPS = st.integers(1, 12)
OFFSETS = st.integers(-13, 13)
DURATIONS: list[int | Expr] = [
    1, 7, FOREVER, FOREVER - 1, col("x").cast("bigint"), col("x") + 3, col("t") - col("e"), lit(4),
]  # fmt: skip
STARTS: list[Expr] = [
    start().unix_micros(),
    start().unix_micros() + 5,
    start().unix_micros() - 7,
    start().unix_micros().floor_to(6),
    start().unix_micros().ceil_to(4) + 1,
    start().unix_micros() + start().unix_micros(),
    start().unix_micros() * 2 + 3,
    start().unix_micros() // 3,
]


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    durations = [d for d in DURATIONS if isinstance(d, Expr)]
    return draw(
        st.one_of(
            st.builds(Shift, st.just(OPEN), st.integers(-30, 30)),
            st.builds(SetDuration, st.just(OPEN), st.sampled_from(DURATIONS)),
            st.builds(AlterLifetime, st.just(OPEN), st.sampled_from(STARTS), st.sampled_from(durations)),
            st.builds(Extend, st.just(OPEN), st.integers(-30, 30)),
            st.builds(ClipDuration, st.just(OPEN), st.one_of(STEPS, st.just(FOREVER - 1))),
            st.builds(PointAtEnd, st.just(OPEN)),
            st.builds(Quantize, st.just(OPEN), STEPS, STEPS, OFFSETS, st.one_of(st.none(), STEPS)),
            st.builds(HopLifetime, st.just(OPEN), STEPS, STEPS, OFFSETS),
            st.builds(Chop, st.just(ENDING), STEPS, OFFSETS),
        )
    )


@st.composite
def moved(draw: st.DrawFn) -> Event:
    """An event around 1970, or around now."""
    (vs, ve, payload), by = draw(events()), draw(st.sampled_from([0, 0, NOW]))
    return vs + by, ve if ve == FOREVER else ve + by, payload


def check(node: Node, some: list[Event], cti: int) -> None:
    assert node.stateless
    if not node.inputs[0].open_ended:
        some = [event for event in some if event[1] < FOREVER]
    rows = apply(node, frame_of(node.inputs[0], some), []).select(VS, VE, *node.schema.names).collect()
    found = [(row.pop(VS), row.pop(VE), row) for row in rows.iter_rows(named=True)]
    expected, expected_cti = final(node, {"s0": some}, {"s0": cti})
    assert not bag_difference(found, expected)
    behind = cti_behind(node, cti)
    assert behind == expected_cti
    # Whatever comes at or after the CTI stays there.
    later = apply(node, frame_of(node.inputs[0], [event for event in some if event[0] >= cti]), []).collect()
    assert not (later[VS] < behind).any()


@quick(600)
@given(nodes(), st.lists(moved(), max_size=12), st.one_of(st.integers(-25, 25), st.sampled_from([BEGINNING, FOREVER])))
def test_lifetimes_are_what_the_reference_says(node: Node, some: list[Event], cti: int) -> None:
    check(node, some, cti)


@pytest.mark.soak
@settings(quick(20_000), derandomize=False)
@given(nodes(), st.lists(moved(), max_size=12), st.one_of(st.integers(-25, 25), st.sampled_from([BEGINNING, FOREVER])))
def test_lifetimes_at_length(node: Node, some: list[Event], cti: int) -> None:
    check(node, some, cti)
