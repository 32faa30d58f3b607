"""project: a new payload from the old one; lifetimes and the CTI pass unchanged."""

from __future__ import annotations

import polars as pl

from waterclock.expr import to_polars
from waterclock.plan.nodes import Project
from waterclock.schema import SEQ, TYPES, VE, VS


def apply(node: Project, frame: pl.LazyFrame) -> pl.LazyFrame:
    columns = [
        to_polars(expr, node.input.schema).cast(TYPES[node.schema.type_of(name)]).alias(name)
        for name, expr in node.columns
    ]
    return frame.select(VS, VE, *columns, pl.col(f"^{SEQ}$"))
