"""What several outputs of a program compute is computed once: it becomes a stream of its own that they read.

Of the sub-plans with state that two or more outputs have in common, the largest are shared if writing and reading them
costs less than computing them again. One that is itself an output is read from there. Outputs that a store knows keep
the form that they had, because their state belongs to it; a new output never reads an older shared stream, because what
its readers are done with is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from waterclock.optimizer.bounds import is_static
from waterclock.optimizer.cost import worth_sharing
from waterclock.optimizer.statistics import Statistics
from waterclock.plan import Chop, Input, Node, TopK, WindowAggregate
from waterclock.plan.guarded import guards
from waterclock.plan.nodes import Union
from waterclock.plan.rebuild import parts_of, with_inputs

PREFIX = "shared-"


@dataclass(frozen=True)
class Shared:
    outputs: dict[str, Node]
    streams: dict[str, Node]
    """Those that only the outputs read, by name; each comes behind those it reads."""


def share(
    roots: Mapping[str, Node], known: Mapping[str, Collection[str]] | None = None, statistics: Statistics | None = None
) -> Shared:
    """``known`` are the vertices that the store has, with the streams that they read."""
    plans = _Plans(roots, known or {}, statistics)
    outputs = {name: plans.of(name, root) for name, root in roots.items()}
    return Shared(outputs, {name: plans.of(name, node, whole=True) for name, node in plans.shared.items()})


@dataclass
class _Part:
    """A sub-plan of the program."""

    node: Node
    output: str | None
    """The output that it is, if it is one."""
    worth_it: bool
    """Whether it may be read instead of computed."""
    asked: bool = False
    """Something above it depends on how its time went, which a stream does not tell."""
    owners: set[str] = field(default_factory=set)
    """The streams in whose computation it is."""
    readers: dict[str, str] = field(default_factory=dict)
    """Those of them that read it instead, and from which stream."""

    @property
    def name(self) -> str:
        """Of the stream that it is when it is shared."""
        return f"{PREFIX}{self.node.identity}"


class _Plans:
    def __init__(
        self, roots: Mapping[str, Node], known: Mapping[str, Collection[str]], statistics: Statistics | None
    ) -> None:
        self._known = known
        self._statistics = statistics
        self._parts: dict[str, _Part] = {}
        outputs: dict[str, str] = {}
        for name, root in roots.items():
            outputs.setdefault(root.identity, name)
        for root in roots.values():
            for node in parts_of(root):
                part = _Part(node, outputs.get(node.identity), _is_worth_it(node))
                self._parts.setdefault(node.identity, part)
        for name, root in roots.items():
            self._parts[root.identity].owners.add(name)
        order = _consumers_first(self._parts)
        for part in order:
            self._decide(part)
        self.shared = {part.name: part.node for part in reversed(order) if part.name in part.readers.values()}

    def _decide(self, part: _Part) -> None:
        others = part.owners - {part.output}
        fresh = [owner for owner in others if owner not in self._known]
        for owner in others - set(fresh):
            for name in (part.output, part.name):
                if name is not None and name in self._known[owner]:
                    part.readers[owner] = name
        possible = part.worth_it and not part.asked
        if possible and part.output is not None:
            part.readers |= dict.fromkeys(fresh, part.output)
        elif (
            possible and len(fresh) > 1 and part.name not in self._known and worth_sharing(part.node, self._statistics)
        ):
            part.readers |= dict.fromkeys(fresh, part.name)
        owners = part.owners - part.readers.keys() | set(part.readers.values())
        for child in part.node.inputs:
            below = self._parts[child.identity]
            below.owners |= owners
            below.asked = below.asked or part.asked or reads_time(part.node)

    def of(self, owner: str, node: Node, whole: bool = False) -> Node:
        """What an owner computes; ``whole`` for the part that is the owner itself."""
        part = self._parts[node.identity]
        if owner in part.readers and not whole:
            name = part.readers[owner]
            return Input(name, node.schema, node.points, node.open_ended, made_endless=node.endless)
        return with_inputs(node, [self.of(owner, child) for child in node.inputs])


def _is_worth_it(node: Node) -> bool:
    parts = parts_of(node)
    if guards(node):
        return False  # what is left out belongs to the output that says so
    early = any(isinstance(part, WindowAggregate) and part.early for part in parts)
    return any(_has_state(part) for part in parts) and not early and not is_static(node)


def _has_state(node: Node) -> bool:
    return not node.stateless and not isinstance(node, Input | Union)


def reads_time(node: Node) -> bool:
    """How far windows of events that never end go depends on the times that the input had, not on its events alone."""
    windowed = isinstance(node, WindowAggregate | Chop) or (isinstance(node, TopK) and node.window is not None)
    return windowed and any(child.open_ended for child in node.inputs)


def _consumers_first(parts: Mapping[str, _Part]) -> list[_Part]:
    """Every part before its inputs."""
    order: dict[str, _Part] = {}

    def walk(part: _Part) -> None:
        if part.node.identity not in order:
            for child in part.node.inputs:
                walk(parts[child.identity])
            order[part.node.identity] = part

    for part in parts.values():
        walk(part)
    return list(reversed(order.values()))
