"""Figures and tables as text, and the options that commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from waterclock.time import BEGINNING, FOREVER, show_instant

DEFAULT_STORE = "waterclock-store"

store_option: Callable[[Any], Any] = click.option(
    "--store", envvar="WATERCLOCK_STORE", default=DEFAULT_STORE, show_default=True, metavar="DIR",
    help="The store's directory; also $WATERCLOCK_STORE.",
)  # fmt: skip
json_option: Callable[[Any], Any] = click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")


def brief(number: float) -> str:
    """
    >>> brief(7), brief(20_100), brief(3_250_000)
    ('7', '20.1k', '3.25M')
    """
    for unit, worth in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= max(worth, 1e4):
            return f"{number / worth:.3g}{unit}"
    return f"{number:,.0f}"


def size(number: float) -> str:
    """
    >>> size(12), size(1536), size(5 << 30)
    ('12 B', '1.5 KiB', '5.0 GiB')
    """
    for unit, bytes_in_it in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= bytes_in_it:
            return f"{number / bytes_in_it:.1f} {unit}"
    return f"{number:.0f} B"


def seconds(duration: float) -> str:
    """
    >>> seconds(0.0384), seconds(4.2), seconds(75), seconds(7300)
    ('38 ms', '4.2 s', '1m 15s', '2h 1m')
    """
    if duration < 1:
        return f"{duration * 1000:.0f} ms"
    if duration < 60:
        return f"{duration:.1f} s"
    minutes, rest = divmod(int(duration), 60)
    return f"{minutes}m {rest}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60}m"


def when(clock: int) -> str:
    """
    >>> when(1_000_000)
    '1970-01-01 00:00:01'
    """
    return datetime.fromtimestamp(clock / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")


def cti(instant: int) -> str:
    return "ended" if instant == FOREVER else "-" if instant == BEGINNING else show_instant(instant)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns side by side; numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(head[i]), *(len(row[i]) for row in cells)) if cells else len(head[i]) for i in range(len(head))]
    right = [bool(rows) and all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(head))]
    lines = [head, *cells]
    return "\n".join(
        "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)).rstrip()
        for line in lines
    )


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def error_text(code: str, message: str, hint: str) -> str:
    return f"error [{code}] {message}" + (f"\n  hint: {hint}" if hint else "")
