"""At every instant each payload once: snapshots of the groups of equal payloads.

result may be emitted   snapshot end <= c
output CTI              min(c, starts of open snapshots)
state dropped           events that end at or before c
"""

from __future__ import annotations

import polars as pl

from waterclock.operators.base import hashed
from waterclock.operators.snapshot import ALIVE, Snapshots, SnapshotsOperator
from waterclock.plan.aggregate import Distinct
from waterclock.schema import VE, VS


class DistinctOperator(SnapshotsOperator):
    def __init__(self, node: Distinct) -> None:
        super().__init__(node, node.schema.names)

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        return {ALIVE: hashed(rows.select(VS, VE, *self.keys).unique().collect(), self.keys)}

    def fold(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.unique() if table == ALIVE else rows

    def content(self, rows: pl.DataFrame, snapshots: Snapshots) -> pl.DataFrame:
        return rows.select(self.keys)[snapshots.owner].with_columns(*self.lifetimes(snapshots))
