"""What a connector is.

A source gives chunks. How rows are cut into chunks must depend on the data alone (a file, a fixed block of a file),
never on when it was polled: time advances from chunk to chunk, so the cut decides which rows are late.

A sink takes whole epochs. It is told again of an epoch that it may have taken before a crash, with exactly the same
rows, and must then change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import polars as pl

from waterclock.schema import Schema
from waterclock.storage import Blob
from waterclock.streams import Declaration, Rejected
from waterclock.streams.border import Place


@dataclass(frozen=True)
class External:
    """A file that is read in place, known from its statistics to hold only good rows."""

    path: str
    format: str
    rows: int
    least_vs: int
    greatest_vs: int


@dataclass(frozen=True)
class Written:
    """A file of the store with events that no segment names yet, with their lifetimes."""

    blob: Blob
    rows: int
    extent: tuple[int, int] | None
    """The least and the greatest start; None unless all rows are good."""


@dataclass(frozen=True)
class Chunk:
    position: Any
    """JSON: where to go on behind this chunk."""
    where: str = ""
    """Names the chunk in errors."""
    rows: pl.DataFrame | None = None
    """Exactly the declared columns, in order, with the declared types."""
    rejected: Sequence[Rejected] = field(default_factory=tuple)
    external: External | None = None
    place: Place | None = None
    """Names a row in errors, if there is more to say than its number in the chunk."""
    written: Sequence[Written] = ()
    """In place of ``rows``, in order."""
    token: tuple[str, int] | None = None
    """Its writer and a number that grows from chunk to chunk: one that was taken before is not taken again."""


class Reader(Protocol):
    finished: bool
    """There will never be more."""

    @property
    def waiting(self) -> bool:
        """Nothing is there yet, but it will come by itself: a drain waits for it."""

    def poll(self, cti: int, now: int) -> Chunk | None:
        """The next chunk, or None when nothing is there now. ``cti`` and ``now`` tell whether statistics suffice."""

    def close(self) -> None: ...


class Source(Protocol):
    def open(self, declaration: Declaration, position: Any) -> Reader:
        """Goes on from ``position``, None at first."""


class Writer(Protocol):
    def write(self, first: int, last: int, rows: pl.DataFrame) -> Any:
        """Takes the rows of epochs ``first..last``; gives its position as JSON once they are safe."""

    def close(self) -> None: ...


class Sink(Protocol):
    guarantee: str
    """``transactional``, ``idempotent`` or ``at least once``."""
    batch_rows: int
    """Epochs are gathered up to this many rows ..."""
    batch_seconds: float
    """... or this long."""

    @property
    def target(self) -> str | None:
        """What it writes to, where only one output may."""

    def open(self, name: str, schema: Schema, delivered: int, position: Any) -> Writer:
        """Goes on behind epoch ``delivered`` (-1 at first), removing what a crash left behind it."""
