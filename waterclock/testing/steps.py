"""What is done to a program, as data: a test writes it, chaos changes it and plays it again. Times are absolute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from waterclock.reference import Event
from waterclock.streams import Rejected


@dataclass(frozen=True)
class Feed:
    stream: str
    rows: pl.DataFrame
    at: int | None
    """The clock when they arrive, if they say it."""
    rejected: Sequence[Rejected] = field(default_factory=tuple)

    def __str__(self) -> str:
        return f"feed {self.stream}: {self.rows.height} rows"


@dataclass(frozen=True)
class Advance:
    """The time (CTI) of these streams, and the clock."""

    streams: tuple[str, ...]
    to: int

    def __str__(self) -> str:
        return f"advance {', '.join(self.streams)}"


@dataclass(frozen=True)
class Wait:
    """The clock alone; a stream with an idle rule goes on by it."""

    until: int

    def __str__(self) -> str:
        return "wait"


@dataclass(frozen=True)
class End:
    streams: tuple[str, ...]

    def __str__(self) -> str:
        return f"end {', '.join(self.streams)}"


@dataclass(frozen=True)
class Crash:
    """The process dies: at once, or in the next step when it comes by ``place``."""

    place: str | None = None

    def __str__(self) -> str:
        return f"crash {self.place or 'between steps'}"


@dataclass(frozen=True)
class Look:
    """What an output had given by then."""

    output: str
    found: tuple[Event, ...]

    def __str__(self) -> str:
        return f"look at {self.output}"


Step = Feed | Advance | Wait | End | Crash | Look
