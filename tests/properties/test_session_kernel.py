"""Sessions alone: random streams, cuts and hash ranges against the reference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.kernel import Batch
from tests.properties.kernel_cases import batches, check, few_hashes
from tests.properties.strategies import SCHEMA, aggregates
from tests.properties.test_app import quick
from waterclock.expr.nodes import col
from waterclock.plan import Aggregate, Input, SessionAggregate, SessionLifetime
from waterclock.plan.window import RESULTS

KEYS = st.sampled_from([(), (), ("k",), ("k",), ("k", "x"), ("y",)])
TIMEOUTS = st.integers(1, 12)
MAXIMA = st.one_of(st.none(), st.integers(1, 15))


@st.composite
def aggregated(draw: st.DrawFn) -> tuple[SessionAggregate, list[Batch]]:
    points = draw(st.booleans())
    source = Input("s0", SCHEMA, points)
    columns = draw(aggregates(source))
    node = SessionAggregate(
        source, draw(KEYS), columns, draw(TIMEOUTS), draw(MAXIMA), draw(st.sampled_from(["window", *RESULTS]))
    )
    return node, draw(batches(1, points))


@st.composite
def lived(draw: st.DrawFn) -> tuple[SessionLifetime, list[Batch]]:
    points = draw(st.booleans())
    node = SessionLifetime(Input("s0", SCHEMA, points), draw(KEYS), draw(TIMEOUTS), draw(MAXIMA))
    return node, draw(batches(1, points))


@quick(400)
@given(aggregated())
def test_sessions_give_what_the_reference_says(case: tuple[SessionAggregate, list[Batch]]) -> None:
    check(*case)


@quick(300)
@given(lived())
def test_lifetimes_up_to_the_end_of_the_session(case: tuple[SessionLifetime, list[Batch]]) -> None:
    check(*case)


@quick(150)
@given(st.one_of(aggregated(), lived()))
def test_unequal_keys_may_share_a_hash(case: tuple[SessionAggregate | SessionLifetime, list[Batch]]) -> None:
    with few_hashes():
        check(*case)


@pytest.mark.soak
@settings(quick(7000), derandomize=False)
@given(st.one_of(aggregated(), lived()))
def test_sessions_at_length(case: tuple[SessionAggregate | SessionLifetime, list[Batch]]) -> None:
    check(*case)


def test_an_event_goes_on_behind_a_cut_it_has_not_seen() -> None:
    """The session was emitted epochs ago, but its last event still says that the next one is no fresh start."""
    source = Input("s0", SCHEMA, True)
    node = SessionAggregate(source, (), (("n", Aggregate("count")), ("x", Aggregate("max", col("x")))), 6, 10)
    starts = [[1, 6, 11, 16, 19], [], [22, 27], [29, 31], [50], []]
    payload = {"t": None, "e": None, "k": None, "x": 1, "y": None}
    events = [tuple((vs, vs + 1, payload) for vs in some) for some in starts]
    ctis = [19, 21, 22, 29, 45, 70]
    check(node, [Batch((some,), (cti,)) for some, cti in zip(events, ctis, strict=True)])
