"""``waterclock run``: a program file, its app, a live line, a summary."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from waterclock.app import MODES, App, lease_micros, sql
from waterclock.batch import BatchHandle
from waterclock.cli.live import LiveLine, summary
from waterclock.cli.look import print_events
from waterclock.cli.progress import spark_progress
from waterclock.connect.validity import check_free, with_times
from waterclock.errors import ConfigError, SqlError, WaterclockError

SHOWN = 20


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
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


def load(
    file: Path, store: str | None, name: str | None, params: tuple[str, ...] = (), catalog: str | None = None,
    looking: bool = False,
) -> App:  # fmt: skip
    """The app of a program in SQL; or executes the file as one that does not run itself, and picks its app.

    ``looking``: what the program pushes while it is loaded is not taken.
    """
    with _as_program(file, store, catalog, params, looking):
        if file.suffix == ".sql":
            return sql(file, given(params), name=name)
        try:
            found = runpy.run_path(str(file), run_name="__waterclock__")
        except WaterclockError as error:
            line = _line(file, error)
            if line is not None and not isinstance(error, SqlError):  # that has a place of its own
                error.point_to(f"{file}:{line}")
            raise
        except Exception as error:
            line = _line(file, error)
            place = f"{file}, line {line}" if line else file
            fix = "Correct the program; --traceback shows the whole way."
            raise ConfigError("CLI.BAD_PROGRAM", file=place, reason=_reason(error), fix=fix) from error
    return _pick(file, {key: value for key, value in found.items() if isinstance(value, App)}, name)


@contextmanager
def _as_program(
    file: Path, store: str | None, catalog: str | None, params: tuple[str, ...], looking: bool
) -> Iterator[None]:
    """What Python gives a script, and the store and its catalog for what it pushes while it is loaded."""
    argv, path = sys.argv, list(sys.path)
    sys.argv = [str(file), *params]
    sys.path.insert(0, str(file.absolute().parent))
    App.store_override, App.catalog_override, App.looking = store, catalog, looking
    try:
        yield
    finally:
        sys.argv = argv
        sys.path[:] = path
        App.store_override = App.catalog_override = None
        App.looking = False


def given(params: tuple[str, ...]) -> dict[str, Any]:
    """``name=value`` as people write it: numbers, true, false and null are what they look like, the rest is text."""
    found: dict[str, Any] = {}
    for param in params:
        name, sign, text = param.partition("=")
        if not sign or not name:
            raise click.BadParameter(f"{param!r} is not NAME=VALUE.", param_hint="--param")
        found[name] = _value(text)
    return found


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _pick(file: Path, found: dict[str, App], name: str | None) -> App:
    apps = {id(app): app for app in found.values()}
    chosen = [app for app in apps.values() if name is None or app.name == name or found.get(name) is app]
    if len(chosen) == 1:
        return chosen[0]
    if not apps:
        fix = "Make one at the top level of the file: app = wc.App('name')."
        raise ConfigError("CLI.BAD_PROGRAM", file=file, reason="there is no wc.App in it", fix=fix)
    names = ", ".join(sorted(app.name for app in apps.values()))
    reason = "it has several apps" if name is None else f"it has no app {name!r}"
    raise ConfigError("CLI.BAD_PROGRAM", file=file, reason=reason, fix=f"Choose with --app: {names}.")


def _line(file: Path, error: Exception) -> int | None:
    """The line of the file that the error came from."""
    if isinstance(error, SyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(file)), None)


def _reason(error: Exception) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}".rstrip(".: ")
