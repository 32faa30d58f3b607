"""The operators of the case file as plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from waterclock.conformance.expressions import BadCase, aggregates, expression
from waterclock.expr.nodes import Expr, col, end, lit, start, when
from waterclock.plan import (
    AlterLifetime,
    Chop,
    ClipDuration,
    CountAggregate,
    Distinct,
    Explode,
    Extend,
    Filter,
    HopLifetime,
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
    Window,
    WindowAggregate,
)
from waterclock.plan.join import ONE_SIDED
from waterclock.time import FOREVER

JOINS = {
    "join": "inner",
    "inner_join": "inner",
    "left_semi_join": "semi",
    "left_anti_join": "anti",
    "left_outer_join": "left",
    "full_outer_join": "full",
    "clip_join": "clip",
}
BINARY = (*JOINS, "union")


class Params:
    """The parameters of an operator; what was given and not asked for is an error."""

    def __init__(self, operator: str, given: Mapping[str, Any]) -> None:
        self._operator = operator
        self._given = dict(given)

    def __contains__(self, name: str) -> bool:
        return self._given.get(name) is not None

    def take(self, name: str, default: Any = None) -> Any:
        found = self._given.pop(name, None)
        return default if found is None else found

    def need(self, name: str) -> Any:
        if name not in self:
            raise BadCase(f"{self._operator} needs {name!r}")
        return self._given.pop(name)

    def names(self, name: str) -> tuple[str, ...]:
        found = self.take(name, [])
        return (found,) if isinstance(found, str) else tuple(found)

    def done(self) -> None:
        if rest := [name for name, value in self._given.items() if value is not None]:
            raise BadCase(f"{self._operator} has no parameter {', '.join(map(repr, rest))}")


def build(operator: str, given: Mapping[str, Any], sides: list[Node]) -> Node:
    """The plan of one operator over its inputs."""
    if operator == "pipeline":
        return _pipeline(given, sides)
    params = Params(operator, given)
    if operator == "union":
        node: Node = Union(tuple(sides))
    elif operator in JOINS and len(sides) == 2:
        node = _join(JOINS[operator], params, *sides)
    elif operator in UNARY and len(sides) == 1:
        node = UNARY[operator](params, sides[0])
    elif operator in UNARY or operator in JOINS:
        raise BadCase(f"{operator} over {len(sides)} inputs")
    else:
        raise BadCase(f"unknown operator {operator!r}")
    params.done()
    return node


def _pipeline(given: Mapping[str, Any], sides: list[Node]) -> Node:
    """Steps in order. A binary step joins what there is with the next input, or with the one there is."""
    node, others = sides[0], sides[1:]
    for step in given["steps"]:
        params = dict(step)
        operator = params.pop("op")
        if operator in BINARY:
            node = build(operator, params, [node, others.pop(0) if others else sides[0]])
        else:
            node = build(operator, params, [node])
    return node


# -- one input ---------------------------------------------------------------------------------------------


def _filter(params: Params, node: Node) -> Node:
    return Filter(node, expression(params.need("predicate"), node.schema))


def _project(params: Params, node: Node) -> Node:
    fields = params.need("fields")
    if isinstance(fields, list):
        fields = {name: name for name in fields}
    return Project(node, tuple((name, expression(tree, node.schema)) for name, tree in fields.items()))


def _select_many(params: Params, node: Node) -> Node:
    field = params.need("field")
    return Explode(node, params.take("as", field), col(field))


def _time(node: Node, tree: Any) -> Expr:
    """An expression in which ``vs`` and ``ve`` stand for the lifetime, unless they are fields."""
    times = {"vs": start().unix_micros(), "ve": end().unix_micros()}

    def field(name: str) -> Expr:
        return times[name] if name in times and name not in node.schema else col(name)

    return expression(tree, node.schema, field)


def _duration(params: Params, node: Node) -> int | Expr:
    if "duration_expr" in params:
        return _time(node, params.need("duration_expr"))
    duration = params.need("duration")
    if not isinstance(duration, int | float | str):
        return _time(node, duration)
    duration = time_of(duration)
    return duration if duration > 0 else lit(duration)


def _set_duration(params: Params, node: Node) -> Node:
    return SetDuration(node, _duration(params, node))


def _alter(params: Params, node: Node) -> Node:
    begin = _time(node, params.need("start_expr" if "start_expr" in params else "vs_expr"))
    duration = _duration(params, node)
    if isinstance(duration, int):
        duration = lit(None).cast("bigint") if duration == FOREVER else lit(duration)
    return AlterLifetime(node, begin, duration)


def _quantize(params: Params, node: Node) -> Node:
    width = params.need("width")
    return Quantize(node, width, params.take("hop", width), params.take("offset", 0), params.take("progress"))


def _hop_lifetime(params: Params, node: Node) -> Node:
    width = params.need("width")
    return HopLifetime(node, width, params.take("hop", width), params.take("offset", 0))


def _session_lifetime(params: Params, node: Node) -> Node:
    return SessionLifetime(node, params.names("group_by"), params.need("timeout"), params.take("max_duration"))


def _stitch(params: Params, node: Node) -> Node:
    params.names("group_by")  # keys are part of the payload
    return Stitch(node)


def _distinct(params: Params, node: Node) -> Node:
    fields = params.names("fields")
    return Distinct(Project(node, tuple((name, col(name)) for name in fields)) if fields else node)


def _window(params: Params, hopping: bool) -> Window:
    width = params.need("width")
    hop = params.take("hop", width) if hopping else width
    result = params.take("output", "window" if hop == width else "hold")
    return Window(width, hop, params.take("offset", 0), result)


def _fixed(hopping: bool) -> Callable[[Params, Node], Node]:
    def made(params: Params, node: Node) -> Node:
        return WindowAggregate(node, *_group(params, node), _window(params, hopping))

    return made


def _group(params: Params, node: Node) -> tuple[tuple[str, ...], Any]:
    return params.names("group_by"), aggregates(params.need("aggs"), node.schema)


def _snapshot(params: Params, node: Node) -> Node:
    return SnapshotAggregate(node, *_group(params, node), params.take("output", "window"))


def _session(params: Params, node: Node) -> Node:
    timeout, maximum = params.need("timeout"), params.take("max_duration")
    return SessionAggregate(node, *_group(params, node), timeout, maximum, params.take("output", "window"))


def _count(params: Params, node: Node) -> Node:
    return CountAggregate(node, *_group(params, node), params.need("n"), params.take("output", "point_end"))


def _top_k(params: Params, node: Node) -> Node:
    by = expression(params.need("by"), node.schema)
    rank = params.take("with_rank", False)
    name = rank if isinstance(rank, str) else "rank" if rank else None
    window = _window(params, hopping=True) if "width" in params else None
    return TopK(
        node, params.names("group_by"), by, params.need("k"), params.take("descending", True), name, window
    )  # fmt: skip


UNARY: dict[str, Callable[[Params, Node], Node]] = {
    "filter": _filter,
    "project": _project,
    "select_many": _select_many,
    "shift": lambda params, node: Shift(node, params.need("by")),
    "set_duration": _set_duration,
    "alter_lifetime": _alter,
    "extend_lifetime": lambda params, node: Extend(node, params.need("by")),
    "clip_duration": lambda params, node: ClipDuration(node, params.need("limit")),
    "point_at_end": lambda params, node: PointAtEnd(node),
    "quantize_lifetime": _quantize,
    "hop_lifetime": _hop_lifetime,
    "session_lifetime": _session_lifetime,
    "chop": lambda params, node: Chop(node, params.need("period"), params.take("offset", 0)),
    "stitch": _stitch,
    "distinct": _distinct,
    "snapshot_aggregate": _snapshot,
    "snapshot_topk": _top_k,
    "hopping_aggregate": _fixed(hopping=True),
    "tumbling_aggregate": _fixed(hopping=False),
    "session_aggregate": _session,
    "count_window_aggregate": _count,
    "ingress": lambda params, node: node,
}


def time_of(value: Any) -> int:
    """A time or duration of the file; ``"inf"`` has no end."""
    if value == "inf":
        return FOREVER
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadCase(f"{value!r} is no time")
    return value


# -- joins -------------------------------------------------------------------------------------------------


def _join(kind: str, params: Params, left: Node, right: Node) -> Node:
    """Columns of the right get names of their own; marks tell rows with both sides from those with one."""
    keys = params.names("left_key"), params.names("right_key")
    plain_left, plain_right = list(left.schema.names), list(right.schema.names)
    left_mark, right_mark = _free("left_there", plain_left), _free("right_there", plain_right)
    if kind in ("left", "full"):
        left, right = _marked(left, left_mark), _marked(right, right_mark)
    names: dict[str, str] = {}
    for column in right.schema.names:
        names[column] = _free(f"right_{column}", [*left.schema.names, *names.values()])

    def field(name: str) -> Expr:
        side, _, column = name.partition(".")
        if side == "left" and column in plain_left:
            return col(column)
        if side == "right" and column in plain_right:
            return col(names[column])
        raise BadCase(f"there is no field {name!r}")

    residual = params.take("residual")
    schema = Join(kind, left, right, *keys, tuple(names.items())).pair_schema
    condition = None if residual is None else expression(residual, schema, field)
    joined = Join(kind, left, right, *keys, tuple(names.items()), condition)
    if kind in ONE_SIDED:
        chosen = params.take("select")
        if chosen is None:
            return joined
        return Project(joined, tuple((name, expression(tree, schema, field)) for name, tree in chosen.items()))
    default = {name: f"left.{name}" for name in plain_left}
    default |= {name: f"right.{name}" for name in plain_right if name not in default}
    both = params.take("select", default)
    only_left = params.take("outer_select", both) if kind in ("left", "full") else both
    only_right = params.take("right_outer_select", both) if kind == "full" else both
    columns: list[tuple[str, Expr]] = []
    for name, tree in both.items():
        value = expression(tree, schema, field)
        if kind in ("left", "full"):
            if name not in only_left or name not in only_right:
                raise BadCase(f"the field {name!r} is selected of pairs alone")
            value = (
                when(col(names[right_mark]).is_null(), expression(only_left[name], schema, field))
                .when(col(left_mark).is_null(), expression(only_right[name], schema, field))
                .otherwise(value)
            )
        columns.append((name, value))
    return Project(joined, tuple(columns))


def _free(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _marked(node: Node, mark: str) -> Node:
    return Project(node, (*((name, col(name)) for name in node.schema.names), (mark, lit(True))))
