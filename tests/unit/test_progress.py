"""How far a long piece of work is."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from waterclock.batch.steps import Step
from waterclock.cli import progress as module
from waterclock.cli.live import ERASE
from waterclock.cli.progress import progress, spark_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line() -> None:
    bar = progress("verifying", 40, unit="epochs")
    bar.advance(10)
    assert bar.line(5.0) == "verifying [#####               ] 25% of 40 epochs, 2.0/s, 15.0 s left"
    bar.advance(30)
    assert bar.line(5.0) == "verifying [####################] 100% of 40 epochs, 8.0/s"
    assert progress("x", 0).line(0.0) == "x [####################] 100% of 0 rows, 0.0/s"
    bar = progress("reading", None)
    bar.advance(3_000_000)
    assert bar.line(2.0) == "reading 3,000,000 rows, 1.5M/s"


def test_several_streams_in_one_line() -> None:
    bar = progress("reading", None)
    bar.rows(10, 20)
    assert (bar.done, bar.total) == (10, 20)
    bar.rows(10, 20)
    bar.rows(5, 30)
    assert (bar.done, bar.total) == (25, 50)


def test_a_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DRAW_EVERY", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress("reading", 2) as bar:
        bar.advance()
        bar.advance()
    written = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "\n" not in written
    assert written.count(ERASE) == 3
    assert written.endswith(ERASE)


def test_elsewhere_lines_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with progress("reading", 2) as bar:
        bar.advance()
    assert capsys.readouterr().err == "", "it did not take long"
    monkeypatch.setattr(module, "PLAIN_EVERY", 0.0)
    with progress("reading", 2) as bar:
        bar.advance()
    assert capsys.readouterr().err.startswith("reading [##########          ] 50% of 2 rows, ")


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_quiet(monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]) -> None:
    monkeypatch.setattr(module, "DRAW_EVERY", 0.0)
    monkeypatch.setattr(module, "PLAIN_EVERY", 0.0)
    monkeypatch.setattr(sys, "stderr", stream())
    with progress("reading", 2, quiet=True) as bar:
        bar.advance()
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize("quiet", [False, True])
def test_steps_of_spark(monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    """One line, whose end is that of the step; nothing of it is left for what is printed behind it."""
    shown = threading.Event()
    steps = iter([Step("reading clicks", 10, 40, "rows"), None, *[Step("stage 3 of Spark", 1, 2, "tasks")] * 3])

    def step() -> Step | None:
        found = next(steps, None)
        if found is None and "stage 3" in written.getvalue():
            shown.set()
        return found

    written = Terminal()
    monkeypatch.setattr(module, "LOOK_EVERY", 0.001)
    monkeypatch.setattr(module, "DRAW_EVERY", 0.0)
    monkeypatch.setattr(module, "step", step)
    monkeypatch.setattr(sys, "stderr", written)
    with spark_progress("query", quiet):
        assert shown.wait(0.01 if quiet else 10) != quiet
    if quiet:
        assert written.getvalue() == ""
        return
    assert f"{ERASE}query: reading clicks [#####               ] 25% of 40 rows" in written.getvalue()
    assert f"{ERASE}query: stage 3 of Spark [##########          ] 50% of 2 tasks" in written.getvalue()
    assert " left" in written.getvalue()
    assert written.getvalue().endswith(ERASE)
