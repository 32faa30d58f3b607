"""Runs one query of the temporal algebra on Waterclock and compares its output with the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from bench.common import Beside, run, scratch
from bench.data import Events, Pairs, event_files, pair_files
from bench.expected import compare
from waterclock.catalog import Catalog
from waterclock.runtime.log import StreamReader

CHUNK = 1_000_000


@dataclass(frozen=True)
class Query:
    """What Waterclock is to run, and the answer. ``lives`` are the lifetimes of its inputs in µs; None for points."""

    name: str
    data: Pairs | tuple[Events, ...]
    lives: tuple[int | None, ...]
    epoch_rows: int
    """Of each input."""
    answer: Callable[[], pl.DataFrame]
    options: dict[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        if isinstance(self.data, Pairs):
            return len(self.lives) * self.data.rows
        return sum(events.rows for events in self.data)

    def folders(self) -> list[Path]:
        """Of the files of each input."""
        if isinstance(self.data, Pairs):
            folder = pair_files(self.data)
            return [folder / side for side in ("left", "right")][: len(self.lives)]
        return [event_files(events) / "in" for events in self.data]


def waterclock(query: Query, beside: Beside | None = None) -> dict[str, Any]:
    """The child's ``result``, once the output was found right."""
    inputs = [(str(folder / "*.parquet"), life) for folder, life in zip(query.folders(), query.lives, strict=True)]
    with scratch() as here:
        result = run(
            "bench.algebra_waterclock",
            {"query": query.name, "options": query.options, "inputs": inputs, "epoch_rows": query.epoch_rows,
             "schema": "pairs" if isinstance(query.data, Pairs) else "events", "store": str(here / "store"),
             "log": str(here / "log.txt")},
            here, beside, query.folders(),
        )  # fmt: skip
        compare(output(here / "store"), query.answer(), f"waterclock {query.name} {query.epoch_rows}")
    return result


def output(store: Path, name: str = "out") -> pl.DataFrame:
    """All rows of the output, texts as prints; read in pieces, since the texts are most of it."""
    catalog = Catalog.open(store)
    reader, end = StreamReader(catalog, name), catalog.streams.get(name).next
    pieces = [
        prints(reader.read(at, min(at + CHUNK, end)).rename({"_vs": "start", "_ve": "end"}))
        for at in range(0, end, CHUNK)
    ] or [reader.read(0, 0).rename({"_vs": "start", "_ve": "end"})]
    catalog.close()
    return pl.concat(pieces)


def prints(frame: pl.DataFrame) -> pl.DataFrame:
    """With a hash in place of each text."""
    return frame.with_columns(pl.selectors.string().hash())


def commits(result: dict[str, Any], rows: int) -> list[tuple[float, int]]:
    """When each epoch was committed and how many input rows were taken by then; all must have been seen."""
    seen = [(float(at), int(taken)) for at, taken in result["commits"]]
    if seen[-1][1] != rows:
        raise ValueError(f"the watcher saw {seen[-1][1]} of {rows} rows committed")
    return seen
