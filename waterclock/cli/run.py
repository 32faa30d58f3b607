"""``waterclock run``: a program file, its app, a live line, a summary."""

from __future__ import annotations

import traceback
from pathlib import Path

import click

from waterclock.app import MODES, App, lease_micros
from waterclock.batch import BatchHandle
from waterclock.cli.file import FILE, load
from waterclock.cli.live import LiveLine, summary
from waterclock.cli.look import print_events
from waterclock.cli.progress import spark_progress
from waterclock.connect.validity import check_free, with_times
from waterclock.errors import ConfigError, WaterclockError

SHOWN = 20


@click.command()
@click.argument("file", type=FILE)
@click.option("--store", metavar="DIR", help="Use this store, not the program's.")
@click.option(
    "--catalog", metavar="URL", help="The PostgreSQL database of a new store's catalog; also $WATERCLOCK_CATALOG."
)
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="The value of a parameter; repeatable.")
@click.option("--mode", type=click.Choice(MODES), default="live", show_default=True, help="See App.run.")
@click.option("--app", "name", metavar="NAME", help="Which app of the file, if it has several.")
@click.option("--master", metavar="M", help="Spark's master, such as 'local[4]' or 'spark://host:7077'.")
@click.option(
    "--metrics-port", type=click.IntRange(0, 65535), metavar="N", help="Serve /metrics there; 0: any free port."
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Batch mode: write outputs without a sink to DIR as Parquet, instead of showing them.",
)
@click.option("--standby", is_flag=True, help="If another driver leads the app, stand by to take over from it.")
@click.option("--driver", metavar="NAME", help="The name of this driver.  [default: host and process]")
@click.option("--lease", metavar="TIME", help="How long a driver that is not heard of still counts, such as 3s.")
@click.option("--quiet", is_flag=True, help="Only errors.")
@click.option("--traceback", "trace", is_flag=True, help="Show where an error arose.")
def run(
    file: Path,
    store: str | None,
    catalog: str | None,
    params: tuple[str, ...],
    mode: str,
    name: str | None,
    master: str | None,
    metrics_port: int | None,
    out: Path | None,
    standby: bool,
    driver: str | None,
    lease: str | None,
    quiet: bool,
    trace: bool,
) -> None:
    """Run the app in FILE, a program in SQL or Python.

    Ctrl-C or SIGTERM finishes the epochs in hand and ends it; run it again and it goes on.

    \b
    waterclock run examples/alerts.py --store ./store
    waterclock run app.sql --mode offline       no Java, in this process, until the input is used up
    waterclock run app.sql --param least=5      a value for :least
    waterclock run app.sql --mode batch         all at once; shows what has no sink, or writes it to --out DIR
    waterclock run app.sql --standby --driver b takes over when the driver that leads it ends or dies
    """
    if out is not None:
        if mode != "batch":
            raise click.UsageError("--out needs --mode batch: in other modes the store keeps the results.")
        _make(out)
    try:
        app = load(file, store, name, params, catalog)
        if app.was_run:
            click.echo(f"{file} ran {app.name!r} itself; put app.run() under: if __name__ == '__main__':", err=True)
            return
        if master is not None:
            app.master = master
        if metrics_port is not None:
            app.metrics_port = metrics_port
        if lease is not None:
            app.lease = lease_micros(lease)
        _run(app, mode, out, quiet, standby, driver)
    except WaterclockError:
        if trace:
            traceback.print_exc()
        raise


def _make(out: Path) -> None:
    """Before anything runs: what was computed would be lost."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fix = "Name a directory that can be written."
        raise ConfigError("CONFIG.BAD_OPTION", option="--out", value=str(out), fix=fix) from error


def _run(app: App, mode: str, out: Path | None, quiet: bool, standby: bool, driver: str | None) -> None:
    if out is not None:
        for plan, sink in app._outputs.values():
            if sink is None:
                check_free(plan.root.schema)
    with LiveLine(app, mode, quiet), spark_progress(app.name, quiet or mode != "batch"):
        handle = app.run(mode, standby=standby, driver=driver)
        handle.wait_until_stopped()
    if isinstance(handle, BatchHandle):
        _give(handle, out, quiet)
    if not quiet:
        stored = None if mode == "batch" else app.store  # a batch run writes nothing there
        click.echo(summary(handle.status(), stored), err=True)


def _give(handle: BatchHandle, out: Path | None, quiet: bool) -> None:
    """What no sink got: to files, or the first rows to look at."""
    for name in handle.undelivered:
        rows = handle.frame(name)
        if out is not None:
            with_times(rows).write_parquet(out / f"{name}.parquet")
        elif not quiet:
            click.echo(f"{name}:")
            print_events(0, rows.head(SHOWN))
            if rows.height > SHOWN:
                click.echo(f"... {rows.height - SHOWN:,} more")
