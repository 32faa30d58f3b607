"""Whole programs from examples/ on Spark: a fraud detector of 18 joins, and real flights with real weather."""

from __future__ import annotations

import importlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.plan import Join, Node
from waterclock.reference import Event, bag_difference, evaluate, logical_difference
from waterclock.schema import VE, VS
from waterclock.streams.border import EVER
from waterclock.streams.segment import with_lifetime
from waterclock.time import FOREVER

EXAMPLES = Path(__file__).parents[2] / "examples"
FLIGHTS = ("in_air", "bad_weather", "turnrounds", "without_weather", "delays")


@pytest.fixture(autouse=True)
def _examples() -> Iterator[None]:
    sys.path.insert(0, str(EXAMPLES))
    yield
    sys.path.remove(str(EXAMPLES))


def load(name: str) -> ModuleType:
    return importlib.import_module(name)


def nodes(plan: Node) -> dict[str, Node]:
    """Every distinct operator of a plan, by its identity."""
    found = {plan.identity: plan}
    for child in plan.inputs:
        found |= nodes(child)
    return found


def events(frame: pl.DataFrame) -> list[Event]:
    return [(row.pop(VS), row.pop(VE), row) for row in frame.iter_rows(named=True)]


def inputs(app: wc.App, given: dict[str, pl.DataFrame]) -> dict[str, list[Event]]:
    """What the streams and tables of an app hold when these rows were pushed."""
    found = {}
    for name, rows in given.items():
        declaration = app._streams[name][0]
        found[name] = events(with_lifetime(rows.select(declaration.schema.names).lazy(), declaration).collect())
    for name, (_, rows) in app._tables.items():
        found[name] = [(EVER, FOREVER, row) for row in rows.iter_rows(named=True)]
    return found


def wait_for_the_end(app: wc.App, names: Sequence[str]) -> None:
    """Until every output of a live app has come to the end of its inputs."""
    catalog = Catalog.open(app.store, create=False)
    deadline = time.monotonic() + 120
    while any(catalog.streams.get(name).cti < FOREVER for name in names):
        assert time.monotonic() < deadline, "the app did not come to the end"
        time.sleep(0.1)
    catalog.close()


@pytest.mark.spark
@pytest.mark.parametrize(("mode", "tasks"), [("offline", 1), ("drain", 1), ("drain", 3), ("batch", 1)])
def test_the_fraud_program(mode: str, tasks: int, many_tasks: None, make_app: Callable[..., wc.App]) -> None:
    fraud = load("fraud")
    app = make_app("fraud", epoch_rows=150 if tasks == 1 else 1000, tasks=tasks)
    streams = fraud.declare(app)
    refunds, per_minute = fraud.query(app, streams)
    refunds.into("refunds")
    per_minute.into("per_minute")
    operators = nodes(per_minute._plan)
    joins = [node for node in operators.values() if isinstance(node, Join)]
    assert len(operators) >= 40
    assert len(joins) == 18
    assert set(Counter(join.kind for join in joins)) == {"inner", "left", "semi", "anti", "clip"}

    rows = fraud.rows(250)
    for name, frame in rows.items():
        streams[name].push(frame)
        streams[name].end()
    handle = app.run(mode=mode)
    handle.wait()
    arrived = inputs(app, rows)
    for name, query in (("refunds", refunds), ("per_minute", per_minute)):
        found, wanted = events(handle.frame(name)), evaluate(query._plan, arrived)
        assert found
        assert not (logical_difference if mode == "batch" else bag_difference)(found, wanted)


@pytest.mark.spark
def test_flights(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    """Live, offline and batch agree on two days of flights, and with what the definitions say."""
    data = load("flights_data")
    days = {
        "flights": data.flights(1).filter(pl.col("dep").dt.day().is_in([1, 31])),
        "weather": data.weather(1).filter(pl.col("hour").dt.day().is_in([1, 31])),
    }
    answers: dict[str, dict[str, list[Event]]] = {}
    for mode in ("offline", "live", "batch"):
        app = wc.App("flights", tmp_path / mode, master="local[2,4]", epoch_rows=400)
        air, sky = data.declare(app)
        plans = {}
        for name in FLIGHTS:
            module = load(f"flights_{name}")
            query = getattr(module, "no_weather" if name == "without_weather" else name)
            plans[name] = query._plan
            wc.Stream(app, query._plan).into(name)
        for stream, frame in ((air, days["flights"]), (sky, days["weather"])):
            stream.push(frame)
            stream.end()
        handle = app.run(mode=mode)
        if mode == "live":
            wait_for_the_end(app, FLIGHTS)
            handle.stop()
        handle.wait()
        answers[mode] = {name: events(handle.frame(name)) for name in FLIGHTS}
        if mode == "offline":
            arrived = inputs(app, days)
            for name, plan in plans.items():
                assert not bag_difference(answers[mode][name], evaluate(plan, arrived)), name
    for name in FLIGHTS:
        assert answers["offline"][name], name
        assert not bag_difference(answers["live"][name], answers["offline"][name]), name
        assert not logical_difference(answers["batch"][name], answers["offline"][name]), name
