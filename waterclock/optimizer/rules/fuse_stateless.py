"""Neighbouring filters, projects and unions become one; projects that change nothing go."""

from __future__ import annotations

from collections import Counter

from waterclock.expr.nodes import Cast, Column, Expr
from waterclock.expr.rewrite import conjunction, conjuncts, every_part, has_user_code, parts, substituted
from waterclock.optimizer.rules.base import Rule
from waterclock.plan import Filter, Node, Project, Union
from waterclock.plan.rebuild import bottom_up


def rewrite(root: Node) -> Node:
    return bottom_up(root, _fused)


def _fused(node: Node) -> Node:
    if isinstance(node, Filter) and isinstance(node.input, Filter):
        # In one condition all parts see all rows: user code must not see those that a filter before it drops.
        if has_user_code(node.predicate):
            return node
        inner = node.input
        return Filter(inner.input, conjunction([*conjuncts(inner.predicate), *conjuncts(node.predicate)]))
    if isinstance(node, Project):
        return _fused_project(node)
    if isinstance(node, Union):
        return _flat(node)
    return node


def _fused_project(node: Project) -> Node:
    below = node.input
    if is_identity(node):
        return below
    if isinstance(below, Project):
        wanted = Counter(part.name for _, expr in node.columns for part in every_part(expr) if isinstance(part, Column))
        if all(wanted[name] <= 1 or not parts(expr) for name, expr in below.columns):
            given = given_by(below)
            return _fused_project(
                Project(below.input, tuple((name, substituted(expr, given)) for name, expr in node.columns))
            )
    return node


def _flat(node: Union) -> Node:
    branches: list[Node] = []
    for branch in node.branches:
        branches += branch.branches if isinstance(branch, Union) else (branch,)
    if len(branches) == 1:
        return branches[0]
    return node if len(branches) == len(node.branches) else Union(tuple(branches))


def is_identity(node: Project) -> bool:
    """Whether it gives every column under its own name, in the same order."""
    same = [isinstance(expr, Column) and expr.name == name for name, expr in node.columns]
    return all(same) and [name for name, _ in node.columns] == node.input.schema.names


def given_by(node: Project) -> dict[str, Expr]:
    """The expression of each column, of exactly the column's type (a bare null is a string there)."""
    return {
        name: Cast(expr, "string") if expr.type_in(node.input.schema) == "null" else expr for name, expr in node.columns
    }


RULE = Rule("fuse_stateless", "One pass over the events instead of several.", rewrite)
