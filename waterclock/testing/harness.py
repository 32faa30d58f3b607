"""What a test holds: a program, fed step by step, in this process and by a clock of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from waterclock.app import App, sql
from waterclock.connect.rows import to_frame
from waterclock.connect.validity import with_times
from waterclock.declared import Declared
from waterclock.errors import ConfigError, did_you_mean
from waterclock.loading import app_of
from waterclock.schema import VE, VS, Schema
from waterclock.streams import Declaration
from waterclock.streams.border import LIMIT
from waterclock.streams.segment import with_lifetime
from waterclock.testing.chaos import disturbed
from waterclock.testing.differences import Differs, difference
from waterclock.testing.oracle import reference
from waterclock.testing.player import Player, check_place
from waterclock.testing.steps import Advance, Crash, End, Feed, Look, Step, Wait
from waterclock.testing.tables import Cell, Mark, Table
from waterclock.testing.times import TODAY, Times
from waterclock.testing.values import Expected, events_of, expected_of, expected_rows, projected, rows_of
from waterclock.time import BEGINNING, FOREVER, Duration, micros

MEMORY = Path("/dev/shm")
ROOM = 256 << 20

Program = App | Callable[[], App] | str | os.PathLike[str]
Rows = str | Table | pl.DataFrame | Sequence[Any] | Mapping[str, Any]


def crash(place: str | None = None) -> Crash:
    """A value between rows that are fed: the process dies there, or later at ``place``, and goes on from its store."""
    if place is not None:
        check_place(place)
    return Crash(place)


def events(text: str) -> Table:
    """A table of events, to feed it or to expect it more than once."""
    return Table(text)


class TestStream:
    """A program under test. It needs no Java; nothing is read from its sources and nothing is written to its sinks.

    Every step returns when all that follows from it is computed, and returns the ``TestStream`` itself. ``day`` is the
    day of times such as ``10:00``.
    """

    __test__ = False  # it is not one of pytest's classes

    def __init__(
        self, program: Program | None = None, params: Mapping[str, Any] | None = None, *, day: str = TODAY,
        beside: str | os.PathLike[str] | None = None,
    ) -> None:  # fmt: skip
        self.times = Times(day)
        self._beside = Path(beside) if beside is not None else None
        """Where files are looked for before the working directory."""
        self._folder = Path(tempfile.mkdtemp(prefix="waterclock-test-", dir=_fast()))
        self._app: App | None = None
        self._player: Player | None = None
        self._gone = weakref.finalize(self, _end, None, self._folder)
        self._steps: list[Step] = []
        self._armed: str | None = None
        """Where the next step is to crash."""
        if program is not None:
            self.load(program, params)

    # -- steps ---------------------------------------------------------------------------------------------

    def load(self, program: Program, params: Mapping[str, Any] | None = None) -> TestStream:
        """Takes an app, a function that makes one, a file in SQL or Python, or a program in SQL as text."""
        if self._player is not None:
            raise ConfigError("TEST.LOADED_TWICE")
        self._app = app = self._made(program, params)
        if not app._declared.outputs:
            raise ConfigError("PLAN.NO_OUTPUT", app=app.name)
        player = Player(app._declared, self._folder)
        player.open()
        self._player = player
        self._gone.detach()
        self._gone = weakref.finalize(self, _end, self._player, self._folder)
        return self

    def feed(self, stream: str, rows: Rows, at: str | int | None = None) -> TestStream:
        """Gives a stream rows that arrive together: a table as text, or what ``push`` takes.

        Between rows there may be ``crash()``, in a table ``!crash``, and ``!advance 10:05``. ``at`` is what the clock
        shows when they arrive; without it, it is never behind them.
        """
        declaration = self._declaration(stream)
        if self._playing.time(stream) == FOREVER:
            raise ConfigError("TEST.ENDED", stream=stream)
        for part in self._parts(rows, declaration):
            if isinstance(part, Crash):
                self.crash(part.place)
            elif isinstance(part, Mark):
                self._advance(self._moment("advance", part.argument, {}), stream)
            else:
                frame, rejected = to_frame(part, declaration)
                arrival = self._arrival(frame, declaration)
                if at is not None:
                    arrival = self.times.read(str(at))
                    self._not_back("The clock", self._playing.now, arrival)
                self._do(Feed(stream, frame, arrival, tuple(rejected)))
        return self

    def advance(self, to: str | int | None = None, stream: str | None = None, **by: float) -> TestStream:
        """Moves the time (CTI) of all streams, or of one, and the clock: to ``"10:05"``, or by
        ``"+5m"`` or ``minutes=5``."""
        self._advance(self._moment("advance", to, by), stream)
        return self

    def wait(self, duration: Duration | None = None, **by: float) -> TestStream:
        """Lets the clock go on with nothing arriving: ``"30s"`` or ``seconds=30``. A stream whose declaration says so
        (``idle=``, ``IDLE AFTER``) goes on by itself, others stand still."""
        if duration is not None:
            by = {"microseconds": micros(duration), **by}
        self._do(Wait(self._moment("wait", None, by)))
        return self

    def end(self, *streams: str) -> TestStream:
        """Nothing follows in these streams, or in any: every window closes."""
        for name in streams:
            self._declaration(name)
        self._do(End(streams or tuple(self._following())))
        return self

    def crash(self, place: str | None = None) -> TestStream:
        """The process is killed, and started again on its store: now, or in the next step when it comes by ``place``,
        such as ``epoch.before_commit``."""
        crash(place)
        self._check_reached()
        if place is None:
            self._do(Crash())
        else:
            self._armed = place
        return self

    # -- looking -------------------------------------------------------------------------------------------

    def rows(self, output: str) -> pl.DataFrame:
        """All that an output has given, or that is in a stream, with ``valid_from`` and ``valid_to``."""
        self._schema(output)
        frame = self._playing.frame(output)
        self._steps.append(Look(output, tuple(events_of(frame))))
        return with_times(frame)

    def expect(self, output: str, rows: Rows) -> TestStream:
        """All that an output has given is this, logically: a table as text, dicts, or a frame.

        It may leave columns out, or the lifetimes.
        """
        __tracebackhide__ = True
        text = self.difference(output, rows)
        if text is not None:
            raise Differs(text)
        return self

    def difference(self, output: str, rows: Rows) -> str | None:
        """What ``expect`` would say."""
        schema = self._schema(output)
        expected = self.expected(output, rows)
        found = events_of(self._playing.frame(output))
        self._steps.append(Look(output, tuple(found)))
        text = difference(projected(found, expected), expected, schema, self.times)
        return None if text is None else self._told(output, "is not as expected", text)

    def expected(self, output: str, rows: Rows) -> Expected:
        """What a table or rows mean for an output."""
        schema = self._schema(output)
        if isinstance(rows, str):
            rows = Table(rows, f"the table for {output!r}")
        if isinstance(rows, Table):
            return expected_of(rows, output, schema, self.times) if rows.header else Expected(schema.names, True, [])
        if isinstance(rows, pl.DataFrame):
            rows = rows.to_dicts()
        if not isinstance(rows, list | tuple) or not all(isinstance(row, Mapping) for row in rows):
            fix = "Expect a table as text, a list of dicts or a Polars frame."
            raise ConfigError("CONFIG.BAD_OPTION", option="rows", value=rows, fix=fix)
        return expected_rows(rows, output, schema, self.times) if rows else Expected(schema.names, True, [])

    def expect_same_as_reference(self) -> TestStream:
        """Every output has given what the definitions say, by the slow evaluator."""
        __tracebackhide__ = True
        self._check_reached()
        for output, wanted in reference(self._playing).items():
            schema, found = self._schema(output), events_of(self._playing.frame(output))
            frame = pl.DataFrame(
                [{VS: vs, VE: ve, **payload} for vs, ve, payload in wanted], schema=schema.frame_schema(), orient="row"
            )
            text = difference(found, Expected(schema.names, True, events_of(frame)), schema, self.times)
            if text is not None:
                raise Differs(self._told(output, "is not what the definitions say", text))
        return self

    def late(self, stream: str) -> int:
        """How many rows of a stream came late, whatever was done with them."""
        return sum(number for name, number in self.counts(stream).items() if name.startswith("late_"))

    def counts(self, stream: str) -> dict[str, int]:
        """What became of the rows of a stream: ``rows`` taken, ``late_dropped``, ``bad_skipped``, ``quarantined``..."""
        self._declaration(stream)
        return dict(self._playing.catalog.streams.get(stream).counters)

    def chaos(self, seed: int = 0, times: int = 20) -> TestStream:
        """Does all steps again ``times`` times, with rows in another order and otherwise cut, and with crashes; every
        look, and every output at the end, must see the same."""
        __tracebackhide__ = True
        self._check_reached()
        last = [Look(name, tuple(events_of(self._playing.frame(name)))) for name in self._playing.program.outputs]
        for number in range(times):
            text = disturbed(
                self._playing.program, [*self._steps, *last], self.times, self._folder, f"{seed}/{number}"
            )  # fmt: skip
            if text is not None:
                raise Differs(f"In run {number + 1} of chaos(seed={seed}, times={times}), {text}")
        return self

    def close(self) -> None:
        """Removes its store."""
        self._gone()

    def __enter__(self) -> TestStream:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()
        if kind is None:
            self._check_reached()

    # -- inside --------------------------------------------------------------------------------------------

    def _made(self, program: Program, params: Mapping[str, Any] | None) -> App:
        if isinstance(program, App):
            return program
        if callable(program):
            made = program()
            if not isinstance(made, App):
                fix = "A function that is loaded returns a wc.App."
                raise ConfigError("CONFIG.BAD_OPTION", option="program", value=made, fix=fix)
            return made
        text = os.fspath(program)
        if "\n" not in text and text.strip().endswith((".sql", ".py")):
            path = self._file(Path(text.strip()))
            argv = [f"{name}={value}" for name, value in (params or {}).items()]  # as the command line gives them
            return app_of(path, params=params, argv=argv, store=str(self._folder / "program"))
        return sql(text, params, store=self._folder / "program")

    def _file(self, path: Path) -> Path:
        """Beside the test first: what a test loads does not depend on where it is run."""
        places = [folder / path for folder in (self._beside, Path()) if folder is not None]
        for place in places:
            if place.is_file():
                return place
        looked = " and ".join({os.path.abspath(place): None for place in places})
        raise ConfigError("TEST.NO_PROGRAM", file=path, looked=looked)

    @property
    def _playing(self) -> Player:
        if self._player is None:
            raise ConfigError("TEST.NOT_LOADED")
        return self._player

    @property
    def _program(self) -> Declared:
        return self._playing.program

    def _do(self, step: Step) -> None:
        place, self._armed = self._armed, None
        died = self._playing.do(step, place)
        if place is not None and not died:
            raise ConfigError("TEST.NOT_REACHED", place=place, step=step)
        self._steps += [Crash(place)] if place is not None else []
        self._steps.append(step)

    def _check_reached(self) -> None:
        place, self._armed = self._armed, None
        if place is not None:
            raise ConfigError("TEST.NOT_REACHED", place=place, step="none")

    def _declaration(self, stream: str) -> Declaration:
        known = self._program.streams
        if stream not in known:
            choices, guess = ", ".join(known) or "none", did_you_mean(stream, list(known))
            raise ConfigError("TEST.NO_STREAM", name=stream, choices=choices, guess=guess)
        return known[stream][0]

    def _schema(self, output: str) -> Schema:
        self._check_reached()
        known = self._playing.catalog.streams.names()
        if output not in known:
            self._check_side(output)
            outputs = [*self._program.outputs, *(name for name in known if name not in self._program.outputs)]
            raise ConfigError(
                "RUN.NO_OUTPUT", name=output, choices=", ".join(outputs), guess=did_you_mean(output, outputs)
            )
        return self._playing.catalog.streams.get(output).declaration.schema

    def _check_side(self, name: str) -> None:
        """A stream such as ``clicks.late`` that is not kept: says what to declare."""
        assert self._app is not None
        try:
            self._app.read(name)
        except ConfigError as error:
            if error.code == "PLAN.NO_SIDE_STREAM":
                raise

    def _parts(self, rows: Rows, declaration: Declaration) -> list[Any]:
        """Rows that arrive together, and what happens between them."""
        if isinstance(rows, str):
            rows = Table(rows, f"the table for {declaration.name!r}")
        if isinstance(rows, Table):
            return self._table_parts(rows, declaration)
        if not isinstance(rows, Sequence):
            return [rows]
        parts: list[Any] = []
        for row in rows:
            if isinstance(row, Crash):
                parts.append(row)
            elif parts and isinstance(parts[-1], list):
                parts[-1].append(row)
            else:
                parts.append([row])
        return parts or [rows]

    def _table_parts(self, table: Table, declaration: Declaration) -> list[Any]:
        parts: list[Any] = []
        last: int | None = None
        for part in _runs(table):
            if isinstance(part, Mark):
                parts.append(self._mark(table, part))
                continue
            frame = rows_of(table, part, declaration, self.times, last)
            times = with_lifetime(frame.lazy(), declaration).select(VS).collect().to_series()
            last = times[-1]
            parts.append(frame)
        return parts

    def _mark(self, table: Table, mark: Mark) -> Crash | Mark:
        try:
            if mark.word == "crash":
                return crash(mark.argument or None)
            if not mark.argument.startswith("+"):
                self.times.read(mark.argument)
        except ConfigError as error:
            raise table.wrong(mark.cell, error.message.rstrip("."), error.hint) from None
        return mark

    def _arrival(self, frame: pl.DataFrame, declaration: Declaration) -> int | None:
        """The clock is never behind the rows."""
        times = with_lifetime(frame.lazy(), declaration).select(VS).filter(pl.col(VS) < LIMIT).collect().to_series()
        return max([*times, *([self._playing.now] if self._playing.now is not None else [])], default=None)

    def _moment(self, what: str, to: str | int | None, by: Mapping[str, float]) -> int:
        usage = {"advance": "advance('10:05') or advance(minutes=5)", "wait": "wait('30s') or wait(seconds=30)"}
        if (to is None) == (not by):
            raise ConfigError("TEST.WHEN", what=what, usage=usage[what])
        if to is not None and not str(to).startswith("+"):
            return self.times.read(str(to))
        try:
            written = str(to)[1:] if to is not None else " ".join(f"{number} {unit}" for unit, number in by.items())
            duration = micros(written)
        except ConfigError:
            raise ConfigError("TEST.WHEN", what=what, usage=usage[what]) from None
        if self._playing.now is None:
            raise ConfigError("TEST.NO_TIME", what=what)
        self._not_back("The clock", self._playing.now, self._playing.now + duration)
        return self._playing.now + duration

    def _advance(self, to: int, stream: str | None) -> None:
        streams = self._following() if stream is None else [self._declaration(stream).name]
        times = {name: self._playing.time(name) for name in streams}
        if times:
            slowest = min(times, key=lambda name: times[name])
            self._not_back(f"The stream {slowest!r}", times[slowest], to)
        self._do(Advance(tuple(name for name in streams if times[name] < to), to))

    def _following(self) -> list[str]:
        """Streams whose time does not come from another one."""
        return [name for name, (declaration, _) in self._program.streams.items() if declaration.time_from is None]

    def _not_back(self, what: str, now: int | None, to: int) -> None:
        if now is not None and to < now:
            shown = "its end" if now == FOREVER else self.times.show(now)
            raise ConfigError("TEST.BACKWARDS", what=what, now=shown, to=self.times.show(to))

    def _told(self, output: str, what: str, text: str) -> str:
        time = self._playing.time(output)
        shown = "it has ended" if time == FOREVER else "-∞" if time == BEGINNING else self.times.show(time)
        return f"{output} {what}: {text}\n  The time (CTI) of {output}: {shown}"


def _runs(table: Table) -> list[list[list[Cell]] | Mark]:
    found: list[list[list[Cell]] | Mark] = []
    for row in table.rows:
        if isinstance(row, Mark):
            found.append(row)
        elif found and isinstance(found[-1], list):
            found[-1].append(row)
        else:
            found.append([row])
    return found


def _fast() -> str | None:
    """In memory where that is possible: a test asks nothing of the disk."""
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        return str(MEMORY)
    return None


def _end(player: Player | None, folder: Path) -> None:
    if player is not None:
        player.close()
    shutil.rmtree(folder, ignore_errors=True)
