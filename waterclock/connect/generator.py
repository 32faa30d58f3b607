"""Events made by a function of their number: the same numbers give the same rows, in every run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl

from waterclock.connect.base import Chunk
from waterclock.connect.rows import to_frame
from waterclock.errors import ConfigError
from waterclock.schema import TYPES
from waterclock.streams import Declaration
from waterclock.time import SECOND, Instant, instant

Make = Callable[[pl.DataFrame], Any]


@dataclass(frozen=True)
class GeneratorSource:
    make: Make
    rate: Fraction
    count: int | None
    batch: int
    start: int | None

    def open(self, declaration: Declaration, position: Any) -> GeneratorReader:
        if position is None:
            start = self.start if self.start is not None else time.time_ns() // 1000
            return GeneratorReader(self, declaration, 0, start)
        if position["rate"] != str(self.rate):
            fix = f"The stream {declaration.name!r} was generated with rate={position['rate']}, which fixes its times."
            raise ConfigError("CONFIG.BAD_OPTION", option="rate", value=float(self.rate), fix=fix)
        return GeneratorReader(self, declaration, position["next"], position["start"])


class GeneratorReader:
    """Gives a block once the clock has reached its last event."""

    def __init__(self, source: GeneratorSource, declaration: Declaration, number: int, start: int) -> None:
        self._source = source
        self._declaration = declaration
        self._next = number
        self._start = start
        self.finished = self._used_up()

    @property
    def waiting(self) -> bool:
        """A counted stream is not used up before its last event."""
        return self._source.count is not None and not self.finished

    def poll(self, cti: int, now: int) -> Chunk | None:
        first, end = self._next, self._block_end()
        if self.finished or event_time(end - 1, self._source.rate, self._start) > now:
            return None
        where = f"generated {first}..{end - 1}"
        made = self._source.make(numbered(first, end, self._source.rate, self._start))
        rows, rejected = to_frame(made, self._declaration, where)
        self._next = end
        self.finished = self._used_up()
        position = {"next": end, "start": self._start, "rate": str(self._source.rate)}
        return Chunk(position, where, rows, rejected)

    def close(self) -> None:
        pass

    def _used_up(self) -> bool:
        return self._source.count is not None and self._next >= self._source.count

    def _block_end(self) -> int:
        end = (self._next // self._source.batch + 1) * self._source.batch
        return end if self._source.count is None else min(end, self._source.count)


def event_time(n: int, rate: Fraction, start: int) -> int:
    return start + n * SECOND * rate.denominator // rate.numerator


def numbered(first: int, end: int, rate: Fraction, start: int) -> pl.DataFrame:
    """What ``make`` gets: the numbers ``first..end-1`` as ``n``, and their times as ``ts``."""
    n = pl.int_range(first, end, dtype=pl.Int64, eager=True).alias("n")
    # Counted from the first number of the block, so that the product stays small however long the stream gets.
    whole, rest = divmod(first * SECOND * rate.denominator, rate.numerator)
    ticks = ((n - first) * SECOND * rate.denominator + rest) // rate.numerator + (start + whole)
    return pl.DataFrame([n, ticks.cast(TYPES["timestamp"]).alias("ts")])


def generate(
    make: Make, rate: float = 1000, count: int | None = None, *, start: Instant | None = None, batch: int | None = None
) -> GeneratorSource:
    """``rate`` events a second, ``count`` in all (default: without end).

    ``make`` gets a Polars frame with the columns ``n`` (0, 1, 2, ...) and ``ts`` (``start + n / rate``) and gives one
    with the stream's columns. Events come when the clock reaches their time; after a pause the missed ones come at
    once. ``start`` is the time of event 0 (default: when it first ran). Time advances every ``batch`` events (50 ms).

    >>> wc.generate(lambda e: e.select("ts", user=pl.col("n") % 7), rate=5000)  # doctest: +SKIP
    """
    for option, value in (("rate", rate), ("batch", batch), ("count", count)):
        if value is not None and not value > 0:
            raise ConfigError("CONFIG.BAD_OPTION", option=option, value=value, fix="It must be greater than 0.")
    exact = Fraction(rate).limit_denominator(1_000_000)
    if not exact:
        raise ConfigError(
            "CONFIG.BAD_OPTION", option="rate", value=rate, fix="At least one event in a million seconds."
        )
    size = batch if batch is not None else max(1, int(exact / 20))
    return GeneratorSource(make, exact, count, size, None if start is None else instant(start))
