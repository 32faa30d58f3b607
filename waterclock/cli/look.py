"""``waterclock streams`` and ``tail``: what a store holds, while an app runs on it or not."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import polars as pl

from waterclock.catalog import Catalog, StreamRow
from waterclock.cli import show
from waterclock.connect.validity import FROM, TO, with_texts
from waterclock.runtime.log import StreamReader
from waterclock.schema import VE, VS
from waterclock.time import show_instant

POLL = 0.2


@click.command()
@show.store_option
@show.json_option
def streams(store: str, as_json: bool) -> None:
    """Show the streams of a store.

    Columns, rows, sequence numbers, time (CTI), late, bad and quarantined rows, size.

    \b
    waterclock streams --store ./store
    """
    with open_catalog(store) as catalog:
        found = [_stream(catalog, catalog.streams.get(name)) for name in catalog.streams.names()]
    if as_json:
        click.echo(json.dumps(found, indent=2))
    elif not found:
        click.echo("There are no streams in this store yet.")
    else:
        head = ["stream", "rows", "first", "next", "durable", "CTI", "late", "bad", "set aside", "on disk", "columns"]
        rows = [
            [s["name"], s["rows"], s["first"], s["next"], s["durable"], show.cti(s["cti"]), s["late"], s["bad"],
             s["quarantined"], show.size(s["bytes"]),
             ", ".join(f"{name} {kind}" for name, kind in s["columns"].items())]
            for s in found
        ]  # fmt: skip
        click.echo(show.table(head, rows))


@click.command()
@click.argument("stream")
@show.store_option
@click.option("-n", "number", type=click.IntRange(min=0), default=10, show_default=True, help="How many events.")
@click.option("-f", "--follow", is_flag=True, help="Keep printing new events until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def tail(stream: str, store: str, number: int, follow: bool, as_json: bool) -> None:
    """Show the last events of STREAM, with their lifetimes.

    \b
    waterclock tail per_user --store ./store
    waterclock tail per_user -n 0 --follow --json
    """
    with open_catalog(store) as catalog:
        row = catalog.streams.get(stream)
        reader = StreamReader(catalog, stream)
        reader.register(max(row.first, row.next - number))
        first, rows = reader.read_next()
        print_events(first, rows, as_json)
        while follow and not (row.ended and not rows.height):
            first, rows = reader.read_next()
            if rows.height:
                print_events(first, rows, as_json, head=False)
            else:
                time.sleep(POLL)
                row = catalog.streams.get(stream)


@contextmanager
def open_catalog(store: str) -> Iterator[Catalog]:
    catalog = Catalog.open(store)
    try:
        yield catalog
    finally:
        catalog.close()


def _stream(catalog: Catalog, row: StreamRow) -> dict[str, Any]:
    def counted(kind: str) -> int:
        return sum(number for name, number in row.counters.items() if name.startswith(kind))

    folder = Path(catalog.root) / "streams" / row.name
    return {
        "name": row.name,
        "columns": dict(row.declaration.schema),
        "rows": row.next - row.first,
        "first": row.first,
        "next": row.next,
        "durable": row.durable,
        "cti": row.cti,
        "ended": row.ended,
        "late": counted("late"),
        "bad": counted("bad"),
        "quarantined": counted("quarantined"),
        "counters": row.counters,
        "bytes": sum(file.stat().st_size for file in folder.glob("*") if file.is_file()),
    }


def print_events(first: int, rows: pl.DataFrame, as_json: bool = False, head: bool = True) -> None:
    numbers = pl.int_range(first, first + rows.height, eager=True).alias("seq")
    rows = rows.rename({name: f"{name}_" for name in ("seq", FROM, TO) if name in rows.columns})
    if as_json:
        click.echo(with_texts(rows).insert_column(0, numbers).write_ndjson(), nl=False)
        return
    payload = [name for name in rows.columns if name not in (VS, VE)]
    titles = ["seq", FROM, TO, *payload]
    cells = [
        [str(number), show_instant(vs), show_instant(ve), *map(text_of, values)]
        for number, (vs, ve, *values) in zip(numbers, rows.select(VS, VE, *payload).iter_rows(), strict=True)
    ]
    # Widths do not depend on the rows, so that what follows stays under its title.
    widths = [10, 26, 26, *(max(12, len(name)) for name in payload)]
    for line in [titles, *cells] if head else cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def text_of(value: object) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f").rstrip("0").rstrip(".")
    return "null" if value is None else str(value)
