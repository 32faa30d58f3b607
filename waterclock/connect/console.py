"""To the terminal, a small table per delivery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from waterclock.connect.validity import with_times
from waterclock.schema import VE, VS, Schema
from waterclock.time import show_instant


@dataclass(frozen=True)
class ConsoleSink:
    limit: int = 20
    guarantee: str = "at least once"
    target: str | None = None
    batch_rows: int = 0
    batch_seconds: float = 0.0

    def open(self, name: str, schema: Schema, delivered: int, position: Any) -> ConsoleWriter:
        return ConsoleWriter(name, self.limit)


class ConsoleWriter:
    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit

    def write(self, first: int, last: int, rows: pl.DataFrame) -> None:
        shown = rows.head(self._limit)
        table = Table(title=f"{self._name}, epoch {last}", title_justify="left")
        for column in with_times(rows.clear()).columns:
            table.add_column(column)
        payload = shown.select(pl.exclude(VS, VE))
        for vs, ve, values in zip(shown[VS], shown[VE], payload.iter_rows(), strict=True):
            cells = [show_instant(vs), show_instant(ve), *("" if value is None else str(value) for value in values)]
            table.add_row(*(Text(cell) for cell in cells))
        if rows.height > self._limit:
            table.caption = f"and {rows.height - self._limit} more rows"
        Console().print(table)

    def close(self) -> None:
        pass


def console(limit: int = 20) -> ConsoleSink:
    """Prints at most ``limit`` rows of each delivery."""
    return ConsoleSink(limit)
