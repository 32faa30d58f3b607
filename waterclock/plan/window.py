"""Fixed windows ``[offset + n*hop, offset + n*hop + size)`` and the lifetime of their results."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from waterclock.errors import ConfigError
from waterclock.time import BEGINNING, FOREVER, show_duration

RESULTS = ("window", "point_end", "hold")


@dataclass(frozen=True)
class Window:
    size: int
    hop: int
    offset: int = 0
    result: str = "window"

    def __post_init__(self) -> None:
        if self.size <= 0 or self.hop <= 0:
            raise ConfigError("PLAN.BAD_WINDOW", size=show_duration(self.size), hop=show_duration(self.hop))
        if self.result not in RESULTS:
            raise ConfigError("PLAN.BAD_RESULT", result=self.result)

    @property
    def pane(self) -> int:
        """Windows start and end only at multiples of this: events inside one pane share all their windows."""
        return gcd(self.size, self.hop)

    def last_closed(self, cti: int) -> int:
        """The number of the last window that ends at or before ``cti``."""
        return (cti - self.offset - self.size) // self.hop

    def start(self, number: int) -> int:
        return self.offset + number * self.hop

    def output_cti(self, cti: int) -> int:
        """No result that starts before this can follow once the input's time is ``cti``."""
        if cti in (BEGINNING, FOREVER) or self.result != "window":
            return cti
        return max(BEGINNING, self.start(self.last_closed(cti) + 1))

    def __str__(self) -> str:
        if self == WHOLE:
            return "everything"
        shape = (
            f"tumbling({show_duration(self.size)}"
            if self.size == self.hop
            else (f"hopping({show_duration(self.size)}, {show_duration(self.hop)}")
        )
        return shape + (f", offset={show_duration(self.offset)}" if self.offset else "") + f") result={self.result}"


WHOLE = Window(2**62, 2**62, -(2**61))
"""One window that every instant is in: see ``LIMIT`` of the border."""
