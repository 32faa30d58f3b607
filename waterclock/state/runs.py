"""A run: rows sorted by (hash, start), immutable, with its hash and time bounds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from waterclock.hashing import SPACE
from waterclock.state.table import Indexed
from waterclock.storage import Blob, load


@dataclass(frozen=True)
class Run:
    operator: str
    table: str
    blob: Blob
    rows: int
    least_hash: int
    greatest_hash: int
    least_vs: int
    greatest_ve: int
    level: int
    """0 for what one step added; merging runs of level n gives one of level n + 1."""


def live_in(runs: Iterable[Run], table: str, part: tuple[int, int]) -> list[Run]:
    """The runs of a table that have rows in a hash range."""
    return [run for run in runs if run.table == table and run.least_hash < part[1] and run.greatest_hash >= part[0]]


def slice_range(frame: pl.DataFrame, part: tuple[int, int]) -> pl.DataFrame:
    """The rows of a hash range: two binary searches, no copy."""
    if part == (0, SPACE) or frame.height == 0:
        return frame
    low, high = Indexed(frame).rows_in(part)
    return frame.slice(low, high - low)


class RunCache:
    """Runs of this process, least recently used out first. Blobs are immutable, so a hit is always right.

    Large ones are mapped: the limit is on what is held, not on memory.
    """

    def __init__(self, limit: int = 4 << 30) -> None:
        self._limit = limit
        self._size = 0
        self._frames: OrderedDict[Blob, tuple[Indexed, int]] = OrderedDict()
        self._live: dict[str, set[Blob]] = {}

    def retain(self, owner: str, live: set[Blob]) -> None:
        """Forgets the owner's runs that are no longer part of its state: what is mapped cannot leave the disk."""
        for blob in self._live.get(owner, set()) - live:
            if blob in self._frames:
                self._size -= self._frames.pop(blob)[1]
        self._live[owner] = live

    def get(self, root: Path, blob: Blob, check: bool = True) -> Indexed:
        found = self._frames.get(blob)
        if found is not None:
            self._frames.move_to_end(blob)
            return found[0]
        frame = Indexed(*load(root, blob, check))
        self._frames[blob] = (frame, blob.length)
        self._size += blob.length
        while self._size > self._limit and len(self._frames) > 1:
            _, (_, length) = self._frames.popitem(last=False)
            self._size -= length
        return frame
