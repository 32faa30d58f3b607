"""``waterclock bundle``: what some epochs need, as one file for a colleague."""

from __future__ import annotations

from pathlib import Path

import click

from waterclock.cli.recorded import EpochRange, program_options, recorded_by
from waterclock.cli.show import size
from waterclock.errors import ConfigError
from waterclock.past.bundle import pack
from waterclock.past.epochs import recorded


@click.command()
@program_options
@click.option("--vertex", required=True, metavar="NAME", help="The output.")
@click.option("--epochs", type=EpochRange(), required=True, help="One epoch or a range, such as 7 or 100..120.")
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="[default: NAME-A-B.bundle]"
)
def bundle(
    file: Path, store: str | None, params: tuple[str, ...], name: str | None, vertex: str,
    epochs: tuple[int, int | None], out: Path | None,
) -> None:  # fmt: skip
    """Pack what some epochs of an output read, remembered and gave into one file.

    It takes the place of a store: debug and verify do not need any other.

    \b
    waterclock bundle app.py --store ./store --vertex per_user --epochs 1234 -o bug.bundle
    waterclock debug app.py --store bug.bundle --vertex per_user --epoch 1234
    """
    with recorded_by(file, store, name, params) as (app, catalog):
        (found,) = recorded(app._declared, catalog, vertex)
        first, last = epochs[0], found.last if epochs[1] is None else epochs[1]
        found.base_of(last)
        target = out or Path(f"{vertex}-{first}-{last}.bundle")
        try:
            length = pack(catalog, vertex, found.base_of(first), last, target)
        except OSError as error:
            fix = f"It cannot be written ({error.strerror}): name a file in a directory that is there."
            raise ConfigError("CONFIG.BAD_OPTION", option="--out", value=str(target), fix=fix) from error
    click.echo(f"{target}: {size(length)}, epochs {first} to {last} of {vertex}")
