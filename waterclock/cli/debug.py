"""``waterclock debug``: a recorded epoch on a desk, operator by operator."""

from __future__ import annotations

import cmd
import sys
from collections.abc import Callable
from pathlib import Path

import click
import polars as pl

from waterclock.cli.recorded import program_options, recorded_by, rows_text
from waterclock.cli.show import error_text
from waterclock.cli.tracing import Tracer
from waterclock.errors import WaterclockError
from waterclock.past.debug import Debugger
from waterclock.past.epochs import recorded
from waterclock.runtime.observer import Seen
from waterclock.time import show_instant

MOST = 40


@click.command()
@program_options
@click.option("--vertex", required=True, metavar="NAME", help="The output whose epoch it is.")
@click.option("--epoch", type=click.IntRange(min=0), metavar="N", help="The epoch to stand before.")
@click.option("--row", type=click.IntRange(min=0), metavar="SEQ", help="The epoch that gave this row of the output.")
@click.option(
    "--partition",
    type=click.IntRange(min=0),
    metavar="P",
    help="Show this task of each stage only: its input, keys and rows.",
)
@click.option("--pdb", "trace", is_flag=True, help="Stop in Python's debugger where your code is called.")
@click.option("-c", "commands", metavar="TEXT", help="Do these commands, separated by semicolons, and leave.")
def debug(
    file: Path, store: str | None, params: tuple[str, ...], name: str | None, vertex: str,
    epoch: int | None, row: int | None, partition: int | None, trace: bool, commands: str | None,
) -> None:  # fmt: skip
    """Execute a recorded epoch in this process, without Java, and look at every frame on its way.

    Loads the state before the epoch and the input that is recorded. breakpoint() works in your functions. Nothing in
    the store is changed. Commands come from the terminal, from a pipe or from -c; help lists them.

    \b
    waterclock debug app.py --store ./store --vertex per_user --epoch 1234
    waterclock debug app.py --store ./store --vertex per_user --row 17 -c 'inputs; run; steps'
    """
    if (epoch is None) == (row is None):
        raise click.UsageError("Give --epoch or --row.")
    with recorded_by(file, store, name, params) as (app, catalog):
        (found,) = recorded(app._declared, catalog, vertex)
        at = epoch if epoch is not None else found.epoch_of(row or 0)
        with Debugger(found, at, partition) as debugger:
            desk = Desk(debugger, vertex if partition is None else f"{vertex}, partition {partition}")
            if trace:
                desk.cmdqueue = ["pdb"]
            if commands is not None:
                desk.cmdqueue += [*(each.strip() for each in commands.split(";")), "quit"]
            desk.cmdloop()


class Desk(cmd.Cmd):
    prompt = "(waterclock) "

    def __init__(self, debugger: Debugger, vertex: str) -> None:
        super().__init__()
        self._debugger = debugger
        self._vertex = vertex
        self._at = -1
        """The step that is shown."""
        self.use_rawinput = sys.stdin.isatty()
        if not self.use_rawinput:
            self.prompt = ""
        self.intro = self._where()

    def onecmd(self, line: str) -> bool:
        try:
            return super().onecmd(line)
        except WaterclockError as error:
            click.echo(error_text(error.code, error.message, error.hint))
            return False

    def emptyline(self) -> bool:
        return False

    def do_EOF(self, _: str) -> bool:
        """The end of the commands."""
        return True

    def default(self, line: str) -> None:
        click.echo(f"There is no command {line.split()[0]!r}; help lists them.")

    def do_where(self, _: str) -> None:
        """where: the epoch, what it takes, and whether it was executed."""
        click.echo(self._where())

    def do_inputs(self, text: str) -> None:
        """inputs [STREAM]: the events that the epoch takes."""
        self._show(self._debugger.inputs, text)

    def do_state(self, text: str) -> None:
        """state [OPERATOR]: what is remembered; before the epoch until it was executed, then after it."""
        frames = {
            f"{label}, {table}": rows
            for label, tables in self._debugger.state.items()
            for table, rows in tables.items()
        }
        self._show(frames, text, "nothing is remembered")

    def do_run(self, _: str) -> None:
        """run: execute the epoch, or the next one."""
        self._run(lambda work: work())

    def do_pdb(self, _: str) -> None:
        """pdb: execute the epoch under Python's debugger, which stops where your code is first called."""
        codes = self._debugger.codes
        asks = Tracer(codes) if self.use_rawinput else Tracer(codes, sys.stdin, sys.stdout)
        names = ", ".join(sorted({code.name for code in codes}))
        if not codes:
            click.echo("it calls no code of yours: stopping where its operators are stepped")
        self._run(asks.run_epoch)
        if asks.left:
            click.echo("left before its end: it counts as not executed")
        elif codes and not asks.arrived:
            click.echo(f"this epoch does not call your code ({names})")

    def do_step(self, text: str) -> None:
        """step [N]: show what the next operator took and gave; step 3 shows the third."""
        if not self._debugger.steps:
            self._run(lambda work: work())
        steps = self._debugger.steps
        self._at = int(text) if text.isdigit() else self._at + 1
        if not 0 <= self._at < len(steps):
            click.echo(f"The epoch has {len(steps)} steps, numbered from 0; next goes to the next epoch.")
            return
        click.echo(self._step(self._at, steps[self._at]))

    def do_steps(self, _: str) -> None:
        """steps: all operators in their order, with the rows that they took and gave."""
        if not self._debugger.steps:
            self._run(lambda work: work())
        for number, seen in enumerate(self._debugger.steps):
            click.echo(self._line(number, seen))

    def do_output(self, _: str) -> None:
        """output: what the epoch gives here."""
        self._rows(self._debugger.output)

    def do_recorded(self, _: str) -> None:
        """recorded: what it gave when it was recorded, all partitions together."""
        self._rows(self._debugger.recorded)

    def do_next(self, _: str) -> None:
        """next: on to the next epoch, without executing it."""
        self._debugger.next()
        self._at = -1
        click.echo(self._where())

    def do_quit(self, _: str) -> bool:
        """quit: leave. Nothing was changed."""
        return True

    def _run(self, call: Callable[..., object]) -> None:
        self._at = -1
        steps = self._debugger.run(call)
        if self._debugger.error is not None:
            error = self._debugger.error
            click.echo(error_text(error.code, error.message, error.hint))
        click.echo(f"epoch {self._debugger.epoch}: {len(steps)} steps" + (", failed" if self._debugger.error else ""))

    def _where(self) -> str:
        debugger = self._debugger
        taken = ", ".join(
            f"{name} {each.start}..{each.end - 1} ({each.end - each.start} rows, to {show_instant(each.new)})"
            if each.end > each.start else f"{name}: no rows, to {show_instant(each.new)}"
            for name, each in debugger.intent.inputs.items()
        )  # fmt: skip
        stands = "executed" if debugger.is_done else "failed" if debugger.error else "not executed yet"
        return f"epoch {debugger.epoch} of {self._vertex}, {stands}; takes {taken}"

    def _line(self, number: int, seen: Seen) -> str:
        took = sum(frame.height for frame in seen.taken.values())
        gave = "failed" if seen.given is None else f"{seen.given.height} out"
        return f"{number:>3}  task {seen.task[0]}.{seen.task[1]}  {took} in, {gave}  {seen.operator.label}"

    def _step(self, number: int, seen: Seen) -> str:
        parts = [self._line(number, seen)]
        frames = {**{f"took {name}": rows for name, rows in seen.taken.items()},
                  **{f"remembered {name}": rows for name, rows in seen.state.items()},
                  **{f"adds to {name}": rows for name, rows in seen.added.items()}}  # fmt: skip
        if seen.given is not None:
            frames["gave"] = seen.given
        for title, rows in frames.items():
            parts += [f"  {title}: {rows.height} rows", *(f"    {line}" for line in rows_text(rows, MOST).splitlines())]
        return "\n".join(parts)

    def _show(self, frames: dict[str, pl.DataFrame], wanted: str, none: str = "nothing") -> None:
        chosen = {name: rows for name, rows in frames.items() if wanted in name}
        for name, rows in chosen.items():
            click.echo(f"{name}: {rows.height} rows")
            self._rows(rows)
        if not chosen:
            click.echo(none if not wanted else f"{wanted!r} is none of: {', '.join(frames)}")

    def _rows(self, rows: pl.DataFrame) -> None:
        click.echo("\n".join(f"  {line}" for line in rows_text(rows, MOST).splitlines()))
