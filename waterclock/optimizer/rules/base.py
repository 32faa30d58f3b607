"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from waterclock.plan.nodes import Node


@dataclass(frozen=True)
class Rule:
    """A rewriting of plans that keeps their columns and, for every input, their bag of events."""

    name: str
    why: str
    """What is gained, in one line."""
    rewrite: Callable[[Node], Node]
