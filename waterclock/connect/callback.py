"""To a Python function, once per epoch with rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from waterclock.schema import Schema


@dataclass(frozen=True)
class CallbackSink:
    function: Callable[[int, pl.DataFrame], object]
    guarantee: str = "at least once"
    target: str | None = None
    batch_rows: int = 0
    batch_seconds: float = 0.0

    def open(self, name: str, schema: Schema, delivered: int, position: Any) -> CallbackSink:
        return self

    def write(self, first: int, last: int, rows: pl.DataFrame) -> None:
        self.function(last, rows)

    def close(self) -> None:
        pass


def callback(function: Callable[[int, pl.DataFrame], object]) -> CallbackSink:
    """Calls ``function(epoch, rows)``. After a crash an epoch may come again, with the same number and rows."""
    return CallbackSink(function)
