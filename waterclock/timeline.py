"""Events on a time axis, as SVG: a lane for each key, bars for lifetimes, ticks for points, arrows where they are open.

As drawings of plans: no scripts, nothing from outside, legible on light and dark pages.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from waterclock.plan.drawing import CHAR, EDGE, FONT, INK, LINE, MARGIN, PAD, shortened, xml_text
from waterclock.results import Result, between, check_column, result_of, shown
from waterclock.schema import VE, VS
from waterclock.streams.border import LIMIT
from waterclock.time import DAY, FOREVER, HOUR, MILLISECOND, MINUTE, SECOND, Instant, floor_to, show_instant

WIDTH, NAMES, TITLE = 960, 24, 130
"""Of the picture; characters of the name of a lane, and of the title."""
LANES, EVENTS, DEEP = 30, 1000, 12
"""What is drawn at most: lanes, events, and events of a lane that are alive at the same time."""
TICKS = 7
KIND = "_kind"
"""A column with the kind of each row, where there are several."""
FILL = {"event": "#cfe2f3", "only_a": "#f4cccc", "only_b": "#d9ead3", "changed": "#fce5cd"}
STROKE = {"event": "#3d85c6", "only_a": "#cc4125", "only_b": "#6aa84f", "changed": "#e69138"}
NOW = "#cc4125"
_NICE = (1, 2, 5, 10, 20, 50, 100, 200, 500)
STEPS = (
    *_NICE, *(n * MILLISECOND for n in _NICE), *(n * SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)), *(n * HOUR for n in (1, 2, 3, 6, 12)),
    *(n * DAY for n in (1, 2, 7, 14, 28, 91, 182, 365)),
    *(n * 10**power * 365 * DAY for power in range(5) for n in (2, 5, 10)),
)  # fmt: skip


@dataclass(frozen=True)
class Timeline:
    """A drawing. Notebooks show it."""

    svg: str = field(repr=False)
    left_out: tuple[str, ...] = ()
    """What is not in it."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it into a file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg


def draw(
    source: Any, by: str | Sequence[str] = (), *, start: Instant | None = None, end: Instant | None = None
) -> Timeline:
    """Draws events and their lifetimes.

    ``source`` is a stored stream (``app.read('name')``), a frame with lifetimes, or a place (``'./store:totals'``).
    ``by`` names key columns: each key has a lane of its own. ``start`` and ``end`` bound the time that is drawn.
    """
    low, high = between(start, end)
    return timeline(result_of(source, low, high), [by] if isinstance(by, str) else list(by), low, high)


def timeline(result: Result, by: Sequence[str], start: int | None = None, end: int | None = None) -> Timeline:
    for key in by:
        check_column(key, list(result.columns), result.name)
    some = chosen(result.rows, by)
    found = extent(some.rows)
    first, last = found or (0, 1)
    cti = result.cti if result.cti is not None and abs(result.cti) < LIMIT else None
    if found is not None and cti is not None and last < cti <= last + (last - first):
        last = cti
    first, last = first if start is None else start, last if end is None else end
    if some.upto is not None:
        last = min(last, some.upto)
    picture = Drawn(result.name, first, max(last, first + 1), cti, found is not None)
    left_out = [*some.left_out, *picture.lanes(some.rows.sort(*by, VS, VE), by)]
    return Timeline(picture.finished(left_out), tuple(left_out))


class Chosen(NamedTuple):
    """What is drawn of some rows."""

    rows: pl.DataFrame
    upto: int | None
    """It is complete up to then; None: to the end."""
    left_out: list[str]


def chosen(rows: pl.DataFrame, by: Sequence[str]) -> Chosen:
    """The keys that come first, and of them the events that come first."""
    left_out = []
    if by:
        keys = rows.group_by(by).agg(pl.col(VS).min()).sort(VS, *by).select(by)
        if keys.height > LANES:
            kept = rows.join(keys.head(LANES), on=list(by), how="semi", nulls_equal=True)
            left_out.append(f"{keys.height - LANES:,} keys with {rows.height - kept.height:,} events")
            rows = kept
    if rows.height <= EVENTS:
        return Chosen(rows, None, left_out)
    upto = rows[VS].bottom_k(EVENTS + 1).max()
    assert isinstance(upto, int)
    early = rows.filter(pl.col(VS) < upto)
    if not early.height:  # more than that start at once
        return Chosen(rows.head(EVENTS), None, [*left_out, f"{rows.height - EVENTS:,} events"])
    words = f"{rows.height - early.height:,} events that start at {show_instant(upto)} or later"
    return Chosen(early, upto, [*left_out, words])


def extent(rows: pl.DataFrame) -> tuple[int, int] | None:
    """The first and the last time of lifetimes, with some room where they are open; None if all are for ever."""
    times = pl.concat([rows[VS], rows[VE]])
    finite = times.filter(times.is_between(2 - LIMIT, LIMIT))
    first, last = finite.min(), finite.max()
    if not isinstance(first, int) or not isinstance(last, int):
        return None
    room = max(1, (last - first) // 20) if (rows[VE] == FOREVER).any() else 0
    return first, max(last + room, first + 1)


def step_for(span: int, most: int) -> int:
    """The least round step that cuts a span into at most so many.

    >>> step_for(60 * SECOND, 7) // SECOND, step_for(3, 7), step_for(40 * DAY, 7) // DAY
    (10, 1, 7)
    """
    return next((step for step in STEPS if span <= step * most), -(-span // most))


def tick(at: int, step: int) -> tuple[str, str]:
    """Date and time of a mark on the axis, as exactly as its step needs."""
    try:
        stamp = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    except OverflowError:
        return "", show_instant(at)
    if step >= DAY:
        return "", f"{stamp:%Y-%m-%d}"
    if step >= MINUTE:
        return f"{stamp:%Y-%m-%d}", f"{stamp:%H:%M}"
    digits = 0 if step >= SECOND else 3 if step >= MILLISECOND else 6
    fraction = f".{stamp:%f}"[: digits + 1] if digits else ""
    return f"{stamp:%Y-%m-%d}", f"{stamp:%H:%M:%S}{fraction}"


class Drawn:
    """A picture in the making: lanes below each other, then the axis."""

    def __init__(self, title: str, first: int, last: int, cti: int | None, has_times: bool) -> None:
        self._title, self._first, self._last, self._cti, self._has_times = title, first, last, cti, has_times
        self._left = MARGIN + NAMES * CHAR + PAD
        self._right = float(WIDTH - MARGIN)
        self._top = self._at = float(MARGIN + 3 * LINE)
        self._parts: list[str] = []

    def lanes(self, rows: pl.DataFrame, by: Sequence[str]) -> Iterator[str]:
        """One for each key, in the order of the rows; gives what found no place."""
        for own in rows.partition_by(list(by), maintain_order=True) if by else [rows]:
            name = ", ".join(text for key in by for text in shown(own[key].head(1)))
            hidden = self._lane(name, own.drop(by))
            if hidden:
                yield f"{hidden:,} events of {name or 'the stream'}, more than {DEEP} at the same time"

    def bars(self, name: str, counts: Sequence[tuple[int, int, int, str]]) -> None:
        """A lane of columns: from, to, how many, kind; those of equal times stand on each other."""
        height, heights = 4 * LINE, dict[int, int]()
        for start, _, count, _ in counts:
            heights[start] = heights.get(start, 0) + count
        most, bottom = max(heights.values(), default=1), self._at + height
        reached = dict[int, float]()
        for start, end, count, kind in counts:
            if count:
                top = reached.get(start, bottom) - count / most * height
                x, right = self._x(start), self._x(end)
                title = xml_text(f"{show_instant(start)} to {show_instant(end)}: {count:,} {kind}")
                self._parts.append(
                    f"<rect x='{x:.1f}' y='{top:.1f}' width='{max(0.5, right - x - 0.5):.1f}' "
                    f"height='{count / most * height:.1f}' fill='{STROKE[kind]}'><title>{title}</title></rect>"
                )
                reached[start] = top
        self._end_lane(name, height)

    def finished(self, left_out: Sequence[str] = ()) -> str:
        bottom = self._at
        below = [*self._axis(bottom), _words(MARGIN, MARGIN + LINE - 4, shortened(self._title, TITLE), EDGE, bold=True)]
        if self._cti is not None and self._first <= self._cti <= self._last:
            x = self._x(self._cti)
            below.append(
                f"<line x1='{x:.1f}' y1='{self._top - PAD:.1f}' x2='{x:.1f}' y2='{bottom:.1f}' stroke='{NOW}' "
                f"stroke-dasharray='4 3'><title>CTI {show_instant(self._cti)}</title></line>"
            )
            below.append(_words(x, self._top - PAD - 2, "CTI", NOW, anchor="middle"))
        at = bottom + 2.5 * LINE
        for words in left_out:
            at += LINE
            below.append(_words(MARGIN, at, shortened(f"left out: {words}", TITLE), EDGE))
        size = f"{WIDTH} {at + PAD:.0f}"
        across, down = size.split()
        opening = (
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{across}' height='{down}' viewBox='0 0 {size}' {FONT}>"
        )
        return "\n".join([opening, *below, *self._parts, "</svg>"]) + "\n"

    def _lane(self, name: str, rows: pl.DataFrame) -> int:
        """Events that overlap stand below each other; gives how many are left out."""
        kinds = rows[KIND].to_list() if KIND in rows.columns else ["event"] * rows.height
        names = [column for column in rows.columns if column not in (VS, VE, KIND)]
        texts = zip(*(shown(rows[column]) for column in names), strict=True) if names else [()] * rows.height
        ends: list[int] = []
        hidden = 0
        for vs, ve, kind, values in zip(rows[VS], rows[VE], kinds, texts, strict=True):
            depth = next((depth for depth, end in enumerate(ends) if end <= vs), len(ends))
            if depth == DEEP:
                hidden += 1
                continue
            ends[depth : depth + 1] = [ve]
            self._event(vs, ve, kind, self._at + depth * LINE, list(zip(names, values, strict=True)))
        self._end_lane(name, max(1, len(ends)) * LINE)
        return hidden

    def _end_lane(self, name: str, height: float) -> None:
        label = _words(MARGIN, self._at + height / 2 + 4, shortened(name, NAMES), EDGE)
        self._at += height + PAD
        line = f"M{self._left:.1f} {self._at - PAD / 2:.1f} H{self._right:.1f}"
        self._parts.append(f"<g><title>{xml_text(shortened(name, 500))}</title>{label}</g>")
        self._parts.append(f"<path d='{line}' stroke='{EDGE}' stroke-opacity='0.25'/>")

    def _event(self, vs: int, ve: int, kind: str, y: float, values: list[tuple[str, str]]) -> None:
        x, right, stroke = self._x(vs), self._x(ve), STROKE[kind]
        words = ", ".join(f"{name}={text}" if name else text for name, text in values)
        full = f"[{show_instant(vs)}, {show_instant(ve)}) {words}"
        self._parts.append(f"<g><title>{xml_text(shortened(full, 500))}</title>")
        if ve == vs + 1:
            line = f"M{x:.1f} {y + 1:.1f} V{y + LINE - 2:.1f}"
            self._parts.append(f"<path d='{line}' stroke='{stroke}' stroke-width='2'/>")
            self._parts.append(f"<circle cx='{x:.1f}' cy='{y + LINE / 2:.1f}' r='3' fill='{stroke}'/>")
        else:
            wide = min(max(1.5, right - x), self._right - x + 1.5)
            self._parts.append(
                f"<rect x='{x:.1f}' y='{y + 1:.1f}' width='{wide:.1f}' height='{LINE - 3}' rx='2' "
                f"fill='{FILL[kind]}' stroke='{stroke}'/>"
            )
            label, room = ", ".join(text for _, text in values), int((right - x - PAD) / CHAR)
            if label and room >= min(len(label), 4):
                self._parts.append(_words(x + 4, y + LINE - 4, shortened(label, room), INK))
            if ve == FOREVER:
                self._tip(self._right, y, 7, stroke)
            if vs < 2 - LIMIT:
                self._tip(self._left, y, -7, stroke)
        self._parts.append("</g>")

    def _tip(self, x: float, y: float, long: int, colour: str) -> None:
        path = f"M{x:.1f} {y + 1:.1f} L{x + long:.1f} {y + LINE / 2:.1f} L{x:.1f} {y + LINE - 2:.1f} Z"
        self._parts.append(f"<path d='{path}' fill='{colour}'/>")

    def _axis(self, bottom: float) -> Iterator[str]:
        yield f"<path d='M{self._left:.1f} {bottom:.1f} H{self._right:.1f}' stroke='{EDGE}'/>"
        if not self._has_times:
            return
        step = step_for(self._last - self._first, TICKS)
        at, day = floor_to(self._first + step - 1, step), ""
        while at <= self._last:
            x = self._x(at)
            line = f"M{x:.1f} {self._top - PAD / 2:.1f} V{bottom + 4:.1f}"
            yield f"<path d='{line}' stroke='{EDGE}' stroke-opacity='0.25'/>"
            date, time = tick(at, step)
            yield _words(x, bottom + LINE, time, EDGE, anchor="middle")
            if date != day:
                yield _words(x, bottom + 2 * LINE, date, EDGE, anchor="middle")
            at, day = at + step, date

    def _x(self, time: int) -> float:
        inside = min(max(time, self._first), self._last)
        return self._left + (inside - self._first) / (self._last - self._first) * (self._right - self._left)


def _words(x: float, y: float, text: str, colour: str, bold: bool = False, anchor: str = "start") -> str:
    weight = " font-weight='bold'" if bold else ""
    where = "" if anchor == "start" else f" text-anchor='{anchor}'"
    return f"<text x='{x:.1f}' y='{y:.1f}' fill='{colour}'{weight}{where}>{xml_text(text)}</text>"
