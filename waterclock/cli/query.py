"""``waterclock query``: a question to a store, while an app runs on it or not."""

from __future__ import annotations

import os
import sys
from typing import Any

import click
import polars as pl

from waterclock.asking.query import PLACES
from waterclock.asking.query import query as answer
from waterclock.cli import show
from waterclock.cli.file import given
from waterclock.cli.look import text_of
from waterclock.cli.progress import spark_progress
from waterclock.connect.validity import texts
from waterclock.errors import ConfigError

SHOWN = 100
"""Rows of a table on the screen; --limit, json and csv give more."""
NICE = 10
"""Apps on this machine go first."""


@click.command()
@click.argument("question")
@show.store_option
@click.option("--as-of", metavar="WHEN", help="A time, 'epoch 7 of NAME' or 'snapshot NAME'; default: now.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many rows.")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A value for :name in the question.")
@click.option("--on", type=click.Choice(PLACES), default="auto", show_default=True, help="Where it is answered.")
@click.option("--master", default="local[*]", show_default=True, metavar="M", help="Spark's, if it is answered there.")
@click.option("--all", "scan_all", is_flag=True, help="Read a large stream from its beginning to its end.")
def query(
    question: str, store: str, as_of: str | None, form: str, limit: int | None, params: tuple[str, ...], on: str,
    master: str, scan_all: bool,
) -> None:  # fmt: skip
    """Answer a QUESTION in SQL about streams, outputs and state (state.NAME).

    Nothing waits for it, and it changes nothing. GROUP BY without a window is over everything.

    \b
    waterclock query "SELECT user, COUNT(*) AS n FROM clicks GROUP BY user ORDER BY n DESC LIMIT 10"
    waterclock query "SELECT * FROM per_user WHERE START() >= TIMESTAMP '2026-11-18T09:00Z'" --as-of 2026-11-18T10:00
    waterclock query "SELECT * FROM state.per_user" --as-of "snapshot before-upgrade" --format csv
    """
    os.nice(NICE)
    options: dict[str, Any] = {"as_of": as_of, "on": on, "limit": limit, "params": given(params), "master": master}

    def answered(scan_all: bool) -> pl.DataFrame:
        with spark_progress("query", quiet=False):
            return answer(store, question, scan_all=scan_all, **options)

    try:
        rows = answered(scan_all)
    except ConfigError as error:
        if error.code != "QUERY.SCANS_ALL" or not sys.stdin.isatty():
            raise
        click.confirm(f"{error.message} Go on?", abort=True, err=True)
        rows = answered(True)
    if form == "json":
        click.echo(texts(rows).write_ndjson(), nl=False)
    elif form == "csv":
        click.echo(texts(rows).write_csv(), nl=False)
    else:
        click.echo(_table(rows if limit is not None else rows.head(SHOWN)))
        if limit is None and rows.height > SHOWN:
            click.echo(f"... and {rows.height - SHOWN:,} more rows (--limit {rows.height}, --format csv)", err=True)


def _table(rows: pl.DataFrame) -> str:
    cells = [[value if isinstance(value, int | float) else text_of(value) for value in row] for row in rows.iter_rows()]
    return show.table(rows.columns, cells)
