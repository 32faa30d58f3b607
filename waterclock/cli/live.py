"""One line that shows how a running app is doing, and its summary."""

from __future__ import annotations

import logging
import shutil
import sys
import threading
import time

from waterclock.app import App
from waterclock.cli.show import brief, seconds
from waterclock.errors import WaterclockError
from waterclock.runtime.metrics.figures import Status
from waterclock.time import BEGINNING, DAY, FOREVER, SECOND, show_instant

TICK = 0.5
PLAIN_EVERY = 5.0
ERASE = "\r\x1b[2K"
LOG = logging.getLogger("waterclock")


class LiveLine:
    """Written to stderr by a thread of its own: over itself on a terminal, every few seconds elsewhere."""

    def __init__(self, app: App, mode: str, quiet: bool) -> None:
        self._app = app
        self._mode = mode
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._show, name="live line", daemon=True)
        self._last: tuple[float, int] | None = None
        self._lines = _Lines(self)

    def __enter__(self) -> LiveLine:
        LOG.addHandler(self._lines)
        LOG.setLevel(logging.INFO)
        if not self._quiet:
            what = "" if self._mode == "offline" else f", Spark {self._app.master}"
            self._write(f"{self._app.name}: starting (store {self._app.store}{what}) ...")
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        LOG.removeHandler(self._lines)
        LOG.setLevel(logging.NOTSET)
        if not self._quiet:
            self._thread.join(timeout=2)
            if self._terminal:
                sys.stderr.write(ERASE)
                sys.stderr.flush()

    def say(self, text: str) -> None:
        """A line that stays, also when it is to be quiet."""
        sys.stderr.write((ERASE if self._terminal else "") + text + "\n")
        sys.stderr.flush()

    def _show(self) -> None:
        shown = 0.0
        while not self._stop.wait(TICK):
            engine = self._app._engine
            if engine is None or engine.state not in ("running", "draining"):
                continue
            try:
                now, status = time.monotonic(), engine.status()
            except WaterclockError:
                continue  # the app says itself why it fails
            if self._last is None:
                shown, self._last = now, (now, _taken(status))
            before = self._last
            if self._terminal or now - shown >= PLAIN_EVERY:
                rate = (_taken(status) - before[1]) / (now - before[0]) if now > before[0] else None
                self._write(line(status, rate, time.time_ns() // 1000))
                shown, self._last = now, (now, _taken(status))

    def _write(self, text: str) -> None:
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(ERASE + text[:width])
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()


class _Lines(logging.Handler):
    """What is logged, alerts above all, as lines above the live one."""

    def __init__(self, live: LiveLine) -> None:
        super().__init__()
        self._live = live

    def emit(self, record: logging.LogRecord) -> None:
        self._live.say(record.getMessage())


def line(status: Status, rate: float | None, now: int) -> str:
    """``alerts running 12.1 s | in 20.1k/s | epoch 73, 38 ms | backlog 0 | CTI ... | late 0 | bad 0``"""
    medians = [vertex.recent.epoch_seconds.median for vertex in status.vertices if vertex.recent.epoch_seconds]
    epoch = max(vertex.epoch for vertex in status.vertices)
    late, bad = _odd(status)
    parts = [
        f"{status.app} {status.state} {seconds(status.seconds or 0)}",
        f"in {'-' if rate is None else brief(rate)}/s",
        f"epoch {epoch}" + (f", {seconds(max(medians))}" if medians else ""),
        f"backlog {brief(max(vertex.backlog for vertex in status.vertices))}",
        f"CTI {_cti(min(vertex.cti for vertex in status.vertices), now)}",
        f"late {late:,}",
        f"bad {bad:,}",
        *([f"alerts {len(status.alerts)}"] if status.alerts else []),
    ]
    return " | ".join(parts)


def summary(status: Status, store: str | None) -> str:
    """``store`` is where results can be looked at."""
    late, bad = _odd(status)
    lines = [f"{status.app} {status.state} after {seconds(status.seconds or 0)}; late {late:,}, bad {bad:,}"]
    for vertex in status.vertices:
        took = f", {seconds(vertex.recent.epoch_seconds.median)} each" if vertex.recent.epoch_seconds else ""
        backlog = f", backlog {vertex.backlog:,}" if vertex.backlog else ""
        lines.append(
            f"  {vertex.name}: {vertex.rows_in:,} rows in, {vertex.rows_out:,} out; "
            f"epoch {vertex.epoch}{took}{backlog}; CTI {show_instant(vertex.cti)}"
        )
    if store is not None:
        lines.append(f"  look: waterclock tail {status.vertices[0].name} --store {store}")
    return "\n".join(lines)


def _taken(status: Status) -> int:
    return sum(counters.get("rows", 0) for counters in status.counters.values())


def _odd(status: Status) -> tuple[int, int]:
    """Late and bad rows of all sources."""
    every = [(name, number) for counters in status.counters.values() for name, number in counters.items()]
    late = sum(number for name, number in every if name.startswith("late"))
    return late, sum(number for name, number in every if name.startswith("bad"))


def _cti(cti: int, now: int) -> str:
    if cti in (BEGINNING, FOREVER) or abs(now - cti) > DAY:
        return show_instant(cti)
    return f"{show_instant(cti)[11:19]} ({seconds(max(0, now - cti) / SECOND)} behind)"
