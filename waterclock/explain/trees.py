"""Plans as indented trees: inputs below their consumer, equal sub-plans written once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from waterclock.optimizer.lives import Life, Lives, life_of
from waterclock.plan import Input, Node

Notes = Callable[[Node], Iterable[str]]


def tree(root: Node, notes: Notes = lambda _: ()) -> list[str]:
    """Lines; below each operator its notes. A sub-plan that is read twice has a number, and stands there once."""
    numbers = _numbered(root)
    lines: list[str] = []
    seen: set[str] = set()

    def walk(node: Node, depth: int) -> None:
        indent = "  " * depth
        number = numbers.get(node.identity)
        mark = "" if number is None else f"[{number}] "
        if node.identity in seen:
            lines.append(f"{indent}{mark}as above: {short(node)}")
            return
        seen.add(node.identity)
        lines.append(f"{indent}{mark}{node.label}")
        lines.extend(f"{indent}    · {note}" for note in notes(node))
        for child in node.inputs:
            walk(child, depth + 1)

    walk(root, 0)
    return lines


def _numbered(root: Node) -> dict[str, int]:
    readers: dict[str, int] = {}
    order: list[str] = []

    def walk(node: Node) -> None:
        readers[node.identity] = readers.get(node.identity, 0) + 1
        if readers[node.identity] == 1:
            order.append(node.identity)
            for child in node.inputs:
                walk(child)

    walk(root)
    return {name: number for number, name in enumerate((name for name in order if readers[name] > 1), 1)}


def size(root: Node) -> int:
    """How many different operators a plan has, streams not counted."""
    found: set[str] = set()

    def walk(node: Node) -> None:
        if node.identity not in found and not isinstance(node, Input):
            found.add(node.identity)
            for child in node.inputs:
                walk(child)

    walk(root)
    return len(found)


def short(node: Node) -> str:
    if isinstance(node, Input):
        return f"{node.kind} {node.stream}"
    return node.label if len(node.label) <= 60 else f"{node.label[:57]}..."


def properties(node: Node, lives: Lives) -> str:
    """Lifetimes and keys."""
    life = life_of(node, lives)
    found = [_lifetimes(node, life)]
    keys = getattr(node, "keys", None) or getattr(node, "left_keys", None)
    if keys:
        found.append(f"keys {', '.join(keys)}")
    return "; ".join(found)


def _lifetimes(node: Node, life: Life) -> str:
    if node.points:
        return "points"
    if life.longest == 1:
        return "lifetimes of 1 microsecond"
    kind = "endless, " if node.endless else "open-ended, " if node.open_ended else ""
    return f"lifetimes {kind}{life}"
