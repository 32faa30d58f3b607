"""What is known of the rows of a program: told by the user, or measured while it runs; the rest is assumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from waterclock.errors import ConfigError
from waterclock.schema import Schema

RATE = 1_000.0
"""Rows per second of a stream of which nothing is known."""
KEYS = 1_000.0
"""Distinct values of a column."""
TABLE = 1_000.0
"""Rows of a table."""

_LIFETIME = 16
_BYTES = {"boolean": 1, "int": 4, "float": 4, "date": 4, "bigint": 8, "double": 8, "timestamp": 8, "string": 24}
_NESTED = 64


@dataclass(frozen=True)
class Statistics:
    """``wc.Statistics(rates={"clicks": 5000}, keys={"user": 100_000})`` tells what to expect.

    It decides how many tasks run and what ``explain`` estimates, never what the answer is.
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    """Rows per second of event time, by stream; also by identity of a stateful node, what it gives."""
    sizes: Mapping[str, float] = field(default_factory=dict)
    """Bytes per row, by stream."""
    keys: Mapping[str, float] = field(default_factory=dict)
    """Distinct values, by name of column."""
    flows: Mapping[str, int] = field(default_factory=dict)
    """Rows counted: by stream those taken, by node those it gave, by ``target:leg`` those sent to it."""
    states: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Rows and bytes of state, by node."""

    def __post_init__(self) -> None:
        for what in ("rates", "sizes", "keys"):
            for name, value in getattr(self, what).items():
                if value < 0:
                    fix = "It must not be negative."
                    raise ConfigError("CONFIG.BAD_OPTION", option=f"{what}[{name!r}]", value=value, fix=fix)

    def over(self, other: Statistics) -> Statistics:
        """This, and what the other one knows besides."""
        return Statistics(
            {**other.rates, **self.rates}, {**other.sizes, **self.sizes}, {**other.keys, **self.keys},
            {**other.flows, **self.flows}, {**other.states, **self.states},
        )  # fmt: skip

    def distinct(self, columns: Iterable[str]) -> float:
        """How many keys there are; one without columns."""
        found = 1.0
        for column in columns:
            found *= max(1.0, self.keys.get(column, KEYS))
        return found

    def share(self, part: str, whole: str) -> float | None:
        """Of the rows counted under one name, how many there were under another for each."""
        counted = self.flows.get(whole, 0)
        return self.flows.get(part, 0) / counted if counted else None


def width(schema: Schema) -> float:
    """Bytes of a row, as far as its types say."""
    return float(_LIFETIME + sum(_BYTES.get(kind, _NESTED) for _, kind in schema))
