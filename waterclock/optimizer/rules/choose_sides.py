"""The right side of a join without keys is sent to every task, so the smaller side should be there."""

from __future__ import annotations

from waterclock.expr.nodes import col
from waterclock.optimizer.bounds import is_static
from waterclock.optimizer.rules.base import Rule
from waterclock.plan import Aggregation, Join, Node, Project
from waterclock.plan.rebuild import bottom_up


def rewrite(root: Node) -> Node:
    return bottom_up(root, _swapped)


def _swapped(node: Node) -> Node:
    if not isinstance(node, Join) or node.kind != "inner" or node.left_keys or not node.names:
        return node
    if _size(node.left) >= _size(node.right):
        return node
    named = Project(node.right, tuple((name, col(source)) for source, name in node.names))
    kept = node.left.schema.names
    swapped = Join("inner", named, node.left, (), (), tuple((name, name) for name in kept), node.residual)
    return Project(swapped, tuple((name, col(name)) for name in node.schema.names))


def _size(node: Node) -> int:
    """Tables before one row per window or snapshot before streams."""
    if is_static(node):
        return 0
    while len(node.inputs) == 1 and node.stateless:
        (node,) = node.inputs
    return 1 if isinstance(node, Aggregation) and not node.keys else 2


RULE = Rule("choose_sides", "Of a join without keys the smaller side is sent to every task.", rewrite)
