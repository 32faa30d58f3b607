"""Cuts a query into the form that runs: stateful nodes and an output, each fed by legs.

A leg is an origin (a stream or a stateful node) followed by stateless operators. A union is just a target with
several legs, so it never moves a row. Legs of one target are numbered in plan order, and the output is in that order.

Rows are exchanged between stages. A node runs one stage behind its deepest origin, or in the same stage if what
that origin gives is in the right task already (see ``placement``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from waterclock.errors import ConfigError
from waterclock.optimizer.placement import stays
from waterclock.plan.nodes import Input, Node, Union

OUTPUT = "output"


@dataclass(frozen=True)
class Leg:
    origin: str
    """Name of an input stream, or id of a stateful node."""
    stage: int
    """The stage whose tasks run this leg: 0 reads streams, k runs behind the stateful nodes of stage k."""
    source: Node
    operators: tuple[Node, ...]
    port: int = 0
    """Which input of its target it feeds."""
    local: bool = True
    """It leads to the output, or to a node of the same stage: its rows stay in their task."""


@dataclass(frozen=True)
class Stateful:
    id: str
    stage: int
    node: Node
    legs: tuple[Leg, ...]


@dataclass(frozen=True)
class VertexPlan:
    name: str
    root: Node
    nodes: tuple[Stateful, ...]
    """In topological order."""
    legs: tuple[Leg, ...]
    """Those that end in the output."""

    @property
    def stages(self) -> int:
        return 1 + max((node.stage for node in self.nodes), default=0)

    def stage_of(self, node: str) -> int:
        """The stage whose tasks step a stateful node."""
        return next(each.stage for each in self.nodes if each.id == node)

    @property
    def inputs(self) -> tuple[str, ...]:
        legs = [*self.legs, *(leg for node in self.nodes for leg in node.legs)]
        return tuple(sorted({leg.origin for leg in legs if isinstance(leg.source, Input)}))

    @property
    def identity(self) -> str:
        return self.root.identity

    def targets(self) -> Iterator[tuple[str, tuple[Leg, ...]]]:
        """Everything that legs lead to."""
        for node in self.nodes:
            yield node.id, node.legs
        yield OUTPUT, self.legs


def cut(name: str, root: Node, in_place: bool = True) -> VertexPlan:
    """The vertex that computes ``root`` and writes it to the stream ``name``.

    Unless ``in_place``, there is an exchange in front of every stateful node.
    """
    nodes: dict[str, Stateful] = {}
    legs = tuple(_legs(root, (), nodes, in_place))
    plan = VertexPlan(name, root, tuple(nodes.values()), legs)
    if not plan.inputs:
        raise ConfigError("PLAN.NO_OUTPUT", app=name)
    return plan


def _legs(
    node: Node, above: tuple[Node, ...], nodes: dict[str, Stateful], in_place: bool, port: int = 0
) -> Iterator[Leg]:
    if isinstance(node, Input):
        yield Leg(node.stream, 0, node, above, port)
    elif isinstance(node, Union):
        for branch in node.branches:
            yield from _legs(branch, above, nodes, in_place, port)
    elif node.stateless:
        (child,) = node.inputs
        yield from _legs(child, (node, *above), nodes, in_place, port)
    else:
        if node.identity not in nodes:
            inner = tuple(
                leg for number, child in enumerate(node.inputs) for leg in _legs(child, (), nodes, in_place, number)
            )
            stage = _stage(node, inner, in_place)
            inner = tuple(replace(leg, local=leg.stage == stage) for leg in inner)
            nodes[node.identity] = Stateful(node.identity, stage, node, inner)
        yield Leg(node.identity, nodes[node.identity].stage, node, above, port)


def _stage(node: Node, legs: tuple[Leg, ...], in_place: bool) -> int:
    deepest = max(leg.stage for leg in legs)
    last = [leg for leg in legs if leg.stage == deepest]
    at_home = in_place and deepest > 0 and all(stays(leg.source, leg.operators, node, leg.port) for leg in last)
    return deepest if at_home else deepest + 1
