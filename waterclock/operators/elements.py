"""Map, flat_map and filter by a Python function, element by element. Output CTI: c. No state."""

from __future__ import annotations

import polars as pl

from waterclock.errors import UserError
from waterclock.operators.failures import Failures, leave_out
from waterclock.plan.user import Elements
from waterclock.schema import SEQ, VE, VS
from waterclock.usercode.machine import Row


def apply(node: Elements, frame: pl.LazyFrame, failures: Failures) -> pl.LazyFrame:
    names = node.input.schema.names
    rows = frame.select(VS, VE, *names, pl.col(f"^{SEQ}$")).collect()
    numbers = rows[SEQ].to_list() if SEQ in rows.columns else None
    found = []
    for at, (vs, ve, *values) in enumerate(rows.select(VS, VE, *names).iter_rows()):
        element = Row(dict(zip(names, values, strict=True)), vs, ve)
        seq = () if numbers is None else (numbers[at],)
        try:
            found += [(vs, ve, *result, *seq) for result in node.function.run(element)]
        except UserError as error:
            leave_out(node.on_error, error, [(vs, ve, element, None if numbers is None else numbers[at])], failures)
    carried = {} if numbers is None else {SEQ: rows.schema[SEQ]}
    return pl.DataFrame(found, schema={**node.schema.frame_schema(), **carried}, orient="row").lazy()
