"""``waterclock conformance``: cases of the temporal algebra, held against every way of running."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from waterclock.conformance import MODES, read_cases, run_cases


@click.command()
@click.argument("file", metavar="CASES.json", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--mode", type=click.Choice(MODES), default="reference", show_default=True,
    help="By the definitions, in this process, on Spark, or as one batch of Spark SQL.",
)  # fmt: skip
@click.option("--verbose", "-v", is_flag=True, help="Name the passed and skipped cases too.")
def conformance(file: Path, mode: str, verbose: bool) -> None:
    """Run a file of cases and compare what comes out.

    Exits with 0 if none failed, with 1 otherwise.

    \b
    waterclock conformance tests/cases/temporal.json
    waterclock conformance tests/cases/temporal.json --mode drain
    """
    try:
        cases = read_cases(file)
    except ValueError as error:
        raise click.UsageError(f"{file} cannot be read: {error}") from None
    count = Counter[str]()
    for outcome in run_cases(cases, mode):
        count[outcome.status] += 1
        if outcome.status == "failed" or verbose:
            click.echo(f"{outcome.status} {outcome.id}")
            for line in outcome.reason.splitlines():
                click.echo(f"    {line}")
    click.echo(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    if count["failed"]:
        raise click.exceptions.Exit(1)
