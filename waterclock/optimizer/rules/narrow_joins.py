"""An outer join whose null-extended rows a filter drops anyway is a left or an inner join.

A left join is an inner join and rows that are null on the right; if the filter is never true for those, they need not
be made, and the join need not wait until it knows them. Of a full join the rows that are null on the left go likewise.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from waterclock.expr.nodes import Call, Cast, Column, Expr, Literal
from waterclock.optimizer.rules.base import Rule
from waterclock.plan import Filter, Join, Node
from waterclock.plan.rebuild import bottom_up

_STRICT = {"eq", "ne", "lt", "le", "gt", "ge", "not", "add", "subtract", "multiply", "divide", "div", "mod", "negate",
           "abs"}  # fmt: skip
"""They give null for a null."""


def rewrite(root: Node) -> Node:
    return bottom_up(root, _narrowed)


def _narrowed(node: Node) -> Node:
    if not isinstance(node, Filter) or not isinstance(node.input, Join):
        return node
    join = node.input
    if join.kind == "left" and drops(node.predicate, {name for _, name in join.names}):
        return replace(node, input=replace(join, kind="inner"))
    if join.kind == "full" and drops(node.predicate, set(join.left.schema.names)):
        return _narrowed(replace(node, input=replace(join, kind="left")))
    return node


def drops(predicate: Expr, columns: Set[str]) -> bool:
    """Whether a condition is never true where all these columns are null."""
    if is_null(predicate, columns):
        return True
    if not isinstance(predicate, Call):
        return False
    args = predicate.args
    if predicate.function == "and":
        return any(drops(arg, columns) for arg in args)
    if predicate.function == "or":
        return all(drops(arg, columns) for arg in args)
    if predicate.function == "not":
        inner = args[0]
        return isinstance(inner, Call) and inner.function == "is_null" and is_null(inner.args[0], columns)
    return predicate.function == "is_not_null" and is_null(args[0], columns)


def is_null(expr: Expr, columns: Set[str]) -> bool:
    """Whether an expression is certainly null where all these columns are."""
    if isinstance(expr, Column):
        return expr.name in columns
    if isinstance(expr, Literal):
        return expr.value is None
    if isinstance(expr, Cast):
        return is_null(expr.arg, columns)
    return isinstance(expr, Call) and expr.function in _STRICT and any(is_null(arg, columns) for arg in expr.args)


RULE = Rule("narrow_joins", "Rows that a filter drops are not made, and nothing waits for them.", rewrite)
