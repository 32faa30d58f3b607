"""A projection that leaves out the rows that its user code fails for. Output CTI: c. No state.

All rows are tried at once. Only where that fails they are tried in halves, down to the single rows that fail.
"""

from __future__ import annotations

import polars as pl

from waterclock.errors import UserError
from waterclock.operators import project
from waterclock.operators.failures import Failures, check, leave_out
from waterclock.plan.guarded import Attempt
from waterclock.plan.nodes import Project
from waterclock.schema import SEQ, VE, VS


def apply(node: Attempt, frame: pl.LazyFrame, failures: Failures) -> pl.LazyFrame:
    rows = frame.collect()
    return pl.concat(_tried(node, rows.head(0), failures) + _tried(node, rows, failures)).lazy()


def _tried(node: Attempt, rows: pl.DataFrame, failures: Failures) -> list[pl.DataFrame]:
    try:
        return [project.apply(Project(node.input, node.columns), rows.lazy()).collect()]
    except UserError as error:
        check(node.on_error, error)
        if rows.height == 1:
            row = rows.row(0, named=True)
            event = {name: row[name] for name in node.input.schema.names}
            leave_out(node.on_error, error, [(row[VS], row[VE], event, row.get(SEQ))], failures)
            return []
    half = rows.height // 2
    return _tried(node, rows.head(half), failures) + _tried(node, rows.slice(half), failures)
