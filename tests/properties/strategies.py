"""Random streams, plans and scripts: small ranges, so that borders and collisions are common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from waterclock.expr.nodes import Expr, coalesce, col, lit, when
from waterclock.plan import Aggregate, Filter, Input, Node, Project, Union, WindowAggregate
from waterclock.plan.window import RESULTS, Window
from waterclock.reference import Event
from waterclock.schema import Schema, element_type
from waterclock.time import BEGINNING, FOREVER

SCHEMA = Schema.of({"t": "bigint", "e": "bigint", "k": "string", "x": "int", "y": "double"})
KEYS = st.sampled_from(["a", "b", "ä", "日本", "", None])
INTS = st.one_of(st.none(), st.integers(-5, 5))
FLOATS = st.one_of(st.none(), st.integers(-12, 12).map(lambda n: n / 4))


@st.composite
def events(draw: st.DrawFn, low: int = -20, points: bool = False) -> Event:
    vs = draw(st.integers(low, max(low, 0) + 25))
    ve = vs + 1
    if not points:
        ve = draw(st.one_of(st.just(vs + 1), st.integers(vs + 1, vs + 30), st.just(FOREVER)))
    end = None if ve == FOREVER else ve
    return vs, ve, {"t": vs, "e": end, "k": draw(KEYS), "x": draw(INTS), "y": draw(FLOATS)}


# -- plans -------------------------------------------------------------------------------------------------


def inputs(points: bool) -> list[Node]:
    return [Input(name, SCHEMA, points, may_be_open=not points) for name in ("s0", "s1")]


@st.composite
def windows(draw: st.DrawFn) -> Window:
    size, hop = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    if draw(st.booleans()):
        hop = size
    return Window(size, hop, draw(st.integers(-13, 13)), draw(st.sampled_from(RESULTS)))


def _numeric(node: Node) -> list[str]:
    return [name for name, kind in node.schema if kind in ("int", "bigint", "double")]


@st.composite
def numbers(draw: st.DrawFn, node: Node) -> Expr:
    """A number over the columns of a node: sums stay exact."""
    names = _numeric(node)
    value = col(draw(st.sampled_from(names))) if names else lit(draw(st.integers(-3, 3)))
    match draw(st.integers(0, 5)):
        case 0:
            return value + draw(st.integers(-3, 3))
        case 1:
            return -value
        case 2:
            return coalesce(value, 0)
        case 3:
            return when(value > 1, value).otherwise(None)
    return value


@st.composite
def predicates(draw: st.DrawFn, node: Node) -> Expr:
    number = draw(numbers(node))
    match draw(st.integers(0, 4)):
        case 0:
            return number.is_null() | (number % 2 == 0)
        case 1:
            return ~(number > draw(st.integers(-3, 3)))
        case 2 if ("k", "string") in node.schema.columns:
            return col("k").is_in(["a", "日本"]) | (number < 0)
        case 3:
            return number.is_not_null() & (number != 1)
    return number >= draw(st.integers(-4, 2))


_OF_NUMBERS = ("count", "count_distinct", "approx_count_distinct", "sum", "avg", "min", "max", "first", "last",
               "percentile_disc", "percentile_cont", "top_k", "collect_list")  # fmt: skip
_OF_TEXT = ("count", "count_distinct", "approx_count_distinct", "min", "max", "first", "last", "percentile_disc",
            "top_k", "collect_list")  # fmt: skip


@st.composite
def aggregates(draw: st.DrawFn, node: Node) -> tuple[tuple[str, Aggregate], ...]:
    """Of all functions but variances, which are not exact to the last bit."""
    chosen: list[tuple[str, Aggregate]] = []
    for index in range(draw(st.integers(1, 3))):
        where = draw(predicates(node)) if draw(st.integers(0, 3)) == 0 else None
        if draw(st.integers(0, 5)) == 0:
            chosen.append((f"v{index}", Aggregate("count", where=where)))
            continue
        text = "k" in node.schema and draw(st.integers(0, 2)) == 0
        function = draw(st.sampled_from(_OF_TEXT if text else _OF_NUMBERS))
        param: float | int | None = None
        if function.startswith("percentile"):
            param = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
        elif function == "top_k":
            param = draw(st.integers(1, 3))
        argument = col("k") if text else draw(numbers(node))
        chosen.append((f"v{index}", Aggregate(function, argument, where, param)))
    return tuple(chosen)


def _exact(node: Node) -> Node:
    """Means are not dyadic: behind an avg only whole numbers go on."""
    columns = [
        (name, col(name).cast("bigint") if kind == "double" and node.schema != SCHEMA else col(name))
        for name, kind in node.schema
    ]
    return Project(node, tuple(columns))


@st.composite
def aggregated(draw: st.DrawFn, node: Node) -> WindowAggregate:
    plain = [name for name, kind in node.schema if element_type(kind) is None]
    choices = [(), *((key,) for key in ("k", "x", "v0") if key in plain)]
    if "k" in node.schema and "x" in node.schema:
        choices.append(("k", "x"))
    keys = draw(st.sampled_from(choices))
    named = tuple((f"w{name[1:]}" if name in keys else name, a) for name, a in draw(aggregates(node)))
    return WindowAggregate(node, keys, named, draw(windows()))


@st.composite
def plans(draw: st.DrawFn, points: bool = False, depth: int = 4) -> Node:
    """A plan over ``s0`` and ``s1``, up to ``depth`` operators deep."""
    if depth == 0 or (depth < 4 and draw(st.integers(0, 3)) == 0):
        return draw(st.sampled_from(inputs(points)))
    below = draw(plans(points, depth - 1))
    match draw(st.sampled_from(["filter", "project", "union", "window", "window"])):
        case "filter":
            return Filter(below, draw(predicates(below)))
        case "project":
            kept = [(name, col(name)) for name, _ in below.schema]
            changed = draw(numbers(below))
            name = draw(st.sampled_from([*_numeric(below), "z"]))
            if name in below.schema and changed.type_in(below.schema) != below.schema.type_of(name):
                name = "z"
            return Project(below, tuple([(n, e) for n, e in kept if n != name] + [(name, changed)]))
        case "union":
            others = [node for node in inputs(points) if node.schema == below.schema] or [below]
            other = draw(st.sampled_from(others))
            return Union((below, Filter(other, draw(predicates(other)))))
    return draw(aggregated(_exact(below) if isinstance(below, WindowAggregate) else below))


# -- scripts -----------------------------------------------------------------------------------------------


@dataclass
class Script:
    """What is done to an app, step by step."""

    slack: int
    steps: list[tuple[str, Any]]
    """push (stream, events); advance (stream, time); end stream; run."""

    def inputs(self) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = {"s0": [], "s1": []}
        for what, value in self.steps:
            if what == "push":
                found[value[0]] += value[1]
        return found

    def last_ctis(self) -> dict[str, int]:
        """The last finite CTI of each stream."""
        ctis = {"s0": BEGINNING, "s1": BEGINNING}
        for what, value in self.steps:
            if what == "push":
                ctis[value[0]] = max(ctis[value[0]], max(vs for vs, _, _ in value[1]) - self.slack)
            elif what == "advance":
                ctis[value[0]] = max(ctis[value[0]], value[1])
        return ctis


@st.composite
def scripts(draw: st.DrawFn, points: bool = False, most: int = 14) -> Script:
    """Legal: every event starts at or after its stream's CTI. Ends with both streams ended and a run."""
    slack = draw(st.sampled_from([0, 3, 100]))
    ctis = {"s0": BEGINNING, "s1": BEGINNING}
    ended: set[str] = set()
    steps: list[tuple[str, Any]] = []
    for _ in range(draw(st.integers(2, most))):
        name = draw(st.sampled_from(["s0", "s1"]))
        what = draw(st.sampled_from(["push", "push", "push", "advance", "run", "end"]))
        low = max(-20, ctis[name])
        if what == "run":
            steps.append(("run", None))
        elif name in ended:
            continue
        elif what == "push":
            some = draw(st.lists(events(low, points), min_size=1, max_size=6))
            steps.append(("push", (name, some)))
            ctis[name] = max(ctis[name], max(vs for vs, _, _ in some) - slack)
        elif what == "advance":
            time = draw(st.integers(low, low + 30))
            steps.append(("advance", (name, time)))
            ctis[name] = max(ctis[name], time)
        elif draw(st.integers(0, 2)) == 0:
            steps.append(("end", name))
            ended.add(name)
    for name in draw(st.permutations([n for n in ("s0", "s1") if n not in ended])):
        steps.append(("end", name))
        if draw(st.booleans()):
            steps.append(("run", None))
    return Script(slack, [*steps, ("run", None)])
