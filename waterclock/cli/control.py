"""``waterclock filter`` and ``scale``: what can be said to an app while it runs."""

from __future__ import annotations

import json

import click

from waterclock.catalog import Catalog, Vertex
from waterclock.cli import show
from waterclock.errors import ConfigError, StoreError, did_you_mean
from waterclock.lang.sql.predicate import predicate as condition


@click.group(name="filter")
def filters() -> None:
    """Leave out events that a query cannot digest, without stopping it.

    A filter holds from the next epoch on, for that query alone; the events stay in their stream. An epoch that fails
    because of them is done again without them when the app is started again.
    """


@filters.command()
@click.argument("output")
@click.argument("predicate")
@click.option("--stream", metavar="NAME", help="Which input, if the query has several.")
@show.store_option
def add(output: str, predicate: str, stream: str | None, store: str) -> None:
    """Leave out the events for which PREDICATE, a condition in SQL, holds.

    \b
    waterclock filter add per_user "user = 'bob' AND n IS NULL" --store ./store
    """
    catalog = Catalog.open(store)
    try:
        vertex = vertex_of(catalog, output)
        if stream is None and len(vertex.inputs) > 1:
            fix = f"Name one of its inputs: --stream {' or '.join(vertex.inputs)}."
            raise ConfigError("CONFIG.BAD_OPTION", option="stream", value=stream, fix=fix)
        if stream is not None and stream not in vertex.inputs:
            fix = f"{output} reads {', '.join(vertex.inputs)}."
            raise ConfigError("CONFIG.BAD_OPTION", option="stream", value=stream, fix=fix)
        chosen = stream or vertex.inputs[0]
        condition(predicate, chosen, catalog.streams.get(chosen).declaration.schema)
        added = catalog.filters.add(output, chosen, predicate)
    finally:
        catalog.close()
    click.echo(f"filter {added.id}: {output} leaves out events of {chosen} where {predicate}, from its next epoch on")


@filters.command(name="list")
@show.store_option
@show.json_option
def list_(store: str, as_json: bool) -> None:
    """Show the filters of a store, those that were taken back too."""
    catalog = Catalog.open(store)
    try:
        found = [vars(each) for each in catalog.filters.all()]
    finally:
        catalog.close()
    if as_json:
        click.echo(json.dumps(found, indent=2))
    elif not found:
        click.echo("This store has no filters.")
    else:
        head = ["id", "output", "stream", "leaves out", "added", "from event", "to event", "holds"]
        rows = [
            [each["id"], each["vertex"], each["stream"], each["predicate"], show.when(each["added"]), each["since"],
             each["until"], not each["removed"]]
            for each in found
        ]  # fmt: skip
        click.echo(show.table(head, rows))


@filters.command()
@click.argument("number", type=int)
@show.store_option
def remove(number: int, store: str) -> None:
    """Take filter NUMBER back, from the next epoch on. What it left out before stays left out."""
    catalog = Catalog.open(store)
    try:
        held = catalog.filters.remove(number)
        known = ", ".join(str(each.id) for each in catalog.filters.all() if not each.removed)
    finally:
        catalog.close()
    if not held:
        fix = f"Filters that hold: {known or 'none'}."
        raise ConfigError("CONFIG.BAD_OPTION", option="number", value=number, fix=fix)
    click.echo(f"filter {number} was taken back")


@click.command()
@click.argument("output")
@click.argument("tasks")
@show.store_option
def scale(output: str, tasks: str, store: str) -> None:
    """Give every stage of OUTPUT's epochs so many TASKS, or 'auto' for what its rows are worth.

    From the next epoch on; state is cut by ranges of keys and need not be moved.

    \b
    waterclock scale per_user 8 --store ./store
    """
    if tasks != "auto" and (not tasks.isdigit() or int(tasks) < 1):
        raise ConfigError("CONFIG.BAD_OPTION", option="tasks", value=tasks, fix="Write a number from 1 on, or auto.")
    catalog = Catalog.open(store)
    try:
        vertex_of(catalog, output)
        catalog.epochs.set_tasks(output, None if tasks == "auto" else int(tasks))
    finally:
        catalog.close()
    many = "as many tasks as its rows are worth" if tasks == "auto" else f"{tasks} task{'s' * (tasks != '1')} a stage"
    click.echo(f"{output} has {many}, from its next epoch on")


def vertex_of(catalog: Catalog, name: str) -> Vertex:
    known = {vertex.name: vertex for vertex in catalog.epochs.vertices()}
    if name not in known:
        choices, guess = ", ".join(known) or "none", did_you_mean(name, list(known))
        raise StoreError("STORE.NO_OUTPUT", name=name, store=catalog.root, choices=choices, guess=guess)
    return known[name]
