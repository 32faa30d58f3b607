"""The window kernel alone, without an app: random streams, cuts and hash ranges against the reference."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.kernel import Batch, epochs, run_operator
from tests.properties.kernel_cases import batches, check
from tests.properties.strategies import aggregated, inputs
from tests.properties.test_app import quick
from waterclock.expr.nodes import col
from waterclock.plan import Aggregate, Node, WindowAggregate
from waterclock.plan.window import RESULTS, Window
from waterclock.reference import Event, bag_difference, final
from waterclock.time import BEGINNING, FOREVER


@st.composite
def cases(draw: st.DrawFn) -> tuple[WindowAggregate, list[Batch]]:
    points = draw(st.booleans())
    node: Node = inputs(points)[0]
    return draw(aggregated(node)), draw(batches(points=points))


def arrivals(some: list[Batch]) -> tuple[dict[str, list[Event]], dict[str, int], dict[str, int]]:
    """What the reference is told: the events, the last CTI and the last finite one."""
    arrived = {"s0": [event for batch in some for event in batch.events[0]]}
    seen = max([batch.ctis[0] for batch in some if batch.ctis[0] < FOREVER], default=BEGINNING)
    return arrived, {"s0": some[-1].ctis[0]}, {"s0": seen}


def joined(some: list[Batch]) -> list[Batch]:
    """The same as one epoch."""
    seen = max([batch.ctis[0] for batch in some if batch.ctis[0] < FOREVER], default=BEGINNING)
    whole = Batch((tuple(event for batch in some for event in reversed(batch.events[0])),), (seen,))
    return [whole, Batch(((),), some[-1].ctis)]


@quick(700)
@given(cases())
def test_the_kernel_gives_what_the_reference_says(case: tuple[WindowAggregate, list[Batch]]) -> None:
    check(*case)


# -- wide windows ------------------------------------------------------------------------------------------


@st.composite
def wide_cases(draw: st.DrawFn) -> tuple[WindowAggregate, list[Batch]]:
    """Windows of many hops, closed many at a time: aggregates go over ranges of windows."""
    points = draw(st.booleans())
    node = draw(aggregated(inputs(points)[0]))
    hop = draw(st.integers(1, 3))
    window = Window(hop * draw(st.integers(8, 40)) + draw(st.integers(0, 1)), hop, draw(st.integers(-5, 5)))
    node = replace(node, window=replace(window, result=draw(st.sampled_from(RESULTS))))
    return node, draw(batches(points=points))


@quick(150)
@given(wide_cases())
def test_windows_of_many_hops(case: tuple[WindowAggregate, list[Batch]]) -> None:
    check(*case)


@quick(100)
@given(cases(), st.sampled_from(["variance", "stddev", "var_pop", "stddev_pop"]), st.sampled_from(["x", "y"]))
def test_variances(case: tuple[WindowAggregate, list[Batch]], function: str, column: str) -> None:
    node, some_batches = case
    node = replace(node, aggregates=(("v", Aggregate(function, col(column))),), keys=("k",))
    found, _ = run_operator(node, some_batches)
    expected, _ = final(node, *arrivals(some_batches))
    values = {(vs, ve, payload["k"]): payload["v"] for vs, ve, payload in found}
    assert len(values) == len(found)
    assert values == {
        (vs, ve, payload["k"]): None if payload["v"] is None else pytest.approx(payload["v"], rel=1e-12)
        for vs, ve, payload in expected
    }
    assert sorted(map(repr, found)) == sorted(map(repr, run_operator(node, joined(some_batches))[0])), "another cut"


# -- revisions ---------------------------------------------------------------------------------------------


@st.composite
def early_cases(draw: st.DrawFn) -> tuple[WindowAggregate, list[Batch]]:
    node, some_batches = draw(cases())
    return replace(node, early=draw(st.integers(1, 30))), some_batches


def check_revisions(case: tuple[WindowAggregate, list[Batch]]) -> None:
    node, some_batches = case
    revisions: dict[str, list[Event]] = {}
    found: list[Event] = []
    for upto, (results, cti) in enumerate(epochs(node, some_batches), 1):
        found += results
        expected, expected_cti = final(node, *arrivals(some_batches[:upto]))
        assert cti == expected_cti
        revisions = {}
        for vs, ve, payload in found:
            revisions.setdefault(repr((vs, ve, [payload[key] for key in node.keys])), []).append((vs, ve, payload))
        latest: list[Event] = []
        for some in revisions.values():
            some.sort(key=lambda event: event[2]["revision"])
            assert [payload["revision"] for _, _, payload in some] == list(range(len(some)))
            latest.append(some[-1])
        cti_in = some_batches[upto - 1].ctis[0]
        assert not bag_difference(_final_part(node, latest, cti_in), map(_bare, expected))
        # What is not final is what the windows would be if nothing more came, of those that are due.
        whole, _ = final(replace(node, early=0), *arrivals([*some_batches[:upto], Batch(((),), (FOREVER,))]))
        ahead = {repr(_bare(event)) for event in whole}
        assert all(repr(_bare(event)) in ahead for event in latest if _end(node, event) <= cti_in + node.early)
        assert all(_end(node, event) <= cti_in + node.early for event in latest)
        assert sum(len(some) for some in revisions.values()) == len(found)


def _bare(event: Event) -> Event:
    return event[0], event[1], {name: value for name, value in event[2].items() if name != "revision"}


def _end(node: WindowAggregate, event: Event) -> int:
    return event[1] if node.window.result == "window" else event[0]


def _final_part(node: WindowAggregate, some: list[Event], cti: int) -> list[Event]:
    return [_bare(event) for event in some if _end(node, event) <= cti]


@quick(400)
@given(early_cases())
def test_revisions(case: tuple[WindowAggregate, list[Batch]]) -> None:
    check_revisions(case)


def test_a_revision_comes_only_with_a_change() -> None:
    node = WindowAggregate(inputs(True)[0], (), (("n", Aggregate("count")),), Window(10, 10), early=6)
    event = {"t": 0, "e": 1, "k": "a", "x": 1, "y": 1.0}

    def given_by(*epochs: tuple[list[int], int]) -> list[tuple[int, int, int]]:
        some = [Batch((tuple((vs, vs + 1, event) for vs in starts),), (cti,)) for starts, cti in epochs]
        return [(vs, payload["n"], payload["revision"]) for vs, _, payload in run_operator(node, some)[0]]

    assert given_by(([1], 3)) == []
    assert given_by(([1], 4)) == [(0, 1, 0)]
    assert given_by(([1], 4), ([], 5), ([], 10)) == [(0, 1, 0)]
    assert given_by(([1], 4), ([5, 6], 5), ([7], 10), ([10], 13)) == [(0, 1, 0), (0, 3, 1), (0, 4, 2)]
    assert given_by(([1], 4), ([12], 5)) == [(0, 1, 0)]
    assert given_by(([], 4), ([5], 5), ([], FOREVER)) == [(0, 1, 0)]
    assert given_by(([1, 11], 3), ([], FOREVER)) == [(0, 1, 0), (10, 1, 0)]


@pytest.mark.soak
@settings(quick(5000), derandomize=False)
@given(early_cases())
def test_revisions_at_length(case: tuple[WindowAggregate, list[Batch]]) -> None:
    check_revisions(case)


@pytest.mark.soak
@settings(quick(7000), derandomize=False)
@given(cases())
def test_the_kernel_at_length(case: tuple[WindowAggregate, list[Batch]]) -> None:
    check(*case)
