"""What a batch run gives: its results. It has ended when it is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from waterclock.errors import ConfigError, did_you_mean
from waterclock.handle import Handle
from waterclock.runtime.metrics.figures import Status, StreamStatus, VertexStatus
from waterclock.time import FOREVER


class BatchHandle(Handle):
    def __init__(
        self, app: str, frames: Mapping[str, pl.DataFrame], rows: Mapping[str, int],
        counters: dict[str, dict[str, int]], undelivered: Sequence[str], seconds: float,
    ) -> None:  # fmt: skip
        self.app = app
        self._frames = frames
        self._rows = rows
        """By output, the rows of its inputs."""
        self._counters = counters
        self.undelivered = undelivered
        """The outputs without a sink: their rows are here alone."""
        self._seconds = seconds

    @property
    def state(self) -> str:
        return "finished"

    @property
    def metrics_url(self) -> None:
        """It has ended: nothing is served."""

    def frame(self, name: str) -> pl.DataFrame:
        """The complete answer of the output ``name``."""
        if name not in self._frames:
            choices = list(self._frames)
            guess = did_you_mean(name, choices)
            raise ConfigError("RUN.NO_OUTPUT", name=name, choices=", ".join(choices), guess=guess)
        return self._frames[name]

    def status(self) -> Status:
        vertices = [
            VertexStatus(name, 0, 0, self._rows[name], frame.height, 0, FOREVER, FOREVER, None, 0, 0, 0)
            for name, frame in self._frames.items()
        ]
        streams = [
            StreamStatus(
                name, counters.get("rows", 0), counters, FOREVER, True, None, None, None, None, False, False, {}
            )
            for name, counters in self._counters.items()
        ]
        return Status(self.app, self.state, self._seconds, tuple(vertices), tuple(streams))

    def stop(self, drain: bool = True, timeout: float = 30.0) -> None:
        pass

    def wait(self, timeout: float | None = None) -> bool:
        return True

    def wait_until_stopped(self, timeout: float = 30.0) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass
