"""Parquet. Statistics in the footer may prove that a file holds only good rows, which saves reading and copying it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from waterclock.streams import Declaration


def read(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path, glob=False)


def types(path: Path) -> dict[str, pl.DataType]:
    return dict(pl.read_parquet_schema(path))


def extent(path: Path, declaration: Declaration) -> tuple[int, int, int] | None:
    """Rows, and the least and greatest value of the time column; None if the statistics do not tell."""
    with pq.ParquetFile(path) as file:
        footer = file.metadata
        least: list[int] = []
        greatest: list[int] = []
        for group in range(footer.num_row_groups):
            columns = footer.row_group(group)
            at = next(i for i in range(columns.num_columns) if columns.column(i).path_in_schema == declaration.time)
            found = columns.column(at).statistics
            if found is None or not found.has_min_max or not found.has_null_count or found.null_count:
                return None
            least.append(found.min_raw)
            greatest.append(found.max_raw)
        return (footer.num_rows, min(least), max(greatest)) if least else None
