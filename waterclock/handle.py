"""What ``App.run`` gives: look at a running app, wait for it, stop it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from waterclock.catalog import Catalog, GlobalSnapshot
from waterclock.errors import RunError
from waterclock.runtime.barriers import begin, completed
from waterclock.runtime.engine import Engine
from waterclock.runtime.log import StreamReader
from waterclock.runtime.metrics.figures import Status


class Handle:
    """A run of an app."""

    def __init__(self, app: str, engine: Engine) -> None:
        self.app = app
        self._engine = engine

    @property
    def state(self) -> str:
        """``standby``, ``running``, ``draining``, ``stopped``, ``finished`` or ``failed``."""
        return self._engine.state

    @property
    def metrics_url(self) -> str | None:
        """Where the figures are served, with ``App(metrics_port=...)``."""
        return self._engine.metrics.url if self._engine.metrics is not None else None

    def status(self) -> Status:
        """Where the app stands now; after its end, where it stood."""
        return self._engine.status()

    def frame(self, name: str) -> pl.DataFrame:
        """What the output ``name`` has given so far: a row per event, with its lifetime in ``_vs`` and ``_ve``."""
        catalog = Catalog.open(self._engine.parts.store.root, create=False)
        try:
            row = catalog.streams.get(name)
            return StreamReader(catalog, name).read(row.first, row.next)
        finally:
            catalog.close()

    def snapshot(self, name: str | None = None, timeout: float = 60.0) -> GlobalSnapshot:
        """Takes a global snapshot, and waits for at most ``timeout`` seconds until it is complete.

        With a name it is kept until it is removed, else while it is one of the newest (``wc.Snapshots(keep=...)``).
        """
        if self._has_ended():
            raise RunError("RUN.ENDED", app=self.app)
        catalog = Catalog.open(self._engine.parts.store.root, create=False)
        try:
            begun = begin(catalog, self.app, name, self._engine.parts.barriers.most)
            return completed(catalog, begun, timeout, self._has_ended)
        finally:
            catalog.close()

    def stop(self, drain: bool = True, timeout: float = 30.0) -> None:
        """Ends the app, within ``timeout`` and a few seconds. ``drain`` finishes and delivers the epochs in hand."""
        self._engine.stop(drain, timeout)
        self._engine.wait(timeout + 10)

    def _has_ended(self) -> bool:
        return self.state not in ("standby", "running", "draining")

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end; True when it has come. Raises what made the app fail."""
        return self._engine.wait(timeout)

    def wait_until_stopped(self, timeout: float = 30.0) -> None:
        """Waits in the main thread; Ctrl-C and SIGTERM drain and end it within ``timeout``."""
        with _signals(self, timeout):
            while not self._engine.wait(0.2):
                pass

    def __repr__(self) -> str:
        outputs = ", ".join(f"{vertex.name} ({vertex.rows_out} rows)" for vertex in self.status().vertices)
        return f"<Handle of {self.app!r}, {self.state}: {outputs}>"

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._has_ended():
            self.stop()


@contextmanager
def _signals(handle: Handle, timeout: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        # A second signal does not wait.
        handle._engine.stop(drain=handle.state == "running", timeout=timeout)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
