"""The plan as it was written, and as it is after the rules of the optimizer."""

from __future__ import annotations

from collections.abc import Iterable

from waterclock.explain.program import Described
from waterclock.explain.trees import properties, size, tree
from waterclock.optimizer.cost import estimate
from waterclock.optimizer.optimize import steps
from waterclock.optimizer.statistics import Statistics
from waterclock.plan import Input, Node


def logical(program: Described) -> list[str]:
    lives = program.lives

    def notes(node: Node) -> Iterable[str]:
        if not isinstance(node, Input):  # a stream has its columns in its label
            yield str(node.schema)
        yield properties(node, lives)

    lines: list[str] = []
    for name, output in program.outputs.items():
        if not output.shared:
            lines += [f"{name} =", *tree(output.written, notes), ""]
    return lines[:-1]


def optimized(program: Described) -> list[str]:
    lines: list[str] = []
    for name, output in program.outputs.items():
        before, changes = output.part, []
        for rule, after in steps(output.part) if output.part is not output.vertex.root else ():
            if after.identity != before.identity:
                changes.append(f"  {rule}: {size(before)} to {_operators(size(after))}")
            before = after
        lines.append(f"{name}: {_operators(size(output.part))} as written, {size(before)} after the rules")
        lines += changes or ["  no rule changed anything"]
        lines += [f"{name} =", *costed(before, output.statistics), ""]
    return lines[:-1]


def costed(root: Node, statistics: Statistics) -> list[str]:
    """A plan with what each operator is thought to cost."""
    costs = {identity: str(found) for identity, found in estimate(root, statistics).items()}
    return tree(root, lambda node: [costs[node.identity]] if costs.get(node.identity) else [])


def _operators(number: int) -> str:
    return f"{number} operator{'' if number == 1 else 's'}"
