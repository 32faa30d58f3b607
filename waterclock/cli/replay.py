"""``waterclock replay``: a past segment run anew, beside production."""

from __future__ import annotations

from pathlib import Path

import click

from waterclock.app import MODES
from waterclock.cli.file import FILE, load
from waterclock.cli.live import LiveLine
from waterclock.cli.progress import progress
from waterclock.cli.recorded import program_options, recorded_by
from waterclock.cli.show import seconds
from waterclock.errors import ConfigError
from waterclock.past.rerun import copy_events, reach, rows_between
from waterclock.time import BEGINNING, FOREVER, instant, show_duration, show_instant


@click.command()
@program_options
@click.option(
    "--from", "start", metavar="TIME", help="Results from this event time on; without it, from the beginning."
)
@click.option("--to", "end", metavar="TIME", help="Up to this event time; without it, all there is.")
@click.option("--with", "other", type=FILE, metavar="FILE", help="Another version of the program.")
@click.option("--to-store", required=True, metavar="DIR", help="A new store for events and results.")
@click.option("--mode", type=click.Choice(MODES[1:3]), default="offline", show_default=True, help="See App.run.")
def replay(
    file: Path, store: str | None, params: tuple[str, ...], name: str | None, start: str | None, end: str | None,
    other: Path | None, to_store: str, mode: str,
) -> None:  # fmt: skip
    """Run a past segment of a store's events again, with this program or another version of it.

    Events are copied into a new store, also those before --from that results behind it depend on. Sources and sinks of
    the program are left alone, and nothing in the store is changed.

    \b
    waterclock replay app.py --store ./store --with new.py --from 2026-11-16T21:00Z --to-store ./try
    waterclock diff ./store:per_user ./try:per_user --from 2026-11-16T21:00Z
    """
    first, last = (BEGINNING if start is None else instant(start)), (FOREVER if end is None else instant(end))
    if last <= first:
        raise ConfigError("CONFIG.BAD_OPTION", option="--to", value=end, fix="It must be behind --from.")
    with recorded_by(file, store, name, params) as (app, catalog):
        if other is not None:
            app = load(other, app.store, name, params, looking=True)
        there = app.elsewhere(to_store)
        before = reach(there._declared)
        begin = BEGINNING if before is None or first == BEGINNING else max(BEGINNING, first - before)
        total = rows_between(catalog, app._streams, begin, last)
        with progress("copying", total) as bar:
            copied = copy_events(catalog, there._declared, begin, last, bar.advance)
    told = ", ".join(f"{rows:,} events of {stream}" for stream, rows in copied.items())
    if begin < first and begin != BEGINNING and before is not None:
        told += f" (from {show_instant(begin)} on: results depend on {show_duration(before)} before them)"
    click.echo(f"took {told}")
    with LiveLine(there, mode, quiet=False):
        handle = there.run(mode)
        handle.wait_until_stopped()
    status = handle.status()
    rows = ", ".join(f"{vertex.rows_out:,} of {vertex.name}" for vertex in status.vertices)
    click.echo(f"gave {rows} in {seconds(status.seconds or 0)}; store {to_store}")
