"""What the runtime asks of a stateful operator. They are pure: state and rows in, rows and changes of state out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from waterclock.hashing import hash_rows
from waterclock.operators.failures import Failures
from waterclock.plan.nodes import Node
from waterclock.schema import HASH
from waterclock.state.order import in_order
from waterclock.state.table import Table, distinct

_SAMPLE = 1024


@dataclass(frozen=True)
class Spec:
    """A kind of rows that an operator exchanges, or keeps, or both."""

    name: str
    mortal: bool = False
    """Single rows can be removed; otherwise rows go only by time."""
    shared: bool = False
    """Every task sees all rows, whatever their hash (the small side of a join without keys)."""


@dataclass(frozen=True)
class Turn:
    """What an operator is given in one epoch, for one range of keys. Times are per port."""

    arrived: Mapping[str, pl.DataFrame]
    """Rows by the name that ``prepare`` gave them, sorted by hash and start; no entry means none."""
    state: Mapping[str, Table]
    old: tuple[int, ...]
    """CTIs before: nothing that arrived starts before them."""
    new: tuple[int, ...]
    """CTIs now: nothing that starts before them will arrive."""
    top: int
    """The greatest finite time seen so far, which bounds the results of open-ended events when a stream ends."""
    first: bool
    """This task has the first range of keys: what is shared is kept and reported by it alone."""


@dataclass(frozen=True)
class Stepped:
    output: pl.DataFrame
    """With the columns of the node's schema and ``_vs``, ``_ve``; others are ignored."""
    cti: int
    added: dict[str, pl.DataFrame] = field(default_factory=dict)
    """New rows per state table, with hash, start and end. The runtime sorts them and numbers those of mortal tables."""
    removed: dict[str, pl.DataFrame] = field(default_factory=dict)
    """Rows of mortal tables that are gone, as ``Table`` gave them (at least hash, number, start and end)."""
    lows: dict[str, int] = field(default_factory=dict)
    """Per table: rows that end at or before this are not needed any more."""
    kept: frozenset[str] = frozenset()
    """Tables that get all rows of their name that arrived, as they are; nothing is ``added`` to them besides."""
    failures: Failures = field(default_factory=list)
    """Rows that user code failed for and that are left out."""


class Operator(ABC):
    tables: tuple[Spec, ...]

    def __init__(self, node: Node) -> None:
        self.schema = node.schema

    @abstractmethod
    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        """In front of the exchange: rows of an input, hashed by key and sorted by hash and start (see ``hashed``)."""

    @abstractmethod
    def step(self, turn: Turn) -> Stepped:
        """Behind the exchange: one epoch over a range of keys."""

    def fold(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows that can be told as fewer; called on what arrived and when runs are merged. Keeps the columns."""
        return rows

    @property
    def nothing(self) -> pl.DataFrame:
        return self.schema.empty()


def hashed(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """With the hash of the key, in the order that tables have."""
    hashes = hash_rows(frame, keys)
    rows = frame.with_columns(pl.Series(HASH, hashes, dtype=pl.UInt64))
    return packed(in_order(rows))


def packed(rows: pl.DataFrame) -> pl.DataFrame:
    """With texts that lie in memory as the rows do: what reads them afterwards need not jump."""
    texts = [name for name, kind in rows.schema.items() if kind == pl.String]
    if rows.height < _SAMPLE or not texts:
        return rows
    laid = pl.from_arrow(rows.select(texts).to_arrow(compat_level=pl.CompatLevel.oldest()))
    assert isinstance(laid, pl.DataFrame)
    return rows.with_columns(laid.get_columns())


def hashes_of(*found: pl.DataFrame | np.ndarray | None) -> np.ndarray:
    """The distinct hashes of rows and of other hashes, sorted."""
    every = [some[HASH].to_numpy() if isinstance(some, pl.DataFrame) else some for some in found if some is not None]
    return distinct(np.concatenate([np.empty(0, dtype=np.uint64), *every]))


def together(*frames: pl.DataFrame | None) -> pl.DataFrame | None:
    """Rows of the same columns as one frame; None where there is none."""
    found = [frame for frame in frames if frame is not None and frame.height]
    if not found:
        return None
    return found[0] if len(found) == 1 else pl.concat([frame.select(found[0].columns) for frame in found])
