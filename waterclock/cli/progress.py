"""How far a long piece of work is: one line on a terminal, a line every few seconds elsewhere.

``click.progressbar`` shows no rate, and nothing at all where there is no terminal.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from waterclock.batch.steps import step
from waterclock.cli.live import ERASE, PLAIN_EVERY
from waterclock.cli.show import brief, seconds

DRAW_EVERY = 0.1
LOOK_EVERY = 0.5
WIDTH = 20


class progress:
    """Written to stderr, from the thread that does the work.

    with progress("verifying", epochs) as bar:
        bar.advance()
    """

    def __init__(self, label: str, total: int | None, quiet: bool = False, unit: str = "rows") -> None:
        self.label, self.total, self.unit = label, total, unit
        self.done = 0
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._began = self._drawn = time.monotonic()
        self._shown = False

    def __enter__(self) -> progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._terminal and self._shown:
            self._write(ERASE)

    def advance(self, number: int = 1) -> None:
        self.done += number
        now = time.monotonic()
        if not self._quiet and now - self._drawn >= (DRAW_EVERY if self._terminal else PLAIN_EVERY):
            self._drawn, self._shown = now, True
            line = self.line(now - self._began)
            room = shutil.get_terminal_size().columns - 1
            self._write(f"{ERASE}{line[:room]}" if self._terminal else f"{line}\n")

    def rows(self, number: int, total: int) -> None:
        """What reading a stream tells: rows that came now, and how many there are."""
        if self.total is None or self.done >= self.total:  # the next of several
            self.total = self.done + total
        self.advance(number)

    def line(self, took: float) -> str:
        """``verifying [#####               ] 25% of 40 epochs, 2/s, 15.0 s left``"""
        rate = self.done / took if took > 0 else 0.0
        speed = f"{brief(rate) if rate >= 10 else f'{rate:.1f}'}/s"
        if self.total is None:
            return f"{self.label} {self.done:,} {self.unit}, {speed}"
        share = min(1.0, self.done / self.total) if self.total else 1.0
        bar = ("#" * round(share * WIDTH)).ljust(WIDTH)
        left = f", {seconds((self.total - self.done) / rate)} left" if rate > 0 and self.done < self.total else ""
        return f"{self.label} [{bar}] {share:.0%} of {self.total:,} {self.unit}, {speed}{left}"

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


@contextmanager
def spark_progress(label: str, quiet: bool) -> Iterator[None]:
    """The steps of a batch run or a question on Spark, one after another, each with its own end."""
    stop = threading.Event()

    def watch() -> None:
        what, bar = "", progress(label, None)
        while not stop.wait(LOOK_EVERY):
            found = step()
            if found is not None and found.what != what:
                bar.close()
                what, bar = found.what, progress(f"{label}: {found.what}", found.total, unit=found.unit)
            if found is not None:
                bar.advance(found.done - bar.done)
        bar.close()

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    if not quiet:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if not quiet:
            thread.join(timeout=2)
