"""Differences as one HTML page: a picture of where in time they lie, and tables. Nothing comes from outside."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from waterclock.compare.difference import KINDS, Diff
from waterclock.compare.text import ARROW, cells_of, columns_of, described, lines_of
from waterclock.connect.validity import FROM, TO
from waterclock.plan.drawing import scrolling, xml_text
from waterclock.schema import VE, VS
from waterclock.time import show_instant
from waterclock.timeline import FILL, KIND, Drawn, Timeline, chosen, extent

ROWS = 200
"""Of each table, unless it is said."""
_ROW, _LANE, _WHAT = "_row", "_lane", ""
STYLE = (
    ".wc-diff{font:13px ui-monospace,Menlo,Consolas,monospace}.wc-diff table{border-collapse:collapse;margin:1em 0}"
    ".wc-diff td,.wc-diff th{padding:2px 8px;text-align:left;border-bottom:1px solid #7a859455;white-space:pre-wrap}"
    ".wc-diff caption{text-align:left;font-weight:bold;padding:2px 8px;color:#1b1f24}"
)


def page(diff: Diff, limit: int = ROWS) -> str:
    title = xml_text(f"{diff.a} against {diff.b}")
    return (
        f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'/><title>{title}</title></head>\n"
        f"<body>\n{body(diff, limit)}\n</body></html>\n"
    )


def body(diff: Diff, limit: int = ROWS) -> str:
    """Without the page around it, as notebooks show it."""
    word = "equal" if diff.equal else "different"
    parts = [f"<div class='wc-diff'><style>{STYLE}</style><p><b>{word}</b>: {xml_text(described(diff))}</p>"]
    parts += [f"<p>note: {xml_text(note)}</p>" for note in diff.notes]
    if not diff.equal:
        parts.append(scrolling(picture(diff).svg))
        parts += _tables(diff, limit)
    return "\n".join([*parts, "</div>"])


def titles(diff: Diff) -> dict[str, str]:
    return {"only_a": f"only in {diff.a}", "only_b": f"only in {diff.b}", "changed": "changed"}


def _tables(diff: Diff, limit: int) -> Iterator[str]:
    head = "".join(f"<th>{xml_text(name)}</th>" for name in (FROM, TO, "times", *columns_of(diff)))
    for kind, frame in diff.frames().items():
        if frame.height:
            lines = lines_of(diff, limit, (kind,))
            rows = [[show_instant(line.vs), show_instant(line.ve), str(line.n), *line.cells] for line in lines]
            more = f", the first {len(lines):,} of {frame.height:,}" if frame.height > len(lines) else ""
            title = f"<caption style='background:{FILL[kind]}'>{xml_text(titles(diff)[kind] + more)}</caption>"
            body = "\n".join("<tr>" + "".join(f"<td>{xml_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
            yield f"<table>{title}<thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>"


def picture(diff: Diff) -> Timeline:
    """How many differences there are over time, and below it the first ones, in a lane for each key."""
    every = pl.concat([_bars(diff, kind) for kind in KINDS])
    found = extent(every)
    drawn = Drawn(f"{diff.a} against {diff.b}", *(found or (0, 1)), None, found is not None)
    counts = diff.over_time()
    drawn.bars("over time", [(*row, kind) for kind in KINDS for row in counts.select(VS, VE, kind).iter_rows()])
    lanes = list(diff.on) or [_LANE]
    some = chosen(every, lanes)
    rows = pl.concat([_with_words(diff, kind, some.rows.filter(pl.col(KIND) == kind)) for kind in KINDS])
    left_out = [*some.left_out, *drawn.lanes(rows.sort(*(diff.on or [KIND]), VS, VE), lanes)]
    return Timeline(drawn.finished(left_out), tuple(left_out))


def _bars(diff: Diff, kind: str) -> pl.DataFrame:
    """Differences of a kind as events."""
    lane = [] if diff.on else [pl.lit(titles(diff)[kind]).alias(_LANE)]
    row = pl.int_range(pl.len()).alias(_ROW)
    return diff.frames()[kind].select(VS, VE, *diff.on, *lane, pl.lit(kind).alias(KIND), row)


def _with_words(diff: Diff, kind: str, rows: pl.DataFrame) -> pl.DataFrame:
    """In place of the numbers of rows, what is in them besides the keys; of changed ones, what has changed."""
    names = columns_of(diff)[len(diff.on) :]
    values = [row[len(diff.on) :] for row in cells_of(diff, kind, diff.frames()[kind][rows[_ROW]])]
    told = [
        [f"{name}={value}" for name, value in zip(names, row, strict=True) if kind != "changed" or ARROW in value]
        for row in values
    ]
    words = [", ".join(parts) for parts in told]
    return rows.select(pl.exclude(_ROW), pl.Series(_WHAT, words, dtype=pl.String()))
