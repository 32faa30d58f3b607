"""``waterclock files``: where the events of a stream are, for programs that read Parquet themselves."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from waterclock.catalog.files import GROWING, files_of
from waterclock.cli import show


@click.command()
@click.argument("stream")
@show.store_option
@show.json_option
def files(stream: str, store: str, as_json: bool) -> None:
    """Show the files that hold the events of STREAM, in order.

    Any program can open those in Parquet: all columns, with the lifetime as _vs and _ve
    in microseconds. The newest events are in files of Arrow blocks until they are merged;
    how many is said, for a program that reads only Parquet does not see them.

    \b
    waterclock files per_user --store ./store
    """
    found = files_of(store, stream)
    if as_json:
        click.echo(json.dumps([{**asdict(each), "path": str(each.path)} for each in found], indent=2))
        return
    head = ["first", "rows", "format", "file"]
    click.echo(show.table(head, [[each.first, each.rows, each.format, str(each.path)] for each in found]))
    if late := sum(each.rows for each in found if each.format == GROWING):
        rows = sum(each.rows for each in found)
        click.echo(
            f"{late:,} of {rows:,} events are not in Parquet yet: a running app, or waterclock gc, merges 16 pieces at "
            "a time. Spark and waterclock query read all of them.",
            err=True,
        )
