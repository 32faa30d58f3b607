"""A relation that a query can read by its name."""

from __future__ import annotations

from dataclasses import dataclass

from waterclock.plan import Node


@dataclass(frozen=True)
class Given:
    """A relation with a name."""

    plan: Node
    time: str | None = None
    """The column that its events start at, if it is a declared stream."""
