"""Aggregate functions as Spark SQL.

Arguments are columns ``_a0``, ``_a1``, ... of the rows that are grouped, null where the aggregate's condition does not
hold; ``_s`` is the start of each event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from waterclock.batch.expressions import big, quoted, text, to_sql, user_name
from waterclock.expr.functions.base import widened
from waterclock.plan.aggregate import Aggregate, Aggregation
from waterclock.plan.user import UserAggregate
from waterclock.schema import VS

OVERFLOW = "waterclock sum overflow: "
_LOW = big(2**32 - 1)


def arguments(node: Aggregation) -> str:
    """The columns that the aggregates need, each with a comma in front."""
    found = [f", {VS} AS _s"]
    schema = node.input.schema
    for index, (_, aggregate) in enumerate(node.aggregates):
        if aggregate.arg is None:
            value = "1"
        else:
            value = widened(to_sql(aggregate.arg, schema), aggregate.arg.type_in(schema), _kind(aggregate, node))
        if aggregate.where is not None:
            condition = widened(to_sql(aggregate.where, schema), aggregate.where.type_in(schema), "boolean")
            value = f"CASE WHEN {condition} THEN {value} END"
        found.append(f", {value} AS _a{index}")
    return "".join(found)


def grouped(node: Aggregation, columns: str, rows: str, by: str) -> str:
    """``columns`` of each group and the values of the aggregates.

    In two steps, so that a result that needs a list of values several times has it made once.
    """
    folds, finals = [], []
    for index, (name, aggregate) in enumerate(node.aggregates):
        rule = _of_user if isinstance(aggregate, UserAggregate) else _FUNCTIONS[aggregate.function]
        function = rule(f"_a{index}", aggregate, _kind(aggregate, node))
        folds += [f", {fold} AS _f{index}{part}" for part, fold in function.folds.items()]
        final = function.final.format(**{part: f"_f{index}{part}" for part in function.folds})
        finals.append(f", CAST({final} AS {node.schema.type_of(name)}) AS {quoted(name)}")
    return f"SELECT *{''.join(finals)} FROM (SELECT {columns}{''.join(folds)} FROM ({rows}) GROUP BY {by})"


@dataclass(frozen=True)
class Function:
    folds: dict[str, str]
    """Aggregates of SQL."""
    final: str
    """The value, with folds in braces."""


def _kind(aggregate: Aggregate, node: Aggregation) -> str:
    if aggregate.arg is None:
        return "int"
    kind = aggregate.arg.type_in(node.input.schema)
    return "string" if kind == "null" else kind


def _halves(a: str) -> dict[str, str]:
    """The sum of bigints as ``high * 2**32 + low``, which cannot overflow."""
    return {"n": f"count({a})", "high": f"sum(shiftright({a}, 32))", "low": f"sum({a} & {_LOW})"}


_HIGH, _REST = "({high} + shiftright({low}, 32))", f"({{low}} & {_LOW})"


def _sum(a: str, aggregate: Aggregate, kind: str) -> Function:
    if kind != "bigint":
        return Function({"s": f"sum({a})" if kind == "int" else f"sum(CAST({a} AS double))"}, "{s}")
    return Function(
        _halves(a),
        f"CASE WHEN {{n}} = 0 THEN NULL WHEN {_HIGH} BETWEEN {-(2**31)} AND {2**31 - 1} "
        f"THEN shiftleft({_HIGH}, 32) | {_REST} ELSE raise_error({text(OVERFLOW + repr(aggregate))}) END",
    )


def _avg(a: str, aggregate: Aggregate, kind: str) -> Function:
    if kind != "bigint":
        return Function({"v": f"avg(CAST({a} AS double))"}, "{v}")
    total = f"(CAST({_HIGH} AS double) * CAST('{2**32}' AS double) + CAST({_REST} AS double))"
    return Function(_halves(a), f"{total} / {{n}}")


def _simple(call: str) -> Callable[[str, Aggregate, str], Function]:
    return lambda a, _, __: Function({"v": call.format(a=a)}, "{v}")


def _extreme(function: str) -> Callable[[str, Aggregate, str], Function]:
    """Of the events that start first or last, the least or the greatest value."""
    return _simple(f"{function}(CASE WHEN {{a}} IS NOT NULL THEN named_struct('s', _s, 'a', {{a}}) END).a")


def _values(a: str) -> dict[str, str]:
    return {"v": f"sort_array(collect_list({a}))"}


def _percentile_disc(a: str, aggregate: Aggregate, kind: str) -> Function:
    place = f"greatest(CAST(ceil({_fraction(aggregate)} * size({{v}})) AS int), 1)"
    return Function(_values(a), f"try_element_at({{v}}, {place})")


def _percentile_cont(a: str, aggregate: Aggregate, kind: str) -> Function:
    rank = f"({_fraction(aggregate)} * (size({{v}}) - 1))"
    low, high = (
        f"CAST(try_element_at({{v}}, CAST({side}({rank}) AS int) + 1) AS double)" for side in ("floor", "ceil")
    )
    between = f"{low} + ({high} - {low}) * ({rank} - floor({rank}))"
    final = f"CASE WHEN size({{v}}) = 0 THEN NULL WHEN {low} = {high} THEN {low} ELSE {between} END"
    return Function(_values(a), final)


def _fraction(aggregate: Aggregate) -> str:
    return f"CAST('{float(aggregate.param or 0)!r}' AS double)"


def _top_k(a: str, aggregate: Aggregate, kind: str) -> Function:
    """Those that are not less than the k-th greatest."""
    least = f"try_element_at({{v}}, {aggregate.param})"
    final = f"IF(size({{v}}) <= {aggregate.param}, {{v}}, filter({{v}}, _v -> _v >= {least}))"
    return Function({"v": f"sort_array(collect_list({a}), false)"}, final)


def _approx_count_distinct(a: str, aggregate: Aggregate, kind: str) -> Function:
    """Within 1.6 %. Spark's own function, that precise, would have a thousand columns for its registers."""
    sketch = f"hll_sketch_agg(CASE WHEN {a} IS NOT NULL THEN xxhash64({a}) END, 12)"
    return Function({"v": sketch}, "coalesce(hll_sketch_estimate({v}), 0L)")


def _of_user(a: str, aggregate: Aggregate, kind: str) -> Function:
    """All values of a group, given to the user's algebra as a list."""
    assert isinstance(aggregate, UserAggregate)
    assert aggregate.algebra is not None
    values = f"collect_list(named_struct('_s', _s, '_a', {a}))"
    return Function({"v": values}, f"{user_name(aggregate.algebra.label)}({{v}})")


_FUNCTIONS: dict[str, Callable[[str, Aggregate, str], Function]] = {
    "count": _simple("count({a})"),
    "count_distinct": _simple("count(DISTINCT {a})"),
    "approx_count_distinct": _approx_count_distinct,
    "sum": _sum,
    "avg": _avg,
    "min": _simple("min({a})"),
    "max": _simple("max({a})"),
    "variance": _simple("var_samp(CAST({a} AS double))"),
    "stddev": _simple("stddev_samp(CAST({a} AS double))"),
    "var_pop": _simple("var_pop(CAST({a} AS double))"),
    "stddev_pop": _simple("stddev_pop(CAST({a} AS double))"),
    "first": _extreme("min"),
    "last": _extreme("max"),
    "percentile_disc": _percentile_disc,
    "percentile_cont": _percentile_cont,
    "top_k": _top_k,
    "collect_list": lambda a, _, __: Function(_values(a), "{v}"),
}
