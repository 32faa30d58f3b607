"""The shared cases of filter, project, union and windows, through the reference and through an app."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.expr.nodes import Expr, as_expr, call, col, lit
from waterclock.plan import Aggregate, Filter, Input, Node, Project, Union, WindowAggregate
from waterclock.plan.window import Window
from waterclock.reference import Event, bag_difference, final
from waterclock.runtime.log import StreamReader
from waterclock.schema import VE, VS, Schema
from waterclock.time import BEGINNING, FOREVER

CASES = json.loads((Path(__file__).parents[1] / "cases" / "core.json").read_text())
NAMES = {"==": "eq", "!=": "ne", ">": "gt", ">=": "ge", "<": "lt", "<=": "le", "+": "add", "-": "subtract", "%": "mod"}


def time_of(value: Any) -> int:
    return FOREVER if value == "inf" else int(value)


def events_of(items: list[dict[str, Any]]) -> list[Event]:
    return [(time_of(i["vs"]), time_of(i["ve"]), i["payload"]) for i in items]


def expression(tree: Any) -> Expr:
    if isinstance(tree, str):
        return col(tree)
    if not isinstance(tree, list):
        return lit(tree)
    operator, *args = tree
    if operator == "const":
        return lit(args[0])
    if operator == "in":
        return expression(args[0]).is_in(args[1])
    if operator == "int":
        return expression(args[0]).cast("int")
    return call(NAMES.get(operator, operator), *(expression(arg) for arg in args))


def filters(source: Node, tree: Any) -> Node:
    """``and`` is two filters one behind the other: the second sees only what the first lets pass."""
    if isinstance(tree, list) and tree[0] == "and":
        return filters(filters(source, tree[1]), tree[2])
    return Filter(source, expression(tree))


def schema_of(case: dict[str, Any]) -> Schema:
    payload = next(event["payload"] for events in case["inputs"].values() for event in events)
    columns = {name: "string" if isinstance(value, str) else "bigint" for name, value in payload.items()}
    return Schema.of({"t": "bigint", "e": "bigint", **columns})


def plan_of(case: dict[str, Any]) -> Node:
    params, schema = case["params"], schema_of(case)
    names = [name for name in schema.names if name not in ("t", "e")]
    sources = [
        Project(Input(name, schema, False), tuple((column, col(column)) for column in names)) for name in case["inputs"]
    ]
    if case["operator"] == "union":
        return Union(tuple(sources))
    if case["operator"] == "filter":
        return filters(sources[0], params["predicate"])
    if case["operator"] == "project":
        return Project(sources[0], tuple((name, as_expr(tree)) for name, tree in params["fields"].items()))
    aggregates = tuple(
        (name, Aggregate(function, *(col(field) for field in fields)))
        for name, (function, *fields) in params["aggs"].items()
    )
    window = Window(params["width"], params["hop"], params.get("offset", 0), params["output"])
    return WindowAggregate(sources[0], tuple(params.get("keys", ())), aggregates, window)


def with_times(events: list[Event]) -> list[Event]:
    return [(vs, ve, {"t": vs, "e": None if ve == FOREVER else ve, **payload}) for vs, ve, payload in events]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_reference(case: dict[str, Any]) -> None:
    inputs = {name: with_times(events_of(items)) for name, items in case["inputs"].items()}
    ctis = {name: time_of(marks[-1]["t"]) for name, marks in case["ctis"].items()}
    found, cti = final(plan_of(case), inputs, ctis)
    assert not bag_difference(found, events_of(case["expected"]))
    assert cti == time_of(case.get("expected_ctis", ["inf"])[-1])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_app(case: dict[str, Any], tmp_path: Path) -> None:
    """Inputs move on one mark after another, with a run behind each."""
    plan = plan_of(case)
    ctis: list[int] = []
    for at in range(max(len(marks) for marks in case["ctis"].values())):
        app = wc.App("case", tmp_path)
        for name, items in case["inputs"].items():
            # A slack so wide that only the marks move time.
            source = app.stream(name, dict(schema_of(case)), "t", end="e", slack=10**6, max_ahead=None)
            marks = case["ctis"][name]
            if at < len(marks):
                before = marks[at - 1]["after"] if at else 0
                source.push([payload for _, _, payload in with_times(events_of(items[before : marks[at]["after"]]))])
                source.advance(time_of(marks[at]["t"]))
        wc.Stream(app, plan).into("result")
        app.run(mode="offline")
        found, cti = stored(tmp_path)
        if cti > (ctis[-1] if ctis else BEGINNING):
            ctis.append(cti)
    assert not bag_difference(found, events_of(case["expected"]))
    assert ctis[-1] == time_of(case.get("expected_ctis", ["inf"])[-1])


def stored(store: Path) -> tuple[list[Event], int]:
    catalog = Catalog.open(store, create=False)
    try:
        row = catalog.streams.get("result")
        frame = StreamReader(catalog, "result").read(0, row.next)
    finally:
        catalog.close()
    return [(line.pop(VS), line.pop(VE), line) for line in frame.iter_rows(named=True)], row.cti
