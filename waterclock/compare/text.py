"""Differences as text: counts, the first rows, where in time they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from waterclock.compare.difference import KINDS, Diff, differs
from waterclock.compare.logical import N
from waterclock.connect.validity import FROM, TO
from waterclock.plan.drawing import shortened
from waterclock.results import shown
from waterclock.schema import VE, VS
from waterclock.time import show_duration, show_instant

SIGNS = {"only_a": "-", "only_b": "+", "changed": "~"}
LIMIT = 20
WIDEST = 40
ARROW = " → "
BARS = "▁▂▃▄▅▆▇█"


class Line(NamedTuple):
    """A difference as it is shown."""

    kind: str
    vs: int
    ve: int
    n: int
    cells: list[str]
    """A value for each column, or two where it has changed."""


def text(diff: Diff, limit: int = LIMIT) -> str:
    notes = [f"note: {note}" for note in diff.notes]
    if diff.equal:
        return "\n".join([f"equal: {described(diff)}", *notes])
    return "\n".join([f"different: {described(diff)}", "", *table(diff, limit), *over_time(diff), *notes])


def described(diff: Diff) -> str:
    """In one sentence."""
    a, b = diff.rows
    if diff.equal:
        return f"{a:,} rows of {diff.a} and {b:,} of {diff.b} are the same at every instant"
    counts = diff.counts()
    parts = [f"only in {diff.a}: {counts['only_a']:,}", f"only in {diff.b}: {counts['only_b']:,}"]
    if diff.on:
        columns = ", ".join(f"{name} {number:,}" for name, number in diff.columns().items())
        parts.append(f"changed: {counts['changed']:,}" + (f" ({columns})" if columns else ""))
    return f"{', '.join(parts)}; rows: {a:,} and {b:,}"


def table(diff: Diff, limit: int) -> Iterator[str]:
    """The first differences in time: ``-`` only in the first, ``+`` only in the second, ``~`` changed."""
    lines = lines_of(diff, limit)
    several = any(line.n > 1 for line in lines)
    rows = [["", FROM, TO, *(["times"] if several else []), *columns_of(diff)]]
    for line in lines:
        times = [str(line.n)] if several else []
        rows.append([SIGNS[line.kind], show_instant(line.vs), show_instant(line.ve), *times, *line.cells])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    left = sum(frame.height for frame in diff.frames().values()) - len(lines)
    if left:
        yield f"... {left:,} more"


def columns_of(diff: Diff) -> list[str]:
    return [name for name in diff.only_a.columns if name not in (VS, VE, N)]


def lines_of(diff: Diff, limit: int, kinds: tuple[str, ...] = KINDS) -> list[Line]:
    """The first ones in order of time."""
    found = list[Line]()
    for kind in kinds:
        frame = diff.frames()[kind].head(limit)
        rows = zip(frame.select(VS, VE, N).iter_rows(), cells_of(diff, kind, frame), strict=True)
        found += [Line(kind, vs, ve, n, row) for (vs, ve, n), row in rows]
    return sorted(found, key=lambda line: (line.vs, line.ve))[:limit]


def cells_of(diff: Diff, kind: str, rows: pl.DataFrame) -> list[list[str]]:
    """A text for each column of some rows of a kind."""
    texts = {name: _short(rows[name]) for name in rows.columns if name not in (VS, VE, N)}
    columns = columns_of(diff)
    if kind == "changed":
        for name in columns[len(diff.on) :]:
            both = zip(texts[f"a.{name}"], texts[f"b.{name}"], rows.select(differs(name)).to_series(), strict=True)
            texts[name] = [f"{old}{ARROW}{new}" if differ else old for old, new, differ in both]
    return [list(row) for row in zip(*(texts[name] for name in columns), strict=True)]


def _short(values: pl.Series) -> list[str]:
    return [shortened(value, WIDEST) for value in shown(values)]


def over_time(diff: Diff) -> Iterator[str]:
    """A mark for each stretch of time, the higher the more differences there are."""
    found = diff.over_time()
    if found.height > 1:
        counts = found.select(pl.sum_horizontal(KINDS)).to_series().to_list()
        most = max(counts)
        marks = "".join(BARS[(count * len(BARS) - 1) // most] if count else " " for count in counts)
        yield ""
        yield f"over time, {show_duration(found[VE][0] - found[VS][0])} a mark:"
        yield f"{show_instant(found[VS][0])} |{marks}| {show_instant(found[VE][-1])}"
