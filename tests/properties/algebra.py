"""Random plans over every operator, up to five deep."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.properties.strategies import inputs, numbers, predicates, windows
from waterclock.expr.nodes import Expr, array, col, end, lit, start
from waterclock.plan import (
    Aggregate,
    AlterLifetime,
    AsOf,
    Chop,
    ClipDuration,
    CountAggregate,
    Distinct,
    Explode,
    Extend,
    Filter,
    HopLifetime,
    Input,
    Join,
    Node,
    PointAtEnd,
    Project,
    Quantize,
    SessionAggregate,
    SessionLifetime,
    SetDuration,
    Shift,
    SnapshotAggregate,
    Stitch,
    TopK,
    Union,
    WindowAggregate,
)
from waterclock.plan.join import KINDS
from waterclock.plan.window import RESULTS
from waterclock.schema import INTEGERS, ORDERED
from waterclock.time import FOREVER

STATELESS = ("filter", "project", "explode", "union", "shift", "set_duration", "alter", "extend", "clip_duration",
             "point_at_end", "quantize", "hop_lifetime")  # fmt: skip
STATEFUL = ("chop", "session_lifetime", "stitch", "window", "snapshot", "session", "count", "distinct", "top",
            *(f"{kind} join" for kind in KINDS), "asof")  # fmt: skip
OPERATORS = STATELESS + STATEFUL
FUNCTIONS = ("count", "count_distinct", "sum", "avg", "min", "max", "first", "last", "percentile_disc",
             "percentile_cont", "top_k", "collect_list")  # fmt: skip


def _short(node: Node) -> Node:
    """At most six columns, no arrays: payloads of random plans must not grow with their depth."""
    kept = [(name, col(name)) for name, kind in node.schema if not kind.startswith("array")][:6]
    if len(kept) == len(node.schema.names):
        return node
    return Project(node, tuple(kept or [("c", lit(1))]))


def _dyadic(node: Node) -> Node:
    """Means and percentiles cut to quarters, as the doubles of the inputs are."""
    if isinstance(node, Input) or "double" not in dict(node.schema).values():
        return node
    columns = [(n, (col(n) * 4).cast("bigint") / 4 if kind == "double" else col(n)) for n, kind in node.schema]
    return Project(node, tuple(columns))


@st.composite
def keys(draw: st.DrawFn, node: Node) -> tuple[str, ...]:
    return tuple(draw(st.lists(st.sampled_from(node.schema.names), max_size=2, unique=True)))


@st.composite
def values(draw: st.DrawFn, node: Node, function: str) -> Expr:
    if function in ("sum", "avg", "percentile_cont"):
        return draw(numbers(node))
    names = [name for name, kind in node.schema if kind in ORDERED]
    return col(draw(st.sampled_from(names))) if names else draw(numbers(node))


@st.composite
def aggregates(draw: st.DrawFn, node: Node) -> tuple[tuple[str, Aggregate], ...]:
    chosen = []
    for index in range(draw(st.integers(1, 2))):
        function = draw(st.sampled_from(("*", *FUNCTIONS)))
        where = draw(predicates(node)) if draw(st.integers(0, 3)) == 0 else None
        if function == "*":
            chosen.append((f"a{index}", Aggregate("count", None, where)))
            continue
        param: float | int | None = None
        if function.startswith("percentile"):
            param = draw(st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]))
        elif function == "top_k":
            param = draw(st.integers(1, 3))
        chosen.append((f"a{index}", Aggregate(function, draw(values(node, function)), where, param)))
    return tuple(chosen)


@st.composite
def joined(draw: st.DrawFn, kind: str, left: Node, right: Node) -> Node:
    pairs = [
        (a, b)
        for a, one in left.schema
        for b, other in right.schema
        if one == other or (one in INTEGERS and other in INTEGERS)
    ]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=2, unique=True)) if pairs else []
    names = tuple((name, f"r_{name}" if name in left.schema else name) for name in right.schema.names)
    taken = set(left.schema.names)
    fixed = []
    for name, new in names:
        while new in taken:
            new = f"r_{new}"
        taken.add(new)
        fixed.append((name, new))
    left_keys, right_keys = tuple(a for a, _ in chosen), tuple(b for _, b in chosen)
    if kind == "asof":
        tolerance = draw(st.sampled_from([None, 0, 5]))
        how = draw(st.sampled_from(["inner", "left"]))
        return AsOf(how, left, right, left_keys, right_keys, tuple(fixed), tolerance)
    residual = None
    if draw(st.integers(0, 2)) == 0:
        new_names = dict(fixed)
        ordered = [(a, new_names[b]) for a, b in pairs if left.schema.type_of(a) in ORDERED]
        if ordered:
            a, b = draw(st.sampled_from(ordered))
            residual = draw(st.sampled_from([col(a) != col(b), col(a) >= col(b)]))
    return Join(kind, left, right, left_keys, right_keys, tuple(fixed), residual)


@st.composite
def lifetimes(draw: st.DrawFn, operator: str, below: Node) -> Node:
    some = st.integers(1, 9)
    match operator:
        case "shift":
            return Shift(below, draw(st.integers(-9, 9)))
        case "set_duration":
            micros = start().unix_micros() % 5
            return SetDuration(below, draw(st.one_of(some, st.just(FOREVER), st.just(micros))))
        case "alter":
            grid = start().unix_micros().floor_to(draw(some), draw(st.integers(-3, 3)))
            length = end().unix_micros() - start().unix_micros()
            return AlterLifetime(below, grid + draw(st.integers(-4, 4)), draw(st.sampled_from([length, lit(3)])))
        case "extend":
            return Extend(below, draw(st.integers(-9, 9)))
        case "clip_duration":
            return ClipDuration(below, draw(some))
        case "point_at_end":
            return PointAtEnd(below)
        case "quantize":
            return Quantize(below, draw(some), draw(some), draw(st.integers(-5, 5)))
        case "hop_lifetime":
            return HopLifetime(below, draw(some), draw(some), draw(st.integers(-5, 5)))
        case "chop":
            return Chop(below, draw(st.integers(3, 9)), draw(st.integers(-5, 5)))
        case "session_lifetime":
            maximum = draw(st.one_of(st.none(), st.integers(2, 12)))
            return SessionLifetime(below, draw(keys(below)), draw(some), maximum)
    return Stitch(below)


@st.composite
def windowed(draw: st.DrawFn, operator: str, below: Node) -> Node:
    by, result = draw(keys(below)), draw(st.sampled_from(RESULTS))
    if operator == "top":
        over = draw(st.one_of(st.none(), windows()))
        by_value = draw(values(below, "min"))
        rank = None if "rank" in below.schema else draw(st.sampled_from([None, "rank"]))
        return TopK(below, by, by_value, draw(st.integers(1, 3)), draw(st.booleans()), rank, over)
    named = tuple((f"{name}_{len(by)}" if name in by else name, a) for name, a in draw(aggregates(below)))
    match operator:
        case "window":
            return WindowAggregate(below, by, named, draw(windows()))
        case "snapshot":
            return SnapshotAggregate(below, by, named, result)
        case "session":
            maximum = draw(st.one_of(st.none(), st.integers(2, 12)))
            return SessionAggregate(below, by, named, draw(st.integers(1, 9)), maximum, result)
    return CountAggregate(below, by, named, draw(st.integers(1, 3)), result)


@st.composite
def over(draw: st.DrawFn, operator: str, below: Node, other: Node) -> Node:
    """One operator over plans; ``other`` is its second input if it has one."""
    match operator:
        case "filter":
            return Filter(below, draw(predicates(below)))
        case "project":
            name = draw(st.sampled_from([*below.schema.names, "z"]))
            kept = [(n, col(n)) for n in below.schema.names if n != name]
            return Project(below, (*kept, (name, draw(numbers(below)))))
        case "explode":
            number = draw(numbers(below))
            return Explode(below, draw(st.sampled_from([*below.schema.names, "z"])), array(number, number + 1, None))
        case "union":
            same = other if other.schema == below.schema else Filter(below, draw(predicates(below)))
            return Union((below, same))
        case "distinct":
            return Distinct(below)
        case "window" | "snapshot" | "session" | "count" | "top":
            return draw(windowed(operator, below))
        case "asof":
            return draw(joined("asof", below, other))
    if operator.endswith("join"):
        return draw(joined(operator.split()[0], below, other))
    return draw(lifetimes(operator, below))


@st.composite
def rooted(draw: st.DrawFn, operator: str, points: bool = False, depth: int = 5, exact: bool = False) -> Node:
    """A plan with the operator on top and any others below it; see ``algebra``."""

    def part(most: int) -> Node:
        plan = _short(draw(algebra(points, draw(st.integers(0, most)), exact=exact)))
        return _dyadic(plan) if exact else plan

    below = other = part(depth - 1)
    if operator.endswith("join") or operator in ("asof", "union"):
        other = part(min(2, depth - 1))
    return draw(over(operator, below, other))


@st.composite
def algebra(draw: st.DrawFn, points: bool = False, depth: int = 5, exact: bool = False) -> Node:
    """A plan over ``s0`` and ``s1`` of every kind of operator. ``exact``: sums of doubles have no need to round."""
    if depth == 0:
        return draw(st.sampled_from(inputs(points)))
    return draw(rooted(draw(st.sampled_from(OPERATORS)), points, depth, exact))
