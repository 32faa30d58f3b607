"""The ``waterclock`` command."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import click

from waterclock import __version__
from waterclock.cli.bundle import bundle
from waterclock.cli.conformance import conformance
from waterclock.cli.control import filters, scale
from waterclock.cli.debug import debug
from waterclock.cli.diff import diff
from waterclock.cli.doctor import doctor
from waterclock.cli.draw import draw
from waterclock.cli.drivers import drivers, move
from waterclock.cli.explain import explain
from waterclock.cli.files import files
from waterclock.cli.gc import gc
from waterclock.cli.look import streams, tail
from waterclock.cli.program import fmt, init, lint
from waterclock.cli.query import query
from waterclock.cli.replay import replay
from waterclock.cli.run import run
from waterclock.cli.show import error_text
from waterclock.cli.snapshots import pins, snapshots
from waterclock.cli.status import metrics, status
from waterclock.cli.test import test
from waterclock.cli.verify import verify
from waterclock.errors import ConfigError, WaterclockError

CODES = "Exit codes: 0 done, 1 failed, 2 wrong argument or program, 130 interrupted."


class Commands(click.Group):
    """Errors come out as code, message and hint, and as an exit code."""

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


for command in (
    init, run, lint, fmt, test, explain, status, metrics, streams, tail, files, query, filters, scale, drivers,
    move, snapshots, pins, gc, debug, verify, bundle, replay, diff, draw, doctor, conformance,
):  # fmt: skip
    main.add_command(command)

if __name__ == "__main__":
    sys.exit(main())
