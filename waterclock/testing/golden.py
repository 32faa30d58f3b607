"""Tests of a project as plain text, in files that end in ``.wctest``.

    program ../clicks.sql

    test windows of ten seconds
    feed clicks
      user | page | ts
      ann  | home | 10:00:01
    advance 10:00:20
    expect per_user
      user | clicks | from  | to
      ann  | 1      | 10:00 | 10:00:10

A line is a word and what belongs to it; the table of ``feed`` and ``expect`` is indented below it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from waterclock.errors import ConfigError, WaterclockError, did_you_mean
from waterclock.loading import plain_value
from waterclock.reference import Event
from waterclock.testing.differences import Differs
from waterclock.testing.harness import TestStream
from waterclock.testing.tables import Table, laid_out
from waterclock.testing.times import TODAY
from waterclock.testing.values import Expected, events_of, projected, written

SUFFIX = ".wctest"
HEAD = {"program": "program FILE", "param": "param NAME VALUE", "day": "day 2026-01-05"}
"""Of the whole file, before its first step."""
STEPS = {
    "feed": "feed STREAM", "advance": "advance TIME [STREAM]", "wait": "wait DURATION", "end": "end [STREAM]",
    "crash": "crash [PLACE]", "expect": "expect OUTPUT", "reference": "reference",
}  # fmt: skip
TABLES = ("feed", "expect")


@dataclass
class Step:
    word: str
    arguments: list[str]
    line: int
    end: int
    """The line behind it and its table."""

    def table(self, file: GoldenFile) -> Table:
        return Table("\n".join(file.lines[self.line : self.end - 1]), str(file.path), self.line + 1)


@dataclass
class Case:
    """One test of a file."""

    name: str
    line: int
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True)
class Wrong:
    """A step that did not give what it should, and the lines that would make it right."""

    line: int
    text: str
    step: Step | None = None
    instead: tuple[str, ...] = ()


class GoldenFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise self._wrong(1, f"it cannot be read: {error}", "Name a file in UTF-8.") from None
        self.program: str | None = None
        self.params: dict[str, Any] = {}
        self.day = TODAY
        self.cases: list[Case] = []
        self._named = False
        number = 1
        while number <= len(self.lines):
            number = self._read(number)
        if self.program is None:
            raise self._wrong(1, "it does not say which program it tests", "Start with: program ../clicks.sql")
        if not self.cases:
            raise self._wrong(len(self.lines), "it has no steps", f"Steps: {', '.join(STEPS.values())}.")

    # -- reading -------------------------------------------------------------------------------------------

    def _read(self, number: int) -> int:
        """Reads the line and its table; gives the number of the line behind them."""
        line = self.lines[number - 1]
        if not line.strip() or line.startswith("#"):
            return number + 1
        if line[0].isspace():
            fix = "Only tables are indented, below feed and expect."
            raise self._wrong(number, "this line belongs to no step", fix)
        word, *arguments = line.split()
        end = number + 1
        if word in TABLES:
            while end <= len(self.lines) and (not self.lines[end - 1].strip() or self.lines[end - 1][0].isspace()):
                end += 1
            while not self.lines[end - 2].strip():  # empty lines behind a table are not part of it
                end -= 1
        if word == "test":
            self._begin(number, line[4:].strip())
        elif word in HEAD:
            self._head(number, word, arguments)
        elif word in STEPS:
            self._step(Step(word, arguments, number, end))
        else:
            words = ["test", *HEAD, *STEPS]
            fix = f"Lines start with: {', '.join(words)}.{did_you_mean(word, words)}"
            raise self._wrong(number, f"there is no {word!r}", fix)
        return end

    def _begin(self, number: int, name: str) -> None:
        if not name or name in [case.name for case in self.cases]:
            what = f"the name {name!r} is taken" if name else "the test has no name"
            raise self._wrong(number, what, "Give each test its own name: test late clicks are dropped")
        if self.cases and not self._named:
            raise self._wrong(number, "there are steps before the first test", "Put them below a test.")
        self._named = True
        self.cases.append(Case(name, number))

    def _head(self, number: int, word: str, arguments: list[str]) -> None:
        if self.cases:
            fix = "It is for the whole file: put it at its top."
            raise self._wrong(number, f"{word!r} stands behind a step or a test", fix)
        if word == "param" and len(arguments) >= 2:
            self.params[arguments[0]] = plain_value(" ".join(arguments[1:]))
        elif word == "param" or len(arguments) != 1:
            raise self._wrong(number, f"{word!r} is not complete", f"Write: {HEAD[word]}")
        elif word == "program":
            self.program = arguments[0]
        else:
            self.day = arguments[0]

    def _step(self, step: Step) -> None:
        least = {"feed": 1, "advance": 1, "wait": 1, "expect": 1}.get(step.word, 0)
        most = {"advance": 2, "reference": 0, "end": 1, "crash": 1, "wait": 4}.get(step.word, 1)
        if not least <= len(step.arguments) <= most:
            what = f"{step.word!r} has {len(step.arguments)} words behind it"
            raise self._wrong(step.line, what, f"Write: {STEPS[step.word]}")
        if not self.cases:
            self.cases.append(Case(self.path.stem, step.line))
        self.cases[-1].steps.append(step)

    def _wrong(self, line: int, what: str, fix: str) -> ConfigError:
        return ConfigError("TEST.BAD_FILE", file=self.path, line=line, what=what, fix=fix)

    # -- running -------------------------------------------------------------------------------------------

    def run(self, case: Case, chaos: int = 0, seed: int = 0) -> list[Wrong]:
        """What is wrong; nothing if it passed. ``chaos`` plays it so many times more, disturbed, and asks the
        reference too."""
        assert self.program is not None
        with TestStream(self._path(self.program), self.params, day=self.day) as ts:
            found: list[Wrong] = []
            for step in case.steps:
                try:
                    found += self._do(ts, step)
                except ConfigError as error:
                    if error.code != "TEST.BAD_TABLE":  # that has a place of its own
                        error.point_to(f"{self.path}:{step.line}")
                    raise
                except WaterclockError as error:
                    return [*found, Wrong(step.line, str(error))]
                except Differs as error:
                    found.append(Wrong(step.line, str(error)))
            checks = (ts.expect_same_as_reference, lambda: ts.chaos(seed, chaos)) if chaos and not found else ()
            for check in checks:
                try:
                    check()
                except ConfigError as error:
                    if error.code != "TEST.NO_REFERENCE":  # of results before they are final
                        raise
                except Differs as error:
                    found.append(Wrong(case.line, str(error)))
            return found

    def _path(self, program: str) -> Path:
        return Path(os.path.normpath(self.path.parent / program))

    def _do(self, ts: TestStream, step: Step) -> Iterable[Wrong]:
        first = step.arguments[0] if step.arguments else ""
        actions: dict[str, Callable[[], object]] = {
            "feed": lambda: ts.feed(first, step.table(self)),
            "advance": lambda: ts.advance(first, *step.arguments[1:]),
            "wait": lambda: ts.wait(" ".join(step.arguments)),
            "end": lambda: ts.end(*step.arguments),
            "crash": lambda: ts.crash(first or None),
            "reference": ts.expect_same_as_reference,
        }
        if step.word in actions:
            actions[step.word]()
            return []
        table = step.table(self)
        text = ts.difference(first, table)
        if text is None:
            return []
        return [Wrong(step.line, text, step, tuple(_as_found(ts, first, ts.expected(first, table))))]

    def update(self, wrong: Iterable[Wrong]) -> None:
        """Puts what came into the place of what was expected."""
        for each in sorted(wrong, key=lambda each: each.line, reverse=True):
            if each.step is not None:
                self.lines[each.step.line : each.step.end - 1] = [f"  {line}".rstrip() for line in each.instead]
        self.path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")


def _as_found(ts: TestStream, output: str, expected: Expected) -> list[str]:
    """The table of what an output has given, with the columns that were asked for."""

    def order(event: Event) -> tuple[int, int, str]:
        return event[0], event[1], repr(event[2])

    frame, schema = ts._playing.frame(output), ts._schema(output)
    events = sorted(projected(events_of(frame), expected), key=order)
    if not events:
        return []
    return laid_out(*written(events, expected.columns, expected.timed, schema, ts.times))


def found_in(paths: Iterable[Path]) -> list[Path]:
    """Files, and those below directories, in order."""
    files: list[Path] = []
    for path in paths:
        files += sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
    return list({path.resolve(): path for path in reversed(files)}.values())[::-1]
