"""A case of the file: a plan, what is done to its inputs step by step, and what must come out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from waterclock.conformance.expressions import BadCase
from waterclock.conformance.operators import JOINS, build, time_of
from waterclock.errors import ConfigError
from waterclock.expr.nodes import col
from waterclock.plan import Input, Node, Project
from waterclock.reference import Event
from waterclock.schema import Schema
from waterclock.time import FOREVER

START, END = "case_start", "case_end"
"""Columns of the inputs that carry the lifetime."""
LATE = {"throw": "fail", "fail": "fail", "drop": "drop", "adjust": "adjust"}


class Skipped(Exception):
    """The case is about something that this system does not have."""


@dataclass(frozen=True)
class Step:
    """Some events of an input, then perhaps a CTI of it."""

    stream: str
    events: tuple[Event, ...]
    cti: int | None


@dataclass(frozen=True)
class Case:
    id: str
    name: str
    """Of its result. It is its own among the cases of a file, as are the names of its inputs."""
    operator: str
    inputs: dict[str, Schema]
    """With the columns of the lifetime."""
    plan: Node
    steps: tuple[Step, ...]
    expected: tuple[Event, ...]
    expected_ctis: tuple[int, ...] | None
    must_fail: bool
    late: str = "fail"

    @property
    def ends(self) -> bool:
        """Every input ends, and nothing is said about time on the way."""
        last = {step.stream: step.cti for step in self.steps}
        return all(cti == FOREVER for cti in last.values()) and self.expected_ctis is None


@dataclass(frozen=True)
class Unreadable:
    """A case that no plan could be made of, as it may be meant, or that is not for us."""

    id: str
    reason: str
    status: str = "failed"


def read_cases(path: Path) -> list[Case | Unreadable]:
    """Raises ValueError where the file is no list of cases."""
    found = json.loads(path.read_text())
    if not isinstance(found, list) or not all(isinstance(raw, dict) for raw in found):
        raise ValueError("it is not a list of objects")
    return [_read(raw, number) for number, raw in enumerate(found)]


def _read(raw: dict[str, Any], number: int) -> Case | Unreadable:
    name = str(raw.get("id", f"#{number}"))
    try:
        return _case(name, f"case{number}", raw)
    except Skipped as reason:
        return Unreadable(name, str(reason), "skipped")
    except ConfigError as error:
        return Unreadable(name, str(error), "passed" if raw.get("expected_error") else "failed")
    except BadCase as reason:
        return Unreadable(name, str(reason))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        return Unreadable(name, f"the case cannot be read: {type(error).__name__}: {error}")


def _case(case_id: str, name: str, raw: dict[str, Any]) -> Case:
    operator, params = raw["operator"], dict(raw.get("params") or {})
    late = "fail"
    given: dict[str, list[dict[str, Any]]] = {stream: list(items) for stream, items in raw["inputs"].items()}
    if operator == "edges_to_intervals":
        raise Skipped("edges are not taken, intervals are")
    if operator == "ingress":
        late = _policy(params, given)
    marks = {stream: _marks(stream, items, raw.get("ctis") or {}) for stream, items in given.items()}
    rows = {stream: [item for item in items if item.get("kind") != "cti"] for stream, items in given.items()}
    inputs, plan = _plan(operator, params, rows, name)
    steps = tuple(replace(step, stream=f"{name}.{step.stream}") for step in _steps(given, marks, inputs))
    ctis = raw.get("expected_ctis")
    must_fail = bool(raw.get("expected_error"))
    return Case(
        case_id, name, operator, {f"{name}.{stream}": schema for stream, schema in inputs.items()}, plan, steps,
        () if must_fail else tuple((item["vs"], time_of(item["ve"]), item["payload"]) for item in raw["expected"]),
        None if ctis is None else tuple(time_of(cti) for cti in ctis), must_fail, late,
    )  # fmt: skip


def _policy(params: dict[str, Any], given: dict[str, list[dict[str, Any]]]) -> str:
    bound, policy = params.pop("late_bound", "cti"), params.pop("policy", "throw")
    if bound != "cti":
        raise Skipped(f"lateness is measured against the CTI, not against {bound}")
    for item in (item for items in given.values() for item in items):
        if item.get("kind", "interval") not in ("interval", "point", "cti"):
            raise Skipped(f"edges are not taken: an item of kind {item['kind']!r}")
        if item.get("part", "*") != "*":
            raise Skipped("time is of a stream, not of a partition")
    if policy not in LATE:
        raise BadCase(f"unknown policy {policy!r}")
    return LATE[policy]


# -- what is done ------------------------------------------------------------------------------------------


def _marks(stream: str, items: list[dict[str, Any]], ctis: dict[str, Any]) -> list[tuple[int, int]]:
    """CTIs of an input, each with the number of items before it."""
    marks = [(at, time_of(item["t"])) for at, item in enumerate(items) if item.get("kind") == "cti"]
    marks += [(mark["after"], time_of(mark["t"])) for mark in ctis.get(stream) or [{"after": len(items), "t": "inf"}]]
    return sorted(marks, key=lambda mark: mark[0])


def _steps(
    given: dict[str, list[dict[str, Any]]], marks: dict[str, list[tuple[int, int]]], inputs: dict[str, Schema]
) -> Iterator[Step]:
    """The first CTI of each input in turn, then the second, and so on, with what comes before it."""
    at = dict.fromkeys(given, 0)
    for turn in range(max(len(found) for found in marks.values())):
        for stream, items in given.items():
            if turn < len(marks[stream]):
                after, cti = marks[stream][turn]
                yield Step(stream, _events(items[at[stream] : after], inputs[stream]), cti)
                at[stream] = max(at[stream], after)
    for stream, items in given.items():
        if rest := _events(items[at[stream] :], inputs[stream]):
            yield Step(stream, rest, None)


def _events(items: list[dict[str, Any]], schema: Schema) -> tuple[Event, ...]:
    events: list[Event] = []
    for item in items:
        if item.get("kind") == "cti":
            continue
        vs = time_of(item["vs"])
        ve = time_of(item.get("ve", vs + 1))
        payload = {name: _value(item["payload"].get(name), kind) for name, kind in schema}
        payload |= {START: vs, END: None if ve == FOREVER else ve}
        events.append((vs, ve, payload))
    return tuple(events)


def _value(value: Any, kind: str) -> Any:
    return float(value) if kind == "double" and value is not None else value


# -- the plan ----------------------------------------------------------------------------------------------

GUESSES = ("string", "bigint", "double", "boolean")
"""What a column without a value may be, the first that the plan can take."""


def _plan(
    operator: str, params: dict[str, Any], rows: dict[str, list[dict[str, Any]]], name: str
) -> tuple[dict[str, Schema], Node]:
    known = {stream: _columns(items) for stream, items in rows.items()}
    streams = list(known)
    if operator in JOINS and len(streams) == 2:
        _complete(params, known["left"], known["right"])
    else:
        for stream in streams:
            if not known[stream]:
                known[stream] = dict.fromkeys(sorted(_mentioned(params)) or ["value"])
    if operator == "union":
        _harmonise(known)
    first: ConfigError | None = None
    for guess in GUESSES:
        inputs = {
            stream: Schema.of({**{n: k or guess for n, k in found.items()}, START: "bigint", END: "bigint"})
            for stream, found in known.items()
        }
        try:
            sides = [_input(f"{name}.{stream}", schema) for stream, schema in inputs.items()]
            return inputs, build(operator, params, sides)
        except ConfigError as error:
            first = first or error
    assert first is not None
    raise first


def _input(stream: str, schema: Schema) -> Node:
    node = Input(stream, schema, of_points=False, may_be_open=True)
    return Project(node, tuple((name, col(name)) for name in schema.names if name not in (START, END)))


def _columns(items: list[dict[str, Any]]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for item in items:
        for name, value in item["payload"].items():
            found[name] = _wider(found.get(name), _kind(value), name)
    return found


def _kind(value: Any) -> str | None:
    if isinstance(value, list):
        inner: str | None = None
        for element in value:
            inner = _wider(inner, _kind(element), "an array")
        return f"array<{inner or 'string'}>"
    for kind, name in ((bool, "boolean"), (int, "bigint"), (float, "double"), (str, "string")):
        if isinstance(value, kind):
            return name
    if value is None:
        return None
    raise BadCase(f"a payload holds {value!r}")


def _wider(one: str | None, other: str | None, name: str) -> str | None:
    if one is None or other is None or one == other:
        return one or other
    if {one, other} == {"bigint", "double"}:
        return "double"
    raise BadCase(f"{name} is {one} and {other}")


def _harmonise(known: dict[str, dict[str, str | None]]) -> None:
    """The branches of a union have the same columns."""
    together: dict[str, str | None] = {}
    for columns in known.values():
        for name, kind in columns.items():
            together[name] = _wider(together.get(name), kind, name)
    for stream in known:
        known[stream] = dict(together)


def _complete(params: dict[str, Any], left: dict[str, str | None], right: dict[str, str | None]) -> None:
    """Columns that no row shows but the join speaks of; keys that are compared have one type."""
    mentioned = _mentioned(params)
    for side, columns, other in (("left", left, right), ("right", right, left)):
        if not columns:
            for name in sorted(name for name in mentioned if name.startswith(f"{side}.")):
                column = name.partition(".")[2]
                columns[column] = other.get(column)
    for a, b in zip(params.get("left_key") or [], params.get("right_key") or [], strict=False):
        left[a] = right[b] = _wider(left.get(a), right.get(b), f"the key {a} == {b}")
    for columns in (left, right):
        if not columns:
            columns["value"] = None


def _mentioned(tree: Any) -> set[str]:
    """The strings in some parameters that may be fields."""
    if isinstance(tree, str):
        return set() if tree.startswith("_") or not tree else {tree}
    if isinstance(tree, dict):
        return set().union(*(_mentioned(value) for value in tree.values()))
    if isinstance(tree, list):
        return set() if tree and tree[0] == "const" else set().union(*map(_mentioned, tree))
    return set()
