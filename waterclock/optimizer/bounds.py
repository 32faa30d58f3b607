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
    found = find_unbounded(node)
    if found is not None:
        problem, place = found
        raise ConfigError(problem, what=f"“{place.label}”", place=explain(place))


def find_unbounded(node: Node) -> tuple[str, Node] | None:
    """The first such node and its error, if there is one."""
    for child in node.inputs:
        found = find_unbounded(child)
        if found is not None:
            return found
    problem = problem_of(node)
    return None if problem is None else (problem, node)


def problem_of(node: Node) -> str | None:
    """What this node itself, over its inputs as they are, would do for ever."""
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
