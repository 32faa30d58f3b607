"""A program file on the command line, and the app in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from waterclock.app import App
from waterclock.loading import app_of, plain_value

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def load(
    file: Path, store: str | None, name: str | None, params: tuple[str, ...] = (), catalog: str | None = None,
    looking: bool = False,
) -> App:  # fmt: skip
    """The app of a program, with parameters as the command line has them."""
    return app_of(file, name, given(params) if file.suffix == ".sql" else None, params, store, catalog, looking)


def given(params: tuple[str, ...]) -> dict[str, Any]:
    """``name=value`` as people write it: numbers, true, false and null are what they look like, the rest is text."""
    found: dict[str, Any] = {}
    for param in params:
        name, sign, text = param.partition("=")
        if not sign or not name:
            raise click.BadParameter(f"{param!r} is not NAME=VALUE.", param_hint="--param")
        found[name] = plain_value(text)
    return found
