"""What the commands of the time machine share: a program, and a store or bundle in which it was recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
import polars as pl

from waterclock.app import App
from waterclock.catalog import Catalog
from waterclock.cli import show
from waterclock.cli.file import FILE, load
from waterclock.connect.validity import FROM, TO
from waterclock.past.bundle import opened
from waterclock.schema import HASH, VE, VS
from waterclock.time import show_instant

SHOWN = 10


def program_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for add in (
        click.option("--app", "name", metavar="NAME", help="Which app of the file, if it has several."),
        click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter's value; repeatable."),
        click.option("--store", metavar="PATH", help="The store, or a bundle; without it, the program's store."),
        click.argument("file", type=FILE),
    ):  # fmt: skip
        command = add(command)
    return command


@contextmanager
def recorded_by(
    file: Path, store: str | None, name: str | None, params: tuple[str, ...]
) -> Iterator[tuple[App, Catalog]]:
    """The app and its store, to look at: nothing there is changed."""
    with opened(store) if store is not None else nullcontext() as folder:
        app = load(file, folder, name, params, looking=True)
        catalog = Catalog.open(app.store)
        try:
            yield app, catalog
        finally:
            catalog.close()


class EpochRange(click.ParamType[tuple[int, int | None]]):
    """``7``, ``3..9`` or ``3..``."""

    name = "A..B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int | None]:
        if isinstance(value, tuple):
            return value
        found = re.fullmatch(r"(\d+)(\.\.(\d+)?)?", value)
        if found is None:
            self.fail(f"{value!r} is not a range of epochs: write 7, 3..9 or 3..", param, ctx)
        first = int(found[1])
        last = first if found[2] is None else None if found[3] is None else int(found[3])
        if last is not None and last < first:
            self.fail(f"{value!r} ends before it begins.", param, ctx)
        return first, last


def rows_text(rows: pl.DataFrame, most: int = SHOWN) -> str:
    """The first rows as a table, with lifetimes as people read them."""
    payload = [name for name in rows.columns if name not in (VS, VE, HASH)]
    head = [*([FROM, TO] if VS in rows.columns else []), *payload]
    few = rows.head(most)
    times = (
        [[show_instant(vs), show_instant(ve)] for vs, ve in few.select(VS, VE).iter_rows()]
        if VS in few.columns
        else None
    )
    cells = [["null" if value is None else str(value) for value in row] for row in few.select(payload).iter_rows()]
    lines = cells if times is None else [[*time, *row] for time, row in zip(times, cells, strict=True)]
    text = show.table(head, lines)
    return text if rows.height <= most else f"{text}\n... {rows.height - most:,} more"
