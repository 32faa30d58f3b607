"""``waterclock gc``: what of a store may go, what holds the rest, and removing it."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from waterclock.catalog import Catalog
from waterclock.cli import show
from waterclock.runtime.garbage import Garbage, collectable
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.store import Store


@click.command()
@show.store_option
@show.json_option
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
def gc(store: str, as_json: bool, dry_run: bool) -> None:
    """Remove events that nothing needs any more.

    A running app does this by itself. An event goes when every query that reads it has
    made durable what it made of it, and the retention of its stream does not keep it.

    \b
    waterclock gc --dry-run --store ./store
    """
    catalog = Catalog.open(store)
    try:
        found = [collectable(catalog, catalog.streams.get(name)) for name in catalog.streams.names()]
        running = sorted(name for name in catalog.leases.holders() if name.startswith("app "))
        if not dry_run:
            for app in sorted({vertex.app for vertex in catalog.epochs.vertices()}):
                if f"app {app}" not in running:
                    _collect(store, app)
    finally:
        catalog.close()
    if as_json:
        click.echo(json.dumps([asdict(each) for each in found], indent=2))
        return
    head = ["stream", "first", "next", "may go", "bytes", "the rest is kept by", "low-water mark", "held by"]
    click.echo(show.table(head, [_row(each) for each in found]))
    if not dry_run and running:
        click.echo(f"left to the running process: {', '.join(name.removeprefix('app ') for name in running)}")


def _collect(store: str, app: str) -> None:
    own = Catalog.open(store)
    lease = own.leases.acquire(f"app {app}")
    opened = Store(own, lease)
    try:
        names = [vertex.name for vertex in own.epochs.vertices() if vertex.app == app]
        keeper = Keeper(opened, names)
        keeper.tidy()
        keeper.sweep()
    finally:
        opened.close()


def _row(each: Garbage) -> list[object]:
    going = each.end - each.first
    return [each.stream, each.first, each.next, going, show.size(each.bytes), each.kept, each.hold.seq, each.hold.who]
