"""``%%waterclock`` in notebooks: the SQL of a cell is asked of a store, and its answer shown.

%load_ext waterclock
%%waterclock --store ./store --as-of 2026-11-18T09:00
SELECT user, COUNT(*) AS n FROM clicks GROUP BY user
"""

from __future__ import annotations

import os
import shlex
from typing import Any

import polars as pl

from waterclock.asking.query import query
from waterclock.errors import ConfigError
from waterclock.lang.sql.question import parameters
from waterclock.lang.sql.source import Source

OPTIONS = ("store", "as-of", "on", "limit", "into")


def register(shell: Any) -> None:
    """What IPython calls for ``%load_ext waterclock``; the store of a cell is that of the next ones too."""
    kept: dict[str, str] = {}

    def waterclock(line: str, cell: str) -> pl.DataFrame | None:
        given = options(line)
        kept.update({name: value for name, value in given.items() if name == "store"})
        store = kept.get("store") or os.environ.get("WATERCLOCK_STORE") or "waterclock-store"
        limit = int(given["limit"]) if "limit" in given else None
        rows = query(
            store, cell, as_of=given.get("as-of"), on=given.get("on", "auto"), limit=limit, params=_used(shell, cell)
        )
        if "into" not in given:
            return rows
        shell.user_ns[given["into"]] = rows
        return None

    shell.register_magic_function(waterclock, "cell", "waterclock")


def options(line: str) -> dict[str, str]:
    """
    >>> options("--store ./store --as-of 'epoch 7 of counts'")
    {'store': './store', 'as-of': 'epoch 7 of counts'}
    """
    words = [part for word in shlex.split(line) for part in (word.split("=", 1) if word.startswith("--") else [word])]
    found = dict(zip((word.removeprefix("--") for word in words[::2]), words[1::2], strict=False))
    wrong = next((name for name in found if name not in OPTIONS), None)
    if wrong is not None or len(words) % 2 or any(not word.startswith("--") for word in words[::2]):
        shown = ", ".join(f"--{name}" for name in OPTIONS)
        raise ConfigError(
            "CONFIG.BAD_OPTION", option="%%waterclock", value=line, fix=f"Options, each with a value: {shown}."
        )
    return found


def _used(shell: Any, cell: str) -> dict[str, Any]:
    """Variables of the notebook that the cell names as ``:parameters``."""
    return {name: shell.user_ns[name] for name in parameters(Source(cell)) if name in shell.user_ns}
