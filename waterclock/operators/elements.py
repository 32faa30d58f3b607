"""Map, flat_map and filter by a Python function, element by element. Output CTI: c. No state."""

from __future__ import annotations

import polars as pl

from waterclock.plan.user import Elements
from waterclock.schema import VE, VS
from waterclock.usercode.machine import Row


def apply(node: Elements, frame: pl.LazyFrame) -> pl.LazyFrame:
    names = node.input.schema.names
    found = []
    for vs, ve, *values in frame.select(VS, VE, *names).collect().iter_rows():
        element = Row(dict(zip(names, values, strict=True)), vs, ve)
        found += [(vs, ve, *result) for result in node.function.run(element)]
    return pl.DataFrame(found, schema=node.schema.frame_schema(), orient="row").lazy()
