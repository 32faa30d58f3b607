"""What works event by event: filter, project, explode, union and changed lifetimes; and stitch."""

from __future__ import annotations

from waterclock.batch.expressions import big, names, quoted, to_sql, typed
from waterclock.batch.query import OPEN, Query, ceiling, floor, later, numbers, until
from waterclock.expr.nodes import Expr
from waterclock.plan.lifetime import (
    AlterLifetime,
    Chop,
    ClipDuration,
    Extend,
    HopLifetime,
    Lifetime,
    PointAtEnd,
    Quantize,
    SetDuration,
    Shift,
    Stitch,
)
from waterclock.plan.nodes import Explode, Filter, Project, Union
from waterclock.schema import VE, VS
from waterclock.time import FOREVER


def filtered(query: Query, node: Filter) -> str:
    predicate = typed(node.predicate, node.schema, "boolean")
    return f"SELECT * FROM {query.view(node.input)} WHERE {predicate}"


def projected(query: Query, node: Project) -> str:
    kinds = dict(node.schema)
    columns = "".join(
        f", {typed(expr, node.input.schema, kinds[name])} AS {quoted(name)}" for name, expr in node.columns
    )
    return f"SELECT {VS}, {VE}{columns} FROM {query.view(node.input)}"


def exploded(query: Query, node: Explode) -> str:
    array = f"explode({to_sql(node.array, node.input.schema)})"
    columns = "".join(
        f", {array if name == node.column else quoted(name)} AS {quoted(name)}" for name in node.schema.names
    )
    return f"SELECT {VS}, {VE}{columns} FROM {query.view(node.input)}"


def union(query: Query, node: Union) -> str:
    columns = f"{names(node.schema.names)}{VS}, {VE}"
    return " UNION ALL ".join(f"SELECT {columns} FROM {query.view(branch)}" for branch in node.branches)


# -- lifetimes ---------------------------------------------------------------------------------------------


def changed(query: Query, node: Lifetime) -> str:
    """A result that would end at or before its start is dropped."""
    start, end = _life(node)
    columns = names(node.schema.names)
    changed = f"SELECT {columns}{start} AS {VS}, {end} AS {VE} FROM {query.view(node.input)}"
    return f"SELECT * FROM ({changed}) WHERE {VS} < {VE}"


def _life(node: Lifetime) -> tuple[str, str]:
    if isinstance(node, Shift):
        return f"{VS} + {big(node.by)}", later(VE, node.by)
    if isinstance(node, SetDuration):
        if isinstance(node.duration, Expr):
            return VS, until(VS, _micros(node.duration, node))
        return VS, OPEN if node.duration == FOREVER else later(VS, node.duration)
    if isinstance(node, AlterLifetime):
        start = _micros(node.start, node)
        return start, until(start, _micros(node.duration, node))
    if isinstance(node, Extend):
        return VS, later(VE, node.by)
    if isinstance(node, ClipDuration):
        return VS, f"least({VE}, {later(VS, node.limit)})"
    if isinstance(node, PointAtEnd):
        return VE, later(VE, 1)  # an open end gives [∞, ∞), which is dropped
    if isinstance(node, Quantize):
        end = f"greatest({later(VE, node.hop - 1)}, {later(VS, node.width)})"
        whole = floor(end, node.hop, node.offset + node.width)
        return floor(VS, node.step, node.offset), f"CASE WHEN {VE} = {OPEN} THEN {OPEN} ELSE {whole} END"
    assert isinstance(node, HopLifetime)
    start = ceiling(VS, node.hop, node.offset)
    if node.width % node.hop == 0:
        return start, f"{start} + {big(node.width)}"
    return start, ceiling(f"({VS} + {big(node.width)})", node.hop, node.offset)


def _micros(expr: Expr, node: Lifetime) -> str:
    return typed(expr, node.input.schema, "bigint")


def chopped(query: Query, node: Chop) -> str:
    """Cut at the grid points inside; what never ends, as far as time has come, and the rest is one piece."""
    columns = names(node.schema.names)
    upto = VE
    if node.input.open_ended:
        rest = floor(query.top(node.input), node.period, node.offset)
        upto = f"CASE WHEN {VE} = {OPEN} THEN {rest} + {big(node.period)} + 1L ELSE {VE} END"
    grid = floor(VS, node.period, node.offset)
    source = f"SELECT *, {grid} AS _g, {upto} AS _to FROM {query.view(node.input)}"
    last = f"(_to - 1L - _g) div {big(node.period)}"
    pieces = f"SELECT *, {last} AS _last, {numbers('0L', last)} AS _p FROM ({source})"
    border = f"_g + _p * {big(node.period)}"
    end = f"IF(_p = _last, {VE}, {border} + {big(node.period)})"
    return f"SELECT {columns}greatest({VS}, {border}) AS {VS}, {end} AS {VE} FROM ({pieces})"


def stitched(query: Query, node: Stitch) -> str:
    """Ends and starts of equal payload at one instant cancel out; what is left is paired in order of time."""
    payload = [quoted(name) for name in node.schema.names]
    each = ", ".join(payload)
    borders = f"array(named_struct('_t', {VS}, '_d', 1), named_struct('_t', {VE}, '_d', -1))"
    moved = f"SELECT {each}, inline({borders}) FROM {query.view(node.input)}"
    net = f"SELECT {each}, _t, sum(_d) AS _n FROM ({moved}) GROUP BY {each}, _t HAVING sum(_d) <> 0"
    copies = f"SELECT {each}, _t, IF(_n > 0, 1, -1) AS _kind, explode(sequence(1L, abs(_n))) AS _copy FROM ({net})"
    order = f"PARTITION BY {each}, _kind ORDER BY _t, _copy"
    ranked = f"SELECT {each}, _t, _kind, row_number() OVER ({order}) AS _rank FROM ({copies})"
    ends = f"max(CASE WHEN _kind < 0 THEN _t END) AS {VE}"
    return f"SELECT {each}, min(CASE WHEN _kind > 0 THEN _t END) AS {VS}, {ends} FROM ({ranked}) GROUP BY {each}, _rank"


RULES = {
    Filter: filtered,
    Project: projected,
    Explode: exploded,
    Union: union,
    Shift: changed,
    SetDuration: changed,
    AlterLifetime: changed,
    Extend: changed,
    ClipDuration: changed,
    PointAtEnd: changed,
    Quantize: changed,
    HopLifetime: changed,
    Chop: chopped,
    Stitch: stitched,
}
