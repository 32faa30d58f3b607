"""Refuses plans that would remember for ever or wait for ever: events that never end, where an end is needed."""

from __future__ import annotations

from waterclock.errors import ConfigError
from waterclock.plan import (
    Chop,
    CountAggregate,
    Distinct,
    Input,
    Join,
    Node,
    SnapshotAggregate,
    Stitch,
    TopK,
    WindowAggregate,
    explain,
)


def check_bounds(node: Node) -> None:
    """Raises at the first node, from the inputs up, whose state or output has no bound."""
    for child in node.inputs:
        check_bounds(child)
    problem = _problem(node)
    if problem is not None:
        raise ConfigError(problem, what=f"“{node.label}”", place=explain(node))


def _problem(node: Node) -> str | None:
    if isinstance(node, Join):
        return _join(node)
    if not any(child.endless for child in node.inputs):
        return None
    if isinstance(node, SnapshotAggregate | Distinct | Stitch):
        return "PLAN.STUCK"
    if isinstance(node, TopK):
        return "PLAN.STUCK" if node.window is None else "PLAN.UNBOUNDED"
    return "PLAN.UNBOUNDED" if isinstance(node, WindowAggregate | CountAggregate | Chop) else None


def _join(node: Join) -> str | None:
    left, right = node.left, node.right
    if node.kind == "clip":
        return "PLAN.STUCK" if is_static(left) else None  # a signal waits for its next value: that is its use
    if node.kind == "full" and (left.endless or right.endless):
        return "PLAN.STUCK"
    if left.endless and node.kind != "inner":
        return "PLAN.STUCK"
    return "PLAN.UNBOUNDED" if any(side.endless and not is_static(side) for side in (left, right)) else None


def is_static(node: Node) -> bool:
    """Made of tables alone: it never ends, but it does not grow."""
    if isinstance(node, Input):
        return node.static
    return bool(node.inputs) and all(is_static(child) for child in node.inputs)
