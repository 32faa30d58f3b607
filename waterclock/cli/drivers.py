"""``waterclock drivers`` and ``move``: who runs what, and giving a query to another driver while it runs."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from waterclock.catalog import Catalog
from waterclock.cli import show
from waterclock.cli.control import vertex_of
from waterclock.cli.look import open_catalog
from waterclock.errors import RunError, StoreError

LOOK = 0.05


@click.command()
@show.store_option
@show.json_option
def drivers(store: str, as_json: bool) -> None:
    """Show the drivers of a store's apps: which one leads, and what each runs.

    \b
    waterclock drivers --store ./store
    """
    with open_catalog(store) as catalog:
        found = [each for app in sorted({v.app for v in catalog.epochs.vertices()}) for each in _drivers(catalog, app)]
    if as_json:
        click.echo(json.dumps(found, indent=2))
    elif not found:
        click.echo("No driver is running.")
    else:
        head = ["app", "driver", "role", "runs", "lease left", "process"]
        rows = [
            [each["app"], each["driver"], each["role"], ", ".join(each["runs"]) or "-",
             show.seconds(each["lease_left"]), each["owner"]]
            for each in found
        ]  # fmt: skip
        click.echo(show.table(head, rows))


def _drivers(catalog: Catalog, app: str) -> list[dict[str, Any]]:
    there, hostings = catalog.leases.drivers_of(app), catalog.hosts.all(app)
    leader = catalog.leases.leader(app)
    return [
        {
            "app": app,
            "driver": name,
            "role": ("leads" if name == leader else "stands by") if held.alive else "dead",
            "runs": [vertex for vertex, hosting in hostings.items() if name in hosting.drivers(leader, there)],
            "lease_left": round(catalog.leases.left(held), 3),
            "owner": held.owner,
        }
        for name, held in there.items()
    ]


@click.command()
@click.argument("output")
@click.argument("driver")
@show.store_option
@click.option("--no-wait", is_flag=True, help="Do not wait until it runs there alone.")
@click.option("--timeout", type=float, default=60.0, show_default=True, metavar="SECONDS", help="For so long at most.")
def move(output: str, driver: str, store: str, no_wait: bool, timeout: float) -> None:
    """Let DRIVER run OUTPUT, without a pause.

    Both drivers run it until the new one keeps up; of each epoch the first commit counts. The old one drops it then.

    \b
    waterclock move per_user b --store ./store
    """
    with open_catalog(store) as catalog:
        app = vertex_of(catalog, output).app

        def told() -> list[str]:
            there = catalog.leases.drivers_of(app)
            if driver not in there or not there[driver].alive:
                choices = ", ".join(there) or "none"
                raise StoreError("STORE.NO_DRIVER", app=app, name=driver, choices=choices)
            hosting = catalog.hosts.all(app)[output]
            now = hosting.drivers(catalog.leases.leader(app), there)
            if now != {driver}:
                catalog.hosts.set(output, [*sorted(now - {driver}), driver], driver)
            return sorted(now)

        before = catalog.transact(told)
        if before == [driver]:
            click.echo(f"{output} runs in {driver} already")
            return
        if no_wait:
            click.echo(f"{output} is moving from {', '.join(before)} to {driver}")
            return
        deadline = time.monotonic() + timeout
        while (hosting := catalog.hosts.all(app)[output]).moving == driver:
            if time.monotonic() > deadline:
                raise RunError("RUN.STILL_MOVING", output=output, driver=driver, seconds=timeout)
            time.sleep(LOOK)
        now = hosting.drivers(catalog.leases.leader(app), catalog.leases.drivers_of(app))
        if now != {driver}:
            raise RunError("RUN.NOT_MOVED", output=output, driver=driver, now=", ".join(sorted(now)))
        click.echo(f"{output} runs in {driver}")
