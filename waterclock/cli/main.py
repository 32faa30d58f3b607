"""The ``waterclock`` command."""

from __future__ import annotations

import sys
import traceback
from pkgutil import resolve_name
from typing import Any

import click

from waterclock import __version__
from waterclock.cli.show import error_text
from waterclock.errors import ConfigError, WaterclockError

CODES = "Exit codes: 0 done, 1 failed, 2 wrong argument or program, 130 interrupted."
COMMANDS = {
    "init": ("program:init", "Make a first project."),
    "run": ("run:run", "Run a program."),
    "lint": ("program:lint", "Check programs without running them."),
    "fmt": ("program:fmt", "Lay programs in SQL out."),
    "test": ("test:test", "Run the tests of a project."),
    "explain": ("explain:explain", "Explain a program without running it: plan, costs, state, guarantees."),
    "status": ("status:status", "Show the apps of a store."),
    "metrics": ("status:metrics", "Print the figures of a store's apps for Prometheus."),
    "streams": ("look:streams", "Show the streams of a store."),
    "tail": ("look:tail", "Show the last events of a stream, with their lifetimes."),
    "files": ("files:files", "Show the files that hold the events of a stream."),
    "query": ("query:query", "Answer a question in SQL about streams, outputs and state."),
    "filter": ("control:filters", "Leave out events that a query cannot digest."),
    "scale": ("control:scale", "Give the epochs of an output more or fewer tasks."),
    "drivers": ("drivers:drivers", "Show the drivers of a store's apps."),
    "move": ("drivers:move", "Let another driver run an output, without a pause."),
    "snapshot": ("snapshots:snapshots", "Global snapshots: all queries of an app at the same events."),
    "pin": ("snapshots:pins", "Keep events of a stream, whatever its retention says."),
    "gc": ("gc:gc", "Remove events that nothing needs any more."),
    "debug": ("debug:debug", "Execute a recorded epoch here and look at every frame on its way."),
    "verify": ("verify:verify", "Execute recorded epochs again and prove that they give the same."),
    "bundle": ("bundle:bundle", "Pack what some epochs need into one file, for a colleague."),
    "replay": ("replay:replay", "Run past events again, perhaps with another version."),
    "diff": ("diff:diff", "Compare two results: at which times are they different?"),
    "draw": ("draw:draw", "Draw the events of a stream and their lifetimes."),
    "doctor": ("doctor:doctor", "Check this machine."),
    "conformance": ("conformance:conformance", "Run a file of cases and compare what comes out."),
}
"""Where each one is, and what it does. Only the one that is called is imported."""


class Commands(click.Group):
    """Errors come out as code, message and hint, and as an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = resolve_name(f"waterclock.cli.{COMMANDS[cmd_name][0]}")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WaterclockError as error:
            if ctx.params["traceback"]:
                traceback.print_exc()
            click.echo(error_text(error.code, error.message, error.hint), err=True)
            # Of diff, 1 says that they differ.
            ctx.exit(2 if isinstance(error, ConfigError) or ctx.invoked_subcommand == "diff" else 1)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(130)


@click.group(cls=Commands, epilog=CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="waterclock %(version)s")
@click.option("--traceback", is_flag=True, help="Show where an error arose.")
def main(traceback: bool) -> None:
    """Reliable temporal streaming on Apache Spark.

    \b
    waterclock doctor                          is this machine ready?
    waterclock init hello                      make a first project
    waterclock explain app.sql                 what would it do?
    waterclock run app.sql --store ./store     run an app until Ctrl-C
    waterclock tail per_user --store ./store   see its newest results
    waterclock query "SELECT ..."              ask about what is there, or was
    """


if __name__ == "__main__":
    sys.exit(main())
