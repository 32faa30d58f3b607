"""Arrow IPC files (Feather 2). They have no statistics: reading the time column alone takes their place."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from waterclock.streams import Declaration


def read(path: Path) -> pl.DataFrame:
    return pl.scan_ipc(path, glob=False).collect()


def types(path: Path) -> dict[str, pl.DataType]:
    return dict(pl.read_ipc_schema(path))


def extent(path: Path, declaration: Declaration) -> tuple[int, int, int] | None:
    """Rows, and the least and greatest value of the time column; None without rows or with nulls."""
    assert declaration.time is not None
    time = (
        pl.scan_ipc(path, glob=False)
        .select(pl.col(declaration.time).to_physical().cast(pl.Int64))
        .collect()
        .to_series()
    )
    if not len(time) or time.null_count():
        return None
    return len(time), int(time.min()), int(time.max())  # type: ignore[arg-type]
