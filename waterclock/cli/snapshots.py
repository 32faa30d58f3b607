"""``waterclock snapshot`` and ``pin``: what a store keeps because somebody said so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import click

from waterclock.catalog import Catalog, GlobalSnapshot, Pin
from waterclock.cli import show
from waterclock.cli.look import open_catalog
from waterclock.errors import ConfigError, StoreError, did_you_mean
from waterclock.runtime.barriers import begin, completed
from waterclock.time import instant


@click.group(name="snapshot")
def snapshots() -> None:
    """Global snapshots: all queries of an app as they were at the same events.

    Everything behind one is kept, so that it can be executed again and compared. Nothing stops for it.
    """


@snapshots.command()
@click.argument("name", required=False)
@click.option("--app", metavar="NAME", help="Which app, if the store has several.")
@show.store_option
@click.option("--wait", type=click.FloatRange(min=0), metavar="SECONDS", help="Wait until it is complete.")
def create(name: str | None, app: str | None, store: str, wait: float | None) -> None:
    """Begin a snapshot where the streams end now; the running app completes it.

    With a NAME it is kept until it is removed, else as long as it is one of the newest.

    \b
    waterclock snapshot create before-upgrade --store ./store --wait 60
    """
    with open_catalog(store) as catalog:
        begun = begin(catalog, _app(catalog, app), name)
        found = completed(catalog, begun, wait) if wait is not None else begun
    how = "is complete" if found.state == "complete" else "has begun; it is completed while the app runs"
    click.echo(f"snapshot {found.label} of {found.app} {how}")


@snapshots.command(name="list")
@show.store_option
@show.json_option
def list_snapshots(store: str, as_json: bool) -> None:
    """Show the snapshots of a store, the last abandoned ones too."""
    with open_catalog(store) as catalog:
        found = [_described(each) for each in catalog.snapshots.all()]
    if as_json:
        click.echo(json.dumps(found, indent=2))
    elif not found:
        click.echo("This store has no snapshots.")
    else:
        head = ["id", "name", "app", "state", "begun", "took", "epochs"]
        rows = [
            [each["id"], each["name"], each["app"], each["state"], show.when(each["requested"]),
             None if each["seconds"] is None else show.seconds(each["seconds"]),
             ", ".join(f"{vertex} {part['epoch']}" for vertex, part in each["parts"].items()) or None]
            for each in found
        ]  # fmt: skip
        click.echo(show.table(head, rows))


@snapshots.command(name="remove")
@click.argument("snapshot")
@show.store_option
def remove_snapshot(snapshot: str, store: str) -> None:
    """Remove a SNAPSHOT by its name or number; what only it has kept may go."""
    with open_catalog(store) as catalog:
        known = catalog.snapshots.all()
        found = next((each for each in known if snapshot in (each.name, str(each.id))), None)
        if found is None:
            names = [each.name or str(each.id) for each in known]
            raise _unknown("STORE.NO_SNAPSHOT", snapshot, names, catalog)
        catalog.transact(partial(catalog.snapshots.remove, [found.id]))
    click.echo(f"snapshot {found.label} of {found.app} was removed")


def _described(each: GlobalSnapshot) -> dict[str, Any]:
    seconds = None if each.finished is None else (each.finished - each.requested) / 1e6
    return {**asdict(each), "seconds": seconds}


def _app(catalog: Catalog, given: str | None) -> str:
    known = sorted({vertex.app for vertex in catalog.epochs.vertices()})
    if given is None and len(known) > 1:
        fix = f"Say of which app: --app {' or '.join(known)}."
        raise ConfigError("CONFIG.BAD_OPTION", option="app", value=given, fix=fix)
    name = given if given is not None else next(iter(known), "")
    if name not in known:
        raise _unknown("STORE.NO_APP", name, known, catalog)
    return name


@click.group(name="pin")
def pins() -> None:
    """Keep events of a stream, whatever its retention says."""


@pins.command()
@click.argument("streams", metavar="[STREAM]...", nargs=-1)
@click.option("--from", "start", metavar="SEQ|TIME", help="An event's number, or a time; else the first one there.")
@click.option("--name", metavar="NAME", help="Default: that of the stream.")
@show.store_option
def add(streams: tuple[str, ...], start: str | None, name: str | None, store: str) -> None:
    """Keep the events of STREAMs from one on; with a NAME and no STREAM, of all streams.

    From a time: all events that start then or later. They can be asked for as of any time since: waterclock query.
    What queries remember is kept by snapshots: waterclock snapshot create.

    \b
    waterclock pin add clicks --from 2026-11-18T09:00 --name incident --store ./store
    waterclock pin add --name everything --store ./store
    """
    if not streams and name is None:
        raise ConfigError("CONFIG.BAD_OPTION", option="name", value=None, fix="Name a stream, or all: --name NAME.")
    with open_catalog(store) as catalog:

        def pin_all() -> list[Pin]:
            taken = {pin.name: pin.stream for pin in catalog.pins.all()}
            every = streams or catalog.streams.names()
            return [_pinned(catalog, name or each, each, start, taken) for each in every]

        pins = catalog.transact(pin_all)
    for pin in pins:
        click.echo(f"pin {pin.name!r}: events of {pin.stream} are kept from {pin.seq} on")


@pins.command(name="list")
@show.store_option
@show.json_option
def list_pins(store: str, as_json: bool) -> None:
    """Show the pins of a store."""
    with open_catalog(store) as catalog:
        found = catalog.pins.all()
    if as_json:
        click.echo(json.dumps([asdict(pin) for pin in found], indent=2))
    elif not found:
        click.echo("This store has no pins.")
    else:
        rows = [[pin.name, pin.stream, pin.seq, show.when(pin.added)] for pin in found]
        click.echo(show.table(["name", "stream", "from event", "added"], rows))


@pins.command(name="remove")
@click.argument("name")
@show.store_option
def remove_pin(name: str, store: str) -> None:
    """Remove the pin NAME; retention decides again."""
    with open_catalog(store) as catalog:
        known = [pin.name for pin in catalog.pins.all()]
        if not catalog.transact(partial(catalog.pins.remove, name)):
            raise _unknown("STORE.NO_PIN", name, known, catalog)
    click.echo(f"pin {name!r} was removed")


def _pinned(catalog: Catalog, name: str, stream: str, start: str | None, taken: Mapping[str, str]) -> Pin:
    pin = None if name in taken else catalog.pins.add(name, stream, _seq(catalog, stream, start))
    if pin is None:
        raise StoreError("STORE.PIN_THERE", name=name, stream=taken.get(name, stream))
    return pin


def _seq(catalog: Catalog, stream: str, start: str | None) -> int | None:
    if start is None or start.isdigit():
        return None if start is None else int(start)
    row = catalog.streams.get(stream)
    found = catalog.streams.first_after(stream, instant(start) - 1, row.first)  # retention removes whole segments
    return row.next if found is None else found


def _unknown(code: str, name: str, known: list[str], catalog: Catalog) -> StoreError:
    choices, guess = ", ".join(known) or "none", did_you_mean(name, known)
    return StoreError(code, name=name, store=catalog.root, choices=choices, guess=guess)
