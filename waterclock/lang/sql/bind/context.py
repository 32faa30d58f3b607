"""What a query may use: the relations that have names, and the values of parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from waterclock.errors import SqlError
from waterclock.lang.sql import tree
from waterclock.lang.sql.given import Given
from waterclock.lang.sql.names import listed, match, nearest
from waterclock.lang.sql.source import Source, Span
from waterclock.plan import Node


class Poisoned(Exception):
    """A statement uses a name whose own statement is wrong: that error is enough."""


@dataclass(frozen=True)
class Context:
    source: Source
    names: Mapping[str, Given]
    params: Mapping[str, Any]
    slacks: Mapping[str, int | None] = field(default_factory=dict)
    """How long the declared streams wait for late events; None where something else moves their time."""
    later: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()
    used: set[str] = field(default_factory=set)
    """The parameters that were looked up."""
    places: dict[str, Span] = field(default_factory=dict)
    """Where each stateful node of a plan comes from, by its identity."""
    asked: Callable[[Context, tree.Reference, Given], Given] | None = None
    """In a question: what a name stands for. There, what is grouped without a window is grouped over everything."""

    def error(self, code: str, span: Span, **values: object) -> SqlError:
        return self.source.error(code, span, **values)

    def unsupported(self, span: Span, what: str, fix: str) -> SqlError:
        return self.error("SQL.UNSUPPORTED", span, what=what, fix=fix)

    def knowing(self, names: Mapping[str, Given]) -> Context:
        return replace(self, names={**self.names, **names})

    def find(self, name: tree.Word) -> Given:
        found = match(name.text, self.names)
        if len(found) == 1:
            return self.names[found[0]]
        if found:
            raise self.error("SQL.AMBIGUOUS", name.span, column=name.text, choices=" or ".join(found))
        if match(name.text, self.broken):
            raise Poisoned
        if match(name.text, self.later):
            raise self.error("SQL.LATER_NAME", name.span, name=name.text)
        choices = list(self.names)
        raise self.error(
            "SQL.UNKNOWN_NAME", name.span, name=name.text, choices=listed(choices), guess=nearest(name.text, choices)
        )

    def parameter(self, node: tree.Parameter) -> Any:
        self.used.add(node.name)
        if node.name not in self.params:
            guess = nearest(node.name, list(self.params))
            raise self.error("SQL.NO_PARAMETER", node.span, name=node.name, guess=guess)
        return self.params[node.name]

    def came_from(self, node: Node, span: Span) -> Node:
        self.places.setdefault(node.identity, span)
        return node
