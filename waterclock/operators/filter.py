"""filter: keeps the events whose payload satisfies a predicate; lifetimes and the CTI pass unchanged."""

from __future__ import annotations

import polars as pl

from waterclock.expr import to_polars
from waterclock.plan.nodes import Filter


def apply(node: Filter, frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame.filter(to_polars(node.predicate, node.input.schema))
