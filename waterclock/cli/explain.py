"""``waterclock explain``: what a program is, stage by stage, as text and as a drawing."""

from __future__ import annotations

from pathlib import Path

import click

from waterclock.cli.file import FILE, load
from waterclock.cli.program import checked, show_errors
from waterclock.errors import ConfigError
from waterclock.explain import STAGES, drawing, explained


@click.command()
@click.argument("file", type=FILE)
@click.option("--stage", type=click.Choice(STAGES), help="One stage of the way; without it a page about every output.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Draw it into FILE too.")
@click.option("--store", metavar="DIR", help="Use what this store has measured, not assumptions.")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="The value of a parameter; repeatable.")
@click.option("--app", "name", metavar="NAME", help="Which app of the file, if it has several.")
def explain(
    file: Path, stage: str | None, svg: Path | None, store: str | None, params: tuple[str, ...], name: str | None
) -> None:
    """Explain the program in FILE without running it: plan, costs, state, guarantees.

    \b
    waterclock explain examples/alerts.sql                    a page about every output
    waterclock explain app.sql --stage physical --svg app.svg what runs, as text and as a drawing
    waterclock explain app.sql --stage spark                  the jobs, and the SQL of batch mode
    """
    if file.suffix == ".sql":
        errors, _ = checked(file, params)
        if errors:
            show_errors(errors)
            raise SystemExit(2)
    app = load(file, store, name, params, looking=True)
    program = app.described()
    if not program.outputs:
        raise ConfigError("PLAN.NO_OUTPUT", app=app.name)
    click.echo(explained(program, stage))
    if svg is not None:
        try:
            svg.write_text(drawing(program, stage), encoding="utf-8")
        except OSError as error:
            raise click.BadParameter(f"{svg}: {error.strerror}", param_hint="--svg") from None
        click.echo(f"drawn: {svg}", err=True)
