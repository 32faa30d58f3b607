"""Which SQL a node becomes: the only place here that knows all operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from waterclock.batch import joins, lifetimes, user, windows
from waterclock.batch.query import Query, Rule
from waterclock.plan.nodes import Node

_RULES = cast("Mapping[type[Node], Rule]", {**lifetimes.RULES, **windows.RULES, **joins.RULES, **user.RULES})


def compiled(outputs: Mapping[str, Node], ctis: Mapping[str, int]) -> Query:
    """The query of every output. Outputs that read outputs are compiled into one another.

    ``ctis`` are the last finite CTIs of the streams.
    """
    return Query(outputs, ctis, _RULES)
