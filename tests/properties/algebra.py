"""Random plans over every operator, up to five deep."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from tests.properties.strategies import inputs, numbers, predicates, windows
from waterclock.expr.nodes import Expr, array, col, end, lit, start, uses_time
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
from waterclock.reference import Event
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


@st.composite
def conditions(draw: st.DrawFn, node: Node) -> Expr:
    """A part of a predicate: over any columns, over two of them, over time, or over nothing."""
    names = [name for name, kind in node.schema if kind in ORDERED]
    if not names:
        return draw(predicates(node))
    one = draw(st.sampled_from(names))
    kind = node.schema.type_of(one)
    match draw(st.integers(0, 7)):
        case 0:
            return draw(predicates(node))
        case 1:
            alike = [name for name, other in node.schema if other == kind]
            return draw(st.sampled_from([col(one) == col(draw(st.sampled_from(alike))), col(one).is_null()]))
        case 2:
            return start().unix_micros() + draw(st.integers(-5, 5)) > 0
        case 3:
            truth = draw(st.sampled_from([lit(True), lit(2) > 1, lit(None).is_null(), lit(1) > 2]))
            return draw(st.sampled_from([truth, truth | col(one).is_null(), truth & col(one).is_not_null()]))
        case 4:
            return col(one).is_not_null()
    if kind == "string":
        return draw(st.sampled_from([col(one) == "a", col(one).is_in(["a", "ä"]), col(one) != ""]))
    if kind == "boolean":
        return col(one)
    return draw(st.sampled_from([col(one) > draw(st.integers(-3, 3)), col(one) + (lit(1) + 1) != 3]))


@st.composite
def dressed(draw: st.DrawFn, node: Node) -> Node:
    """Filters and projects on top of a plan, which rename, narrow and compute."""
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            some = draw(st.lists(conditions(node), min_size=1, max_size=3))
            predicate = some[0]
            for other in some[1:]:
                predicate = predicate & other
            node = Filter(node, predicate)
        else:
            kept = draw(st.lists(st.sampled_from(node.schema.names), min_size=1, max_size=4, unique=True))
            columns: dict[str, Expr] = {draw(st.sampled_from([name, f"{name}_"])): col(name) for name in kept}
            if draw(st.booleans()):
                columns["calculated"] = draw(numbers(node)) + (lit(1) + 2)
            node = Project(node, tuple(columns.items()))
    return node


@st.composite
def queries(draw: st.DrawFn, points: bool = False) -> Node:
    """Plans with filters and projects above joins and aggregates, for rules to move."""
    parts = []
    for _ in range(2):
        node = draw(algebra(points, draw(st.integers(0, 1))))
        parts.append(_short(draw(dressed(node)) if draw(st.booleans()) else node))
    for _ in range(draw(st.integers(1, 2))):
        operator = draw(st.sampled_from((*STATEFUL, *STATEFUL, *STATELESS)))
        parts[0] = _short(draw(dressed(draw(over(operator, *parts)))))
        if draw(st.integers(0, 3)) == 0:
            parts[1] = parts[0]
    return parts[0]


# -- plans for rules of the optimizer ----------------------------------------------------------------------

_LIFETIMES = ("shift", "set_duration", "extend", "clip_duration", "chop", "point_at_end")


@st.composite
def dense(draw: st.DrawFn) -> Event:
    """Events that meet: few keys, few values, little time."""
    vs = draw(st.integers(0, 8))
    ve = draw(st.one_of(st.integers(vs + 1, vs + 9), st.integers(vs + 1, vs + 9), st.just(FOREVER)))
    x, y = draw(st.sampled_from([None, -1, 0, 1, 2])), draw(st.sampled_from([None, 0.5, 2.0]))
    return vs, ve, {"t": vs, "e": None if ve == FOREVER else ve, "k": draw(st.sampled_from("ab")), "x": x, "y": y}


@st.composite
def operands(draw: st.DrawFn, finite: bool) -> Node:
    """An input with few columns, of events that end or of any."""
    source = draw(st.sampled_from(inputs(points=False)))
    kept = draw(st.sampled_from([["k", "x"], ["k", "x", "y"], ["x", "k"]]))
    node: Node = Project(source, tuple((name, col(name)) for name in kept))
    match draw(st.integers(0, 5)):
        case 0:
            node = Filter(node, draw(conditions(node)))
        case 1:
            node = SnapshotAggregate(
                ClipDuration(node, 4), (), (("n", Aggregate("count")), ("x", Aggregate("max", col("x"))))
            )
    return ClipDuration(node, 6) if finite else node


@st.composite
def choices(draw: st.DrawFn, node: Node) -> Expr:
    """Conditions, joined by AND and OR."""
    found = draw(conditions(node))
    for _ in range(draw(st.integers(0, 2))):
        other = draw(conditions(node))
        found = draw(st.sampled_from([found & other, found & other, found | other]))
    return found


@st.composite
def focused(draw: st.DrawFn, operator: str) -> Node:
    """A filter and a choice of columns right above an operator, or another change of lifetimes."""
    finite = draw(st.booleans())
    node = draw(over(operator, draw(operands(finite)), draw(operands(finite))))
    if isinstance(node, Join) and draw(st.booleans()):
        pair = replace(node, kind="inner", residual=None)
        condition = draw(choices(pair))
        node = replace(node, residual=None if uses_time(condition) else condition)
    for _ in range(draw(st.integers(0, 2)) if operator in _LIFETIMES else 0):
        node = draw(lifetimes(draw(st.sampled_from(_LIFETIMES)), node))
    if draw(st.integers(0, 3)):
        node = Filter(node, draw(choices(node)))
    if draw(st.booleans()):
        kept = draw(st.lists(st.sampled_from(node.schema.names), min_size=1, max_size=2, unique=True))
        node = Project(node, tuple((name, col(name)) for name in kept))
    return node


@st.composite
def chains(draw: st.DrawFn) -> Node:
    """Changes of lifetimes on top of each other, and unions of them."""
    node = draw(st.sampled_from(inputs(points=False)))
    for _ in range(draw(st.integers(2, 4))):
        node = draw(lifetimes(draw(st.sampled_from(_LIFETIMES)), node))
        if draw(st.integers(0, 5)) == 0:
            node = Union((node, draw(st.sampled_from(inputs(points=False)))))
    return node


@st.composite
def picked(draw: st.DrawFn) -> Node:
    """Some groups of what is grouped: by a key, by a value that is no key, or by columns that are left."""
    operator = draw(st.sampled_from(["window", "snapshot", "session", "count", "top", "session_lifetime", "stitch",
                                     "distinct"]))  # fmt: skip
    source = Project(inputs(points=False)[0], (("k", col("k")), ("x", col("x"))))
    below: Node = ClipDuration(source, 4) if draw(st.booleans()) else source
    node = draw(over(operator, below, below))
    by = [name for name in ("k", "x") if name in node.schema]
    if by and draw(st.integers(0, 3)):
        name = draw(st.sampled_from(by))
        node = Filter(node, col(name) == "a" if name == "k" else col(name) > 0)
    return Project(node, ((node.schema.names[-1], col(node.schema.names[-1])),)) if draw(st.booleans()) else node
