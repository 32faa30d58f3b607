"""Expressions of constants are computed once, and filters that keep everything go."""

from __future__ import annotations

from dataclasses import replace

from waterclock.expr.fold import folded, is_literal
from waterclock.expr.nodes import Expr
from waterclock.optimizer.rules.base import Rule
from waterclock.plan import Aggregate, Aggregation, Explode, Filter, Join, Node, Project, SetDuration, TopK
from waterclock.plan.rebuild import bottom_up
from waterclock.schema import Schema


def rewrite(root: Node) -> Node:
    return bottom_up(root, _folded)


def _folded(node: Node) -> Node:
    if isinstance(node, Filter):
        predicate = folded(node.predicate, node.input.schema)
        if is_literal(predicate, True):
            return node.input
        return node if predicate is node.predicate else replace(node, predicate=predicate)
    if isinstance(node, Join):
        residual = _optional(node.residual, node.pair_schema) if node.residual is not None else None
        if residual is not None and is_literal(residual, True):
            residual = None
        return node if residual is node.residual else replace(node, residual=residual)
    if isinstance(node, Project):
        columns = tuple((name, folded(expr, node.input.schema)) for name, expr in node.columns)
        return node if _same(columns, node.columns) else replace(node, columns=columns)
    if isinstance(node, Aggregation):
        aggregates = tuple((name, _aggregate(one, node.input.schema)) for name, one in node.aggregates)
        return node if _same(aggregates, node.aggregates) else replace(node, aggregates=aggregates)
    if isinstance(node, Explode):
        array = folded(node.array, node.input.schema)
        return node if array is node.array else replace(node, array=array)
    if isinstance(node, TopK):
        by = folded(node.by, node.input.schema)
        return node if by is node.by else replace(node, by=by)
    if isinstance(node, SetDuration) and isinstance(node.duration, Expr):
        duration = folded(node.duration, node.input.schema)
        return node if duration is node.duration else replace(node, duration=duration)
    return node


def _aggregate(aggregate: Aggregate, schema: Schema) -> Aggregate:
    arg, where = _optional(aggregate.arg, schema), _optional(aggregate.where, schema)
    return aggregate if arg is aggregate.arg and where is aggregate.where else replace(aggregate, arg=arg, where=where)


def _optional(expr: Expr | None, schema: Schema) -> Expr | None:
    return None if expr is None else folded(expr, schema)


def _same(new: tuple[tuple[str, object], ...], old: tuple[tuple[str, object], ...]) -> bool:
    return all(one is other for (_, one), (_, other) in zip(new, old, strict=True))


RULE = Rule("fold_constants", "What follows from constants is computed once and not for every event.", rewrite)
