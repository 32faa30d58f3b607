"""Batch mode over random plans of every operator, up to five deep: at every instant what the reference says."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.properties.algebra import OPERATORS, rooted
from tests.properties.strategies import SCHEMA, events
from tests.properties.test_app import quick
from tests.spark.test_batch import QUICK, as_events
from waterclock.batch.compile import compiled
from waterclock.batch.spark.session import answered, session
from waterclock.plan import explain
from waterclock.reference import Event, evaluate, logical_difference
from waterclock.schema import VE, VS
from waterclock.time import BEGINNING

pytestmark = pytest.mark.spark

PLANS = 5
"""Over the same streams: opening these costs as much as a small plan."""
World = tuple[dict[str, list[Event]], dict[str, int]]
"""Two streams, and their last finite CTIs."""


@st.composite
def worlds(draw: st.DrawFn) -> World:
    some = st.lists(events(), min_size=4, max_size=20)
    times = st.one_of(st.just(BEGINNING), st.integers(-20, 60))
    return {name: draw(some) for name in ("s0", "s1")}, {name: draw(times) for name in ("s0", "s1")}


def drawn(what: st.SearchStrategy[Any], count: int, number: int) -> list[Any]:
    """Examples as Hypothesis finds them, to be tried together: alone, each would take longer to set up than to try."""
    found: list[Any] = []

    @seed(number)
    @settings(quick(0), max_examples=count + 1, derandomize=False, phases=[Phase.generate])
    @given(what)
    def collect(example: Any) -> None:
        found.append(example)

    collect()
    return found[1:]  # the first is always the simplest


CHEAP = {"spark.sql.shuffle.partitions": "1", "spark.sql.constraintPropagation.enabled": "false"}
"""Most of the time goes into planning."""


@pytest.fixture(scope="module")
def own() -> Iterator[SparkSession]:
    with session("test", "local[2,4]", {**QUICK, **CHEAP}) as own:
        own.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")  # what runs once is not worth compiling
        yield own
        own.conf.unset("spark.sql.codegen.factoryMode")


def stream(own: SparkSession, view: str, some: list[Event]) -> None:
    """Rows in memory and one partition, which needs no exchanges."""
    rows = [{VS: vs, VE: ve, **payload} for vs, ve, payload in some]
    frame = own.createDataFrame(pl.DataFrame(rows, schema=SCHEMA.frame_schema()).to_arrow())
    frame.coalesce(1).createOrReplaceTempView(view)


def check(own: SparkSession, operator: str, number: int) -> None:
    """Some plans under the operator, over two streams."""
    ((streams, seen),) = drawn(worlds(), 1, number)
    outputs = {f"plan {n}": plan for n, plan in enumerate(drawn(rooted(operator, exact=True), PLANS, number))}
    query = compiled(outputs, seen)
    for name, view in query.streams.items():
        stream(own, view, streams[name])
    answers = answered(own, query, outputs)
    for name, plan in outputs.items():
        difference = logical_difference(as_events(answers[name]), evaluate(plan, streams, seen))
        assert not difference, f"{explain(plan)}\n{difference}\nover {streams}, {seen}\n{plan}"


@pytest.mark.parametrize("operator", OPERATORS)
def test_random_plans(operator: str, own: SparkSession) -> None:
    check(own, operator, zlib.crc32(operator.encode()))


@pytest.mark.soak
@pytest.mark.parametrize("operator", OPERATORS)
def test_random_plans_at_length(operator: str, own: SparkSession) -> None:
    for _ in range(10):
        check(own, operator, random.getrandbits(32))
