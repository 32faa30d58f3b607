"""The stateless operators of a leg, as one lazy Polars query: predicates and columns reach the file scan."""

from __future__ import annotations

import polars as pl

from waterclock.operators.registry import apply, cti_behind
from waterclock.optimizer.cut import Leg
from waterclock.schema import VE, VS


def run(leg: Leg, frame: pl.LazyFrame) -> pl.LazyFrame:
    for node in leg.operators:
        frame = apply(node, frame)
    last = leg.operators[-1] if leg.operators else leg.source
    return frame.select(VS, VE, *last.schema.names)


def cti(leg: Leg, origin: int) -> int:
    """The time behind the leg when its origin is at ``origin``."""
    for node in leg.operators:
        origin = cti_behind(node, origin)
    return origin
