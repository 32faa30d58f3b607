"""Aggregate calls: ``COUNT(*)``, ``SUM(x) FILTER (WHERE y)``, ``COUNT(DISTINCT x)``, percentiles."""

from __future__ import annotations

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr, Literal
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind.constants import count
from waterclock.lang.sql.bind.scalars import Scalars, Typed
from waterclock.lang.sql.functions import Aggregating, resolve
from waterclock.plan import Aggregate
from waterclock.plan.aggregate import AGGREGATES
from waterclock.schema import Schema
from waterclock.usercode.registry import Registered

_PERCENTILES = ("percentile_cont", "percentile_disc")
_OF_DISTINCT = ("COUNT", "MIN", "MAX")
"""What takes DISTINCT."""


class Inside(Scalars):
    """Binds the arguments of an aggregate, which cannot hold another one."""

    def aggregate(self, node: tree.Call) -> Typed:
        raise self.context.error("SQL.NESTED_AGGREGATE", node.span)


def is_aggregate(node: tree.Tree) -> bool:
    return isinstance(node, tree.Call) and isinstance(resolve(node.name.text), Aggregating)


def aggregate_of(inside: Inside, node: tree.Call) -> Aggregate:
    resolved = resolve(node.name.text)
    assert isinstance(resolved, Aggregating)
    name, function = node.name.text, resolved.function
    where = None if node.where is None else _where(inside, node.where)
    if node.distinct and name.upper() not in _OF_DISTINCT:
        raise inside.context.unsupported(node.span, f"{name.upper()}(DISTINCT ...)", _instead_of_distinct(inside, node))
    if resolved.user is not None:
        found = _user(inside, node, resolved.user, where)
    elif name.lower() == "count_if":
        (condition,) = _arguments(inside, node, 1, "COUNT_IF(condition)")
        found = Aggregate("count", None, _both(inside, condition, where, node))
    elif function == "count":
        found = _count(inside, node, where)
    elif function in _PERCENTILES:
        found = _percentile(inside, node, function, where)
    else:
        usage = f"{name.upper()}(x, 3)" if function == "top_k" else f"{name.upper()}(x)"
        args = _arguments(inside, node, 2 if function == "top_k" else 1, usage)
        k = count(inside.context, args[1], "The k of TOP_K") if function == "top_k" else None
        found = Aggregate(function, inside.value(args[0]).expr, where, k)
    if node.within is not None and function not in _PERCENTILES:
        raise inside.context.unsupported(node.within.span, f"WITHIN GROUP in {name.upper()}", "Leave it out.")
    return found


def _instead_of_distinct(inside: Inside, node: tree.Call) -> str:
    # SELECT DISTINCT is no help: it works per instant, and a window would count its pieces.
    arg = next(iter(node.args), node)
    text = inside.context.source.slice(arg.span)
    value, name = (text, text) if isinstance(arg, tree.Name) else (f"{text} AS v", "v")
    return (
        "First group by the values (and the keys) over the same window, then aggregate at every moment: each = SELECT "
        f"{value} FROM ... GROUP BY {name} WITH TUMBLING(10s); SELECT {node.name.text.upper()}({name}) FROM each WITH "
        "SNAPSHOT. Not for SESSION and COUNT: a value alone has other windows. COUNT, MIN and MAX take DISTINCT."
    )


def _user(inside: Inside, node: tree.Call, user: Registered, where: Expr | None) -> Aggregate:
    """Of the first argument; the others are constants that it is made with."""
    bound = [inside.value(arg).expr for arg in inside.plain(node)]
    fixed = [arg.value for arg in bound[1:] if isinstance(arg, Literal)]
    if not bound or len(fixed) < len(bound) - 1:
        raise inside.wrong_arguments(node, f"{node.name.text}(x), behind x constants only")
    try:
        found: Aggregate = user(bound[0], *fixed, where=where)
    except ConfigError as error:
        if error.code != "USER.BAD_ARGUMENTS":
            raise inside.context.error(error.code, node.span, **error.values) from None
        raise inside.wrong_arguments(node, f"{node.name.text} as it is written in Python ({error.message})") from None
    return found


def type_of(inside: Inside, node: tree.Call, aggregate: Aggregate, schema: Schema) -> str:
    try:
        return aggregate.type_in(schema)
    except ConfigError:
        assert aggregate.arg is not None
        takes, types = AGGREGATES.get(aggregate.function, "other values"), aggregate.arg.type_in(schema)
        fix = " Convert with CAST(x AS DOUBLE)."
        what = node.name.text.upper()
        raise inside.context.error("SQL.WRONG_TYPE", node.span, what=what, types=types, takes=takes, fix=fix) from None


def _count(inside: Inside, node: tree.Call, where: Expr | None) -> Aggregate:
    if len(node.args) == 1 and isinstance(node.args[0], tree.Star):
        if node.distinct:
            raise inside.context.unsupported(node.span, "COUNT(DISTINCT *)", "Write COUNT(DISTINCT column).")
        return Aggregate("count", None, where)
    if node.distinct and len(node.args) > 1:
        fix = "Join them to one: COUNT(DISTINCT a || ',' || b)."
        raise inside.context.unsupported(node.span, "COUNT(DISTINCT ...) of several columns", fix)
    (arg,) = _arguments(inside, node, 1, "COUNT(*), COUNT(x) or COUNT(DISTINCT x)")
    return Aggregate("count_distinct" if node.distinct else "count", inside.value(arg).expr, where)


def _percentile(inside: Inside, node: tree.Call, function: str, where: Expr | None) -> Aggregate:
    name = node.name.text.upper()
    if name == "MEDIAN":
        (arg,) = _arguments(inside, node, 1, "MEDIAN(x)")
        return Aggregate(function, inside.value(arg).expr, where, 0.5)
    if node.within is not None:
        (share,) = _arguments(inside, node, 1, f"{name}(0.95) WITHIN GROUP (ORDER BY x)")
        if node.within.descending:
            raise inside.context.unsupported(node.within.span, "DESC in WITHIN GROUP", "Write 1 minus the fraction.")
        arg = node.within.by
    else:
        arg, share = _arguments(inside, node, 2, f"{name}(x, 0.95) or {name}(0.95) WITHIN GROUP (ORDER BY x)")
    return Aggregate(function, inside.value(arg).expr, where, _fraction(inside, share))


def _fraction(inside: Inside, node: tree.Expression) -> float:
    bound = inside.bind(node).expr
    value = bound.value if isinstance(bound, Literal) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        shown, fix = inside.context.source.slice(node.span), "It is a constant from 0 to 1, such as 0.95."
        raise inside.context.error("SQL.BAD_VALUE", node.span, what="The fraction", value=shown, fix=fix)
    return float(value)


def _arguments(inside: Inside, node: tree.Call, number: int, usage: str) -> list[tree.Expression]:
    args = inside.plain(node)
    if len(args) != number:
        raise inside.wrong_arguments(node, usage)
    return args


def _where(inside: Inside, node: tree.Expression) -> Expr:
    return Inside(inside.context, inside.rows, "FILTER").condition(node)


def _both(inside: Inside, condition: tree.Expression, where: Expr | None, node: tree.Call) -> Expr:
    found = Inside(inside.context, inside.rows, node.name.text.upper()).condition(condition)
    return found if where is None else found & where
