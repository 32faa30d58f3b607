"""``waterclock verify``: executes recorded epochs again and compares."""

from __future__ import annotations

import json
from pathlib import Path

import click

from waterclock.cli.progress import progress
from waterclock.cli.recorded import EpochRange, program_options, recorded_by, rows_text
from waterclock.cli.show import json_option
from waterclock.past.epochs import Recorded, recorded
from waterclock.past.verify import DAMAGE, Verdict
from waterclock.past.verify import verify as verified


@click.command()
@program_options
@click.option("--vertex", metavar="NAME", help="Only this output.")
@click.option("--epochs", type=EpochRange(), help="These epochs, such as 100..200; without it, all that are recorded.")
@json_option
@click.pass_context
def verify(
    ctx: click.Context, file: Path, store: str | None, params: tuple[str, ...], name: str | None, vertex: str | None,
    epochs: tuple[int, int | None] | None, as_json: bool,
) -> None:  # fmt: skip
    """Execute recorded epochs again, in this process, and prove that they give what they gave.

    The first difference is named: operator, rows, and why. Nothing in the store is changed. Exit code 1: they differ.

    \b
    waterclock verify app.py --store ./store
    waterclock verify app.py --store ./store --vertex per_user --epochs 100..200
    """
    verdicts: list[Verdict] = []
    with recorded_by(file, store, name, params) as (app, catalog):
        every = recorded(app._declared, catalog, vertex)
        for found in every:
            first, last = _asked(found, epochs)
            if last < first:
                continue  # nothing was computed yet
            with progress(f"verifying {found.vertex}", last - first + 1, as_json, "epochs") as bar:
                verdicts.append(verified(found, first, last, bar.advance))
            if not as_json:
                click.echo(_text(verdicts[-1], file, store))
    if as_json:
        click.echo(json.dumps([_plain(each) for each in verdicts], indent=2))
    if any(each.difference is not None for each in verdicts):
        ctx.exit(1)


def _asked(found: Recorded, epochs: tuple[int, int | None] | None) -> tuple[int, int]:
    if epochs is None:
        return found.first, found.last
    return epochs[0], found.last if epochs[1] is None else epochs[1]


def _text(verdict: Verdict, file: Path, store: str | None) -> str:
    told = f"{verdict.vertex}: {verdict.same}/{verdict.last - verdict.first + 1} epochs identical"
    found = verdict.difference
    if found is None:
        return f"{told} ({verdict.first}..{verdict.last})"
    lines = [told, f"  epoch {found.epoch} differs at: {found.operator}", f"  {found.kind}: {found.why}"]
    if found.kind == DAMAGE:
        return "\n".join([told, f"  epoch {found.epoch} cannot be checked", f"  {found.kind}: {found.why}"])
    for title, rows in (("recorded, and not now", found.recorded), ("now, and not recorded", found.now)):
        if rows is not None and rows.height:
            lines += [f"  {title}:", *(f"    {line}" for line in rows_text(rows).splitlines())]
    there = f" --store {store}" if store is not None else ""
    lines.append(f"  look: waterclock debug {file}{there} --vertex {verdict.vertex} --epoch {found.epoch}")
    return "\n".join(lines)


def _plain(verdict: Verdict) -> dict[str, object]:
    found = verdict.difference
    told: dict[str, object] = {
        "vertex": verdict.vertex, "first": verdict.first, "last": verdict.last, "identical": verdict.same
    }  # fmt: skip
    if found is not None:
        told |= {"epoch": found.epoch, "operator": found.operator, "kind": found.kind, "why": found.why}
    return told
