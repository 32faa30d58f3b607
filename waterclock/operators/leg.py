"""The stateless operators of a leg, as one lazy Polars query: predicates and columns reach the file scan."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from waterclock.operators.failures import Failures
from waterclock.operators.registry import apply, cti_behind
from waterclock.optimizer.cut import Leg
from waterclock.plan import Node
from waterclock.plan.guarded import Guarded
from waterclock.schema import VE, VS

Path = tuple[str, ...]
"""An operator by all that rows go through from their origin up to it."""


Watch = Callable[[Node, pl.LazyFrame], pl.LazyFrame]
"""Sees what an operator gives, and hands it on."""


def run(
    leg: Leg, frame: pl.LazyFrame, left_out: dict[Path, tuple[Guarded, Failures]], watch: Watch | None = None
) -> pl.LazyFrame:
    path: Path = (leg.origin,)
    for node in leg.operators:
        path = (*path, node.identity)
        failures: Failures = []
        frame = apply(node, frame, failures)
        if failures and isinstance(node, Guarded):
            left_out[path] = node, failures
        if watch is not None:
            frame = watch(node, frame)
    last = leg.operators[-1] if leg.operators else leg.source
    return frame.select(VS, VE, *last.schema.names)


def cti(leg: Leg, origin: int) -> int:
    """The time behind the leg when its origin is at ``origin``."""
    for node in leg.operators:
        origin = cti_behind(node, origin)
    return origin
