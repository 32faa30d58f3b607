"""Snapshot aggregates and distinct alone: random streams, cuts and hash ranges against the reference."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.kernel import Batch
from tests.properties.kernel_cases import batches, check
from tests.properties.strategies import SCHEMA, inputs, numbers, predicates
from tests.properties.test_app import quick
from waterclock.expr.nodes import Expr, col
from waterclock.operators import ranges
from waterclock.plan import Aggregate, Distinct, Node, Project, SnapshotAggregate
from waterclock.plan.window import RESULTS

Case = tuple[Node, list[Batch]]
FUNCTIONS = ["count", "sum", "avg", "min", "max", "first", "last", "count_distinct", "percentile_disc", "top_k"]
PARAMS = {"percentile_disc": st.sampled_from([0.0, 0.3, 0.5, 1.0]), "top_k": st.integers(1, 3)}


@st.composite
def some_aggregates(draw: st.DrawFn, node: Node, most: int = 3) -> tuple[tuple[str, Aggregate], ...]:
    """Of every way over overlapping ranges: additive, mergeable, and those that need all values."""
    chosen: list[tuple[str, Aggregate]] = []
    for index in range(draw(st.integers(1, most))):
        function = draw(st.sampled_from(FUNCTIONS))
        arg: Expr | None = draw(numbers(node))
        if function in ("count", "min", "max", "first") and draw(st.booleans()):
            arg = None if function == "count" else col("k")
        where = draw(predicates(node)) if draw(st.integers(0, 3)) == 0 else None
        chosen.append((f"v{index}", Aggregate(function, arg, where, draw(PARAMS.get(function, st.none())))))
    return tuple(chosen)


KEYS: Any = st.sampled_from([(), ("k",), ("k",), ("x",), ("y",), ("k", "x")])


@st.composite
def snapshots(draw: st.DrawFn) -> Case:
    points = draw(st.booleans())
    node: Node = inputs(points)[0]
    aggregate = SnapshotAggregate(node, draw(KEYS), draw(some_aggregates(node)), draw(st.sampled_from(RESULTS)))
    return aggregate, draw(batches(points=points))


@st.composite
def distincts(draw: st.DrawFn) -> Case:
    node: Node = inputs(False)[0]
    names = draw(st.sampled_from([["k"], ["x"], ["y"], ["k", "x"], SCHEMA.names]))
    return Distinct(_only(node, names)), draw(batches())


def _only(node: Node, names: list[str]) -> Node:
    return node if names == SCHEMA.names else Project(node, tuple((name, col(name)) for name in names))


@quick(400)
@given(snapshots())
def test_snapshots_are_what_the_reference_says(case: Case) -> None:
    check(*case)


@quick(300)
@given(snapshots())
def test_snapshots_over_a_tree_in_small_chunks(case: Case) -> None:
    with patch.object(ranges, "_SHORT", 0), patch.object(ranges, "CHUNK", 3):
        check(*case)


@quick(300)
@given(distincts())
def test_distinct_is_what_the_reference_says(case: Case) -> None:
    check(*case)


@pytest.mark.soak
@settings(quick(6000), derandomize=False)
@given(st.one_of(snapshots(), distincts()), st.booleans())
def test_snapshots_at_length(case: Case, small: bool) -> None:
    with patch.object(ranges, "_SHORT", 0 if small else 4), patch.object(ranges, "CHUNK", 3 if small else 1000):
        check(*case)
