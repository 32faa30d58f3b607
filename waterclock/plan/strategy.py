"""How a query gets its state back after a loss. It changes what is saved, kept and run, never a result."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

from waterclock.errors import ConfigError
from waterclock.time import Duration, micros, show_duration

CHECKPOINT, REPLAY, REPLICATE = "checkpoint", "replay", "replicate"


@dataclass(frozen=True)
class Strategy:
    kind: str = CHECKPOINT
    every: int = 1_000_000
    """Microseconds between checkpoints, ..."""
    epochs: int | None = None
    """... or so many epochs."""
    window: int | None = None
    """Of a replay: how long an event matters, in microseconds; None: as the plan says."""
    copies: int = 1
    """Drivers that run it."""

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str | None) -> Strategy:
        return Strategy(**json.loads(text)) if text else Strategy()

    def __str__(self) -> str:
        if self.kind == REPLAY:
            return "replay" if self.window is None else f"replay, window {show_duration(self.window)}"
        often = f"every {self.epochs} epochs" if self.epochs else f"every {show_duration(self.every)}"
        return f"checkpoint {often}" + (f", {self.copies} copies" if self.copies > 1 else "")


def checkpoint(every: Duration | None = None, *, epochs: int | None = None) -> Strategy:
    """State is saved ``every`` so often (default: each second), or every so many ``epochs``.

    After a loss the last one is loaded, and what came behind it is computed again.
    """
    if every is not None and epochs is not None:
        fix = "Give either a time or a number of epochs."
        raise ConfigError("CONFIG.BAD_OPTION", option="epochs", value=epochs, fix=fix)
    if epochs is not None and epochs < 1:
        raise ConfigError("CONFIG.BAD_OPTION", option="epochs", value=epochs, fix="It must be at least 1.")
    return Strategy(epochs=epochs) if every is None else Strategy(every=_positive("every", every))


def replay(window: Duration | None = None) -> Strategy:
    """No state is saved: after a loss it is computed from the events of the last ``window``, which are kept for that.

    Without ``window`` the plan must say how long an event matters. With it, you say so where the plan cannot; less than
    the plan says is refused.
    """
    return Strategy(REPLAY, window=None if window is None else _positive("window", window))


def replicate(copies: int = 2) -> Strategy:
    """As ``checkpoint()``, and standby drivers run it too: the first commit of each epoch counts."""
    if copies < 2:
        raise ConfigError("CONFIG.BAD_OPTION", option="copies", value=copies, fix="Two or more, or checkpoint().")
    return Strategy(REPLICATE, copies=copies)


STRATEGIES: dict[str, Callable[..., Strategy]] = {CHECKPOINT: checkpoint, REPLAY: replay, REPLICATE: replicate}


def _positive(option: str, value: Duration) -> int:
    found = micros(value)
    if found <= 0:
        raise ConfigError("CONFIG.BAD_OPTION", option=option, value=value, fix="Write a length of time, such as '10s'.")
    return found
