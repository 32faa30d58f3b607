"""Equal sub-plans become one object, so that whoever walks the plan meets them once."""

from __future__ import annotations

from waterclock.optimizer.rules.base import Rule
from waterclock.plan.nodes import Node
from waterclock.plan.rebuild import bottom_up
from waterclock.schema import Schema


def rewrite(root: Node) -> Node:
    known: dict[tuple[str, Schema], Node] = {}
    return bottom_up(root, lambda node: known.setdefault((node.identity, node.schema), node))


RULE = Rule("merge_equal", "What is written twice is computed once.", rewrite)
