"""A plan as an indented tree, inputs below their consumer."""

from __future__ import annotations

from waterclock.plan.nodes import Node


def explain(node: Node) -> str:
    lines: list[str] = []

    def walk(current: Node, depth: int) -> None:
        lines.append("  " * depth + current.label)
        for child in current.inputs:
            walk(child, depth + 1)

    walk(node, 0)
    return "\n".join(lines)
