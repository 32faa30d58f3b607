"""``waterclock diff``: what two results differ in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import polars as pl

from waterclock.cli import show
from waterclock.cli.file import load
from waterclock.cli.look import open_catalog
from waterclock.cli.progress import progress, spark_progress
from waterclock.compare import Diff, compared, read_both
from waterclock.compare.html import page
from waterclock.compare.text import LIMIT, text
from waterclock.connect.validity import FROM, TO, with_texts
from waterclock.errors import ConfigError, did_you_mean
from waterclock.launch import batched
from waterclock.results import Result, alive, between, gone, of_stream, place_of

DIGITS = 9
"""Of doubles, against batch: Spark adds them in any order."""


@click.command()
@click.argument("a")
@click.argument("b", required=False)
@click.option("--batch", metavar="PROGRAM", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Instead of B: what PROGRAM gives in batch mode for the same stream of the same store.")  # fmt: skip
@click.option("--on", metavar="KEYS", help="Columns, with commas: rows with equal ones at the same time have changed.")
@click.option("--columns", metavar="NAMES", help="Compare only these columns, with commas.")
@click.option("--from", "start", metavar="TIME", help="Compare what is alive from then on.")
@click.option("--to", "end", metavar="TIME", help="Compare what is alive before then.")
@click.option("--digits", type=click.IntRange(1, 17), metavar="N",
              help=f"Round doubles to N digits first.  [default: exactly; with --batch {DIGITS}]")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=0), default=LIMIT, show_default=True, help="Differences to show.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write a page with a picture over time, too.")  # fmt: skip
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="For PROGRAM; repeatable.")
@click.option("--app", metavar="NAME", help="Which app of PROGRAM, if it has several.")
@show.json_option
def diff(
    a: str, b: str | None, batch: Path | None, on: str | None, columns: str | None, start: str | None,
    end: str | None, digits: int | None, limit: int, html: Path | None, params: tuple[str, ...], app: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Compare two results, A and B: at which times do they have different rows?

    Each is STORE:STREAM, a file of JSON lines, a Parquet file or a directory of them, as sinks write them. How
    lifetimes are cut does not matter. Exits with 0 if they are equal, 1 if not, 2 if they cannot be compared.

    \b
    waterclock diff ./store:totals ./new:totals --on user     two runs, or two versions
    waterclock diff ./store:totals --batch app.sql            streaming against batch
    waterclock diff ./store:totals totals.jsonl --html d.html a stream against what a sink got
    """
    if (b is None) == (batch is None):
        raise click.UsageError("Name two results, or one and --batch PROGRAM.")
    low, high = between(start, end)
    if batch is not None:
        left, right = _against_batch(a, batch, params, app, low, high, as_json)
        digits = digits or DIGITS
    else:
        with progress("reading", None, as_json) as bar:
            left, right = read_both(a, b, low, high, bar.rows)
    found = compared(left, right, _names(on) or (), _names(columns), digits, low, high)
    if html is not None:
        try:
            html.write_text(page(found), encoding="utf-8")
        except OSError as error:
            raise click.BadParameter(f"{html}: {error.strerror}", param_hint="--html") from None
        click.echo(f"written: {html}", err=True)
    click.echo(json.dumps(described(found, limit), indent=2) if as_json else text(found, limit))
    raise SystemExit(0 if found.equal else 1)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _against_batch(
    side: str, file: Path, params: tuple[str, ...], name: str | None, start: int | None, end: int | None, quiet: bool
) -> tuple[Result, Result]:
    place = place_of(side)
    if isinstance(place, Path):
        fix = "Against --batch, name a stream: STORE:STREAM."
        raise ConfigError("RESULT.UNREADABLE", what=repr(side), reason="it is a file", fix=fix)
    store, stream = place
    with progress("reading", None, quiet) as bar:
        streamed = of_stream(store, stream, start, end, bar.rows)
    app = load(file, store, name, params, looking=True)
    if stream not in app._outputs:
        choices = list(app._outputs)
        guess = did_you_mean(stream, choices)
        raise ConfigError("RUN.NO_OUTPUT", name=stream, choices=", ".join(choices) or "none", guess=guess)
    with spark_progress(f"{stream} in batch mode", quiet):
        rows = batched(app._declared, look_only=True).frame(stream)
    with open_catalog(store) as catalog:
        return streamed, Result(f"batch {stream}", alive(rows, start, end), notes=gone(catalog, app._streams))


def described(found: Diff, limit: int) -> dict[str, Any]:
    """For programs."""
    counts = found.counts()
    return {
        "equal": found.equal,
        "a": {"name": found.a, "rows": found.rows[0]},
        "b": {"name": found.b, "rows": found.rows[1]},
        "on": list(found.on),
        **{
            kind: {"rows": counts[kind], "first": _objects(frame.head(limit))}
            for kind, frame in found.frames().items()
        },
        "columns": found.columns(),
        "over_time": _objects(found.over_time()),
        "notes": list(found.notes),
    }  # fmt: skip


def _objects(rows: pl.DataFrame) -> list[dict[str, Any]]:
    named = with_texts(rows.rename({name: f"{name}_" for name in (FROM, TO) if name in rows.columns}))
    return [json.loads(line) for line in named.write_ndjson().splitlines()]
