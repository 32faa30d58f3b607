"""The stateless operators of a leg, as one lazy Polars query: predicates and columns reach the file scan."""

from __future__ import annotations

import polars as pl

from waterclock.operators import filter as filter_
from waterclock.operators import project
from waterclock.optimizer.cut import Leg
from waterclock.plan.nodes import Filter, Node, Project
from waterclock.schema import VE, VS


def run(leg: Leg, frame: pl.LazyFrame) -> pl.LazyFrame:
    for node in leg.operators:
        frame = _apply(node, frame)
    return frame.select(VS, VE, *_last(leg).schema.names)


def _apply(node: Node, frame: pl.LazyFrame) -> pl.LazyFrame:
    if isinstance(node, Filter):
        return filter_.apply(node, frame)
    assert isinstance(node, Project)
    return project.apply(node, frame)


def _last(leg: Leg) -> Node:
    return leg.operators[-1] if leg.operators else leg.source
