"""Aggregates and lifetimes of the reference evaluator, by hand-worked examples."""

from __future__ import annotations

import math
from typing import Any

import pytest

from waterclock.errors import DataError
from waterclock.expr.nodes import array, col, end, split, start
from waterclock.plan import Aggregate, AsOf, Chop, Explode, Input, Join, Node, Project, SessionAggregate, Stitch, TopK
from waterclock.plan.aggregate import AGGREGATES
from waterclock.reference import Event, bag_difference, evaluate, final
from waterclock.reference.aggregates import FUNCTIONS, aggregate_of
from waterclock.schema import Schema
from waterclock.time import FOREVER

SCHEMA = Schema.of({"x": "bigint", "y": "double", "s": "string"})
STREAM = Input("s0", SCHEMA, of_points=False, may_be_open=True)
COUNT = (("n", Aggregate("count")),)


def at(vs: int, ve: int = 0, x: Any = None, y: Any = None, s: Any = None) -> Event:
    return vs, ve or vs + 1, {"x": x, "y": y, "s": s}


def ints(*values: int | None) -> list[Event]:
    return [at(number, x=value) for number, value in enumerate(values)]


def floats(*values: float | None) -> list[Event]:
    return [at(number, y=value) for number, value in enumerate(values)]


X, Y = col("x"), col("y")
VALUES: list[tuple[Aggregate, list[Event], Any]] = [
    (Aggregate("count"), ints(1, None), 2),
    (Aggregate("count", X), ints(1, None), 1),
    (Aggregate("count", where=X > 1), ints(1, 2, None), 1),
    (Aggregate("sum", X, where=X > 5), ints(1, 2), None),
    (Aggregate("count_distinct", Y), floats(math.nan, math.nan, 0.0, -0.0, None), 2),
    (Aggregate("approx_count_distinct", X), ints(3, 3, 4), 2),
    (Aggregate("sum", X), ints(2**63 - 1, 5, -5), 2**63 - 1),
    (Aggregate("sum", X), ints(None), None),
    (Aggregate("sum", Y), floats(*[0.1] * 10), 1.0),
    (Aggregate("sum", Y), floats(1e308, 1e308, -1e308), 1e308),
    (Aggregate("sum", Y), floats(1e308, 1e308), math.inf),
    (Aggregate("sum", Y), floats(math.inf, -math.inf), math.nan),
    (Aggregate("avg", X), ints(1, 2), 1.5),
    (Aggregate("avg", X), ints(2**62, 2**62 + 2), float(2**62)),
    (Aggregate("min", Y), floats(math.nan, 2.0), 2.0),
    (Aggregate("max", Y), floats(math.nan, 2.0), math.nan),
    (Aggregate("variance", X), ints(2, 4, 4, 4, 5, 5, 7, 9), 32 / 7),
    (Aggregate("var_pop", X), ints(2, 4, 4, 4, 5, 5, 7, 9), 4.0),
    (Aggregate("stddev_pop", X), ints(2, 4, 4, 4, 5, 5, 7, 9), 2.0),
    (Aggregate("stddev", X), ints(7), None),
    (Aggregate("stddev_pop", X), ints(7), 0.0),
    (Aggregate("stddev", Y), floats(1e-300, 3e-300), math.sqrt(2) * 1e-300),
    (Aggregate("var_pop", Y), floats(1.0, math.inf), math.nan),
    (Aggregate("first", X), [at(3, x=1), at(1, x=9), at(1, x=8), at(0)], 8),
    (Aggregate("last", X), [at(3, x=1), at(3, x=2), at(1, x=9)], 2),
    (Aggregate("percentile_disc", X, param=0.5), ints(4, 1, 3, 2), 2),
    (Aggregate("percentile_disc", X, param=0), ints(4, 1), 1),
    (Aggregate("percentile_cont", X, param=0.5), ints(4, 1, 3, 2), 2.5),
    (Aggregate("top_k", X, param=2), ints(5, 4, 5, 4, 1), [5, 5]),
    (Aggregate("top_k", X, param=3), ints(5, 4, 5, 4, 1), [5, 5, 4, 4]),
    (Aggregate("top_k", X, param=3), ints(None), []),
    (Aggregate("collect_list", X), ints(3, None, 1), [1, 3]),
]


@pytest.mark.parametrize(("aggregate", "events", "expected"), VALUES, ids=lambda value: repr(value)[:40])
def test_aggregate(aggregate: Aggregate, events: list[Event], expected: Any) -> None:
    found = aggregate_of(aggregate, events, SCHEMA)
    if isinstance(expected, float):
        assert isinstance(found, float)
        assert found == pytest.approx(expected, rel=1e-15, nan_ok=True, abs=0)
    else:
        assert found == expected
    assert not isinstance(found, bool)


def test_every_aggregate_has_a_meaning_and_an_example() -> None:
    assert set(FUNCTIONS) == set(AGGREGATES) == {aggregate.function for aggregate, _, _ in VALUES}


def test_an_integer_sum_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(DataError) as caught:
        aggregate_of(Aggregate("sum", X), ints(2**63 - 1, 1), SCHEMA)
    assert caught.value.code == "DATA.OVERFLOW"


def lives(node: Node, events: list[Event]) -> list[tuple[int, int]]:
    return sorted((vs, ve) for vs, ve, _ in evaluate(node, {"s0": events}))


def test_sessions_are_cut_at_multiples_of_the_maximum() -> None:
    events = [at(time) for time in (3, 7, 11, 15, 19, 23, 40)]
    assert lives(SessionAggregate(STREAM, (), COUNT, 5), events) == [(3, 28), (40, 45)]
    # From 3 until the second multiple of 10; from there until the next.
    assert lives(SessionAggregate(STREAM, (), COUNT, 5, 10), events) == [(3, 20), (23, 28), (40, 45)]
    on_a_multiple = [at(time) for time in (10, 14, 18, 22)]
    assert lives(SessionAggregate(STREAM, (), COUNT, 5, 10), on_a_multiple) == [(10, 20), (22, 27)]


def test_an_open_event_is_chopped_as_far_as_time_came() -> None:
    node = Chop(STREAM, 10)
    found, cti = final(node, {"s0": [at(3, FOREVER)]}, {"s0": 20})
    assert ([event[:2] for event in found], cti) == ([(3, 10), (10, 20), (20, 30)], 20)
    ended = evaluate(node, {"s0": [at(3, FOREVER)]}, {"s0": 20})
    assert [event[:2] for event in ended] == [(3, 10), (10, 20), (20, 30), (30, FOREVER)]


def test_stitch_goes_on_with_the_oldest_chain_and_the_shortest_event() -> None:
    events = [at(0, 5), at(2, 5), at(5, 9), at(5, 7)]
    assert lives(Stitch(STREAM), events) == [(0, 7), (2, 9)]
    assert lives(Stitch(STREAM), events[:3]) == [(0, 9), (2, 5)]


def test_what_has_no_value_is_not_ranked_but_cuts() -> None:
    node = TopK(STREAM, (), X, 1)
    assert lives(node, [at(0, 10, x=1), at(3, 5)]) == [(0, 3), (3, 5), (5, 10)]


def test_as_of_takes_all_that_started_last() -> None:
    node = AsOf("left", STREAM, Input("s1", SCHEMA, of_points=True), ("s",), ("s",), (("x", "r"),), 4)
    rights = [at(1, x=1, s="a"), at(3, x=2, s="a"), at(3, x=3, s="a"), at(4, x=9, s=None)]
    found = evaluate(node, {"s0": [at(3, 9, s="a"), at(8, s="a"), at(5, s=None)], "s1": rights})
    assert sorted((vs, ve, payload["r"] or 0) for vs, ve, payload in found) == [
        (3, 9, 2),
        (3, 9, 3),
        (5, 6, 0),
        (8, 9, 0),
    ]


def test_lifetimes_and_arrays_in_expressions() -> None:
    far = 2**61
    times = Project(STREAM, (("a", start().unix_micros().floor_to(10, 3)), ("b", end().unix_micros().ceil_to(10))))
    found = evaluate(times, {"s0": [at(-8, 12), at(far, FOREVER)]})
    assert [event[2] for event in found] == [{"a": -17, "b": 20}, {"a": far - (far - 3) % 10, "b": None}]
    words = Explode(Explode(STREAM, "w", split("s", " ")), "v", array(X, 1))
    made = evaluate(words, {"s0": [at(0, s="a b"), at(1)]})
    expected = [(0, 1, {"x": None, "y": None, "s": "a b", "w": w, "v": v}) for w in "ab" for v in (None, 1)]
    assert not bag_difference(made, expected)


def test_a_covered_piece_that_ends_at_the_right_time_is_held() -> None:
    node = Join("semi", STREAM, Input("s1", SCHEMA, of_points=False), (), (), ())
    inputs = {"s0": [at(0, 10)], "s1": [at(2, 5)]}
    for cti, expected, time in ((5, [], 2), (6, [(2, 5)], 6)):  # at 5 another right may go on with it
        found, out = final(node, inputs, {"s0": FOREVER, "s1": cti})
        assert ([event[:2] for event in found], out) == (expected, time)
    found, out = final(node, {"s0": [at(0, 5)], "s1": [at(2, 5)]}, {"s0": FOREVER, "s1": 5})
    assert ([event[:2] for event in found], out) == ([(2, 5)], 5)
