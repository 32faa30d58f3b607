"""Curves as an SVG drawing, and their points as a CSV file beside it."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from bench.common import REPOSITORY, Settled

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 860, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 270, 36, 48
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9")
"""Which those who do not see all colours can tell apart."""


def folder() -> Path:
    """Figures that count are kept with the results, those of quick runs with the data."""
    found = REPOSITORY / "bench" / ("figures" if Settled.wanted else "data/figures")
    found.mkdir(parents=True, exist_ok=True)
    return found


def save(name: str, headers: Sequence[str], rows: Sequence[Sequence[object]], drawing: str) -> str:
    """Writes both files; gives the drawing's place, as seen from the results."""
    with (folder() / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(headers)
        writer.writerows(rows)
    (folder() / f"{name}.svg").write_text(drawing)
    return f"figures/{name}.svg"


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Round numbers from the least to the greatest."""
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= raw)
    first = math.ceil(low / step - 1e-9)
    return [round(step * number, 10) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def draw(
    title: str, x_label: str, y_label: str, curves: Mapping[str, Points], *, log_y: bool = False,
    mark: tuple[float, str] | None = None,
) -> str:  # fmt: skip
    """One line per curve; ``mark`` is a place on the x axis with a word to it."""
    xs = [x for points in curves.values() for x, _ in points] or [0.0]
    ys = [y for points in curves.values() for _, y in points if not log_y or y > 0] or [1.0]
    x_low, x_high = min(xs), max(max(xs), min(xs) + 1e-9)
    if log_y:
        y_low, y_high = 10.0 ** math.floor(math.log10(min(ys))), 10.0 ** math.ceil(math.log10(max(ys)) + 1e-9)
        y_ticks = [10.0**power for power in range(round(math.log10(y_low)), round(math.log10(y_high)) + 1)]
    else:
        y_low, y_high = min(0.0, min(ys)), max(max(ys) * 1.05, 1e-9)
        y_ticks = ticks(y_low, y_high)
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def at_x(x: float) -> float:
        return LEFT + wide * (x - x_low) / (x_high - x_low)

    def at_y(y: float) -> float:
        if log_y:
            share = math.log(max(y, y_low) / y_low) / math.log(y_high / y_low)
        else:
            share = (y - y_low) / (y_high - y_low)
        return TOP + high * (1 - share)

    def text(x: float, y: float, words: str, anchor: str = "middle", more: str = "") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(words)}</text>'

    def line(x1: float, y1: float, x2: float, y2: float, stroke: str, more: str = "") -> str:
        return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}"{more}/>'

    bottom, right = TOP + high, LEFT + wide
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(LEFT, 20, title, "start", ' font-size="14" font-weight="bold"'),
        text(LEFT + wide / 2, HEIGHT - 10, x_label),
        text(0, 0, y_label, more=f' transform="translate(16 {TOP + high / 2:.1f}) rotate(-90)"'),
    ]
    for x in ticks(x_low, x_high):
        parts += [line(at_x(x), bottom, at_x(x), bottom + 5, "black"), text(at_x(x), bottom + 18, f"{x:g}")]
    for y in y_ticks:
        parts += [line(LEFT, at_y(y), right, at_y(y), "#dddddd"), text(LEFT - 8, at_y(y) + 4, f"{y:g}", "end")]
    parts += [line(LEFT, bottom, right, bottom, "black"), line(LEFT, TOP, LEFT, bottom, "black")]
    if mark is not None:
        parts += [line(at_x(mark[0]), TOP, at_x(mark[0]), bottom, "#888888", ' stroke-dasharray="4 3"'),
                  text(at_x(mark[0]) + 4, TOP + 12, mark[1], "start", ' fill="#555555"')]  # fmt: skip
    for number, (name, points) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        if len(points) <= 12:
            parts += [f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="3" fill="{colour}"/>' for x, y in points]
        place = TOP + 10 + 20 * number
        parts += [line(right + 12, place, right + 32, place, colour, ' stroke-width="3"'),
                  text(right + 38, place + 4, name, "start")]  # fmt: skip
    return "\n".join([*parts, "</svg>", ""])
