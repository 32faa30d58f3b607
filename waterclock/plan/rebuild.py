"""Plans made anew from parts of others. What does not change stays the same object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from waterclock.plan.join import AsOf, Join
from waterclock.plan.nodes import Node, Unary, Union

Change = Callable[[Node], Node]


def with_inputs(node: Node, inputs: Sequence[Node], **fields: Any) -> Node:
    """The same operator over other inputs, and with other values of some fields."""
    same = all(old is new for old, new in zip(node.inputs, inputs, strict=True))
    if same and all(getattr(node, name) is value for name, value in fields.items()):
        return node
    if isinstance(node, Union):
        return replace(node, branches=tuple(inputs), **fields)
    if isinstance(node, Join | AsOf):
        left, right = inputs
        return replace(node, left=left, right=right, **fields)
    assert isinstance(node, Unary), node.label
    return replace(node, input=inputs[0], **fields)


def bottom_up(root: Node, change: Change) -> Node:
    """Every node changed, inputs first; one that is used twice is changed once."""
    done: dict[int, Node] = {}

    def walk(node: Node) -> Node:
        if id(node) not in done:
            done[id(node)] = change(with_inputs(node, [walk(child) for child in node.inputs]))
        return done[id(node)]

    return walk(root)


def top_down(root: Node, change: Change) -> Node:
    """Every node changed, then the inputs of what it became."""
    done: dict[int, tuple[Node, Node]] = {}

    def walk(node: Node) -> Node:
        if id(node) not in done:
            changed = change(node)
            done[id(node)] = (node, with_inputs(changed, [walk(child) for child in changed.inputs]))
        return done[id(node)][1]

    return walk(root)


def parts_of(root: Node) -> list[Node]:
    """Every different sub-plan once, inputs before what reads them."""
    found: dict[str, Node] = {}

    def walk(node: Node) -> None:
        if node.identity not in found:
            for child in node.inputs:
                walk(child)
            found[node.identity] = node

    walk(root)
    return list(found.values())


def uses(root: Node) -> dict[str, int]:
    """By identity: on how many ways a sub-plan is reached from the root."""
    parts = parts_of(root)
    found = dict.fromkeys((part.identity for part in parts), 0)
    found[root.identity] = 1
    for part in reversed(parts):
        for child in part.inputs:
            found[child.identity] += found[part.identity]
    return found
