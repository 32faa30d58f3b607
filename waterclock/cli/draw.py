"""``waterclock draw``: events of a stream on a time axis."""

from __future__ import annotations

from pathlib import Path

import click

from waterclock.cli import show
from waterclock.cli.progress import progress
from waterclock.results import between, of_stream
from waterclock.timeline import timeline


@click.command()
@click.argument("stream")
@show.store_option
@click.option("--from", "start", metavar="TIME", help="Draw what is alive from then on.")
@click.option("--to", "end", metavar="TIME", help="Draw what is alive before then.")
@click.option("--by", metavar="KEYS", help="Columns, with commas: a lane for each key.")
@click.option("-o", "out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Not to stdout.")
def draw(stream: str, store: str, start: str | None, end: str | None, by: str | None, out: Path | None) -> None:
    """Draw the events of STREAM and their lifetimes as SVG.

    Bars are lifetimes, dots are points, arrows are open ends; the dashed line is the CTI. What there is no room for is
    left out, and said.

    \b
    waterclock draw totals --store ./store --by user -o totals.svg
    waterclock draw totals --from 2026-01-05T10:00 --to 2026-01-05T11:00 > totals.svg
    """
    low, high = between(start, end)
    with progress(f"reading {stream}", None) as bar:
        found = of_stream(store, stream, low, high, bar.rows)
    keys = [name.strip() for name in by.split(",")] if by else []
    drawn = timeline(found, keys, low, high)
    if out is None:
        click.echo(drawn.svg, nl=False)
    else:
        try:
            drawn.save(out)
        except OSError as error:
            raise click.BadParameter(f"{out}: {error.strerror}", param_hint="-o") from None
        click.echo(f"drawn: {out}", err=True)
    for words in drawn.left_out:
        click.echo(f"left out: {words}", err=True)
