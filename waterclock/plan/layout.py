"""Places boxes in layers from left to right, so that arrows go forward, cross little, and nothing overlaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 16
BETWEEN = 18
"""Free space between boxes of a layer."""
PASSING = 10
"""The same around an arrow that passes a layer."""
Name = tuple[str, int]
"""A box (layer -1), or the place where the arrows of a box pass a layer."""


@dataclass
class Placed:
    layer: dict[str, int]
    middle: dict[Name, float]
    """Of every box and every passage, from the top."""
    routes: dict[tuple[str, str], list[Name]] = field(default_factory=dict)
    """For each arrow the passages between its ends."""


def place(heights: Mapping[str, float], arrows: Sequence[tuple[str, str]], bands: Mapping[str, int]) -> Placed:
    """A box of a higher band stands right of all lower bands; no arrow goes to a lower one."""
    layer = _layers(list(heights), arrows, bands)
    rows: list[list[Name]] = [[] for _ in range(1 + max(layer.values(), default=-1))]
    for box in _by_depth(list(heights), arrows):
        rows[layer[box]].append((box, -1))
    edges: list[tuple[Name, Name]] = []
    placed = Placed(layer, {})
    known: set[tuple[Name, Name]] = set()
    for source, target in arrows:
        # Arrows that leave one box share their way as far as it is the same.
        passages = [(source, number) for number in range(layer[source] + 1, layer[target])]
        placed.routes[source, target] = passages
        way: list[Name] = [(source, -1), *passages, (target, -1)]
        for name in passages:
            if name not in rows[name[1]]:
                rows[name[1]].append(name)
        for edge in pairwise(way):
            if edge not in known:
                known.add(edge)
                edges.append(edge)
    before, behind = _neighbours(edges)
    rows = _ordered(rows, before, behind)
    sizes = {name: heights[name[0]] if name[1] < 0 else 0.0 for row in rows for name in row}
    placed.middle = _middles(rows, sizes, before, behind)
    return placed


def _layers(boxes: list[str], arrows: Sequence[tuple[str, str]], bands: Mapping[str, int]) -> dict[str, int]:
    layer: dict[str, int] = {}
    base = 0

    def put(box: str) -> int:
        if box not in layer:
            layer[box] = max([base, *(put(a) + 1 for a, b in arrows if b == box)])
        return layer[box]

    for band in sorted({bands.get(box, 0) for box in boxes}):
        here = [box for box in boxes if bands.get(box, 0) == band]
        base = 1 + max(map(put, here))
    for box in boxes:  # what starts an arrow stands beside what needs it first
        targets = [layer[b] for a, b in arrows if a == box]
        if targets and not any(b == box for _, b in arrows):
            first = [layer[other] for other in boxes if bands.get(other, 0) == bands.get(box, 0)]
            layer[box] = min(min(targets) - 1, max(first))
    return layer


def _by_depth(boxes: list[str], arrows: Sequence[tuple[str, str]]) -> list[str]:
    """As a walk from the last box meets them: neighbours start near each other."""
    found: dict[str, None] = {}

    def walk(box: str) -> None:
        if box not in found:
            found[box] = None
            for a, b in arrows:
                if b == box:
                    walk(a)

    for box in reversed(boxes):
        walk(box)
    return list(found)


def _neighbours(edges: list[tuple[Name, Name]]) -> tuple[dict[Name, list[Name]], dict[Name, list[Name]]]:
    before: dict[Name, list[Name]] = {}
    behind: dict[Name, list[Name]] = {}
    for a, b in edges:
        before.setdefault(b, []).append(a)
        behind.setdefault(a, []).append(b)
    return before, behind


def _ordered(
    rows: list[list[Name]], before: dict[Name, list[Name]], behind: dict[Name, list[Name]]
) -> list[list[Name]]:
    """The order in each layer with the fewest crossings that were found."""
    best, fewest = rows, _crossings(rows, behind)
    current = [list(row) for row in rows]
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        near = before if forward else behind
        for number in range(len(current)) if forward else reversed(range(len(current))):
            other = number - 1 if forward else number + 1
            if not 0 <= other < len(current):
                continue
            at = {name: place for place, name in enumerate(current[other])}
            current[number] = _sorted(current[number], at, near)
        crossings = _crossings(current, behind)
        if crossings < fewest:
            best, fewest = [list(row) for row in current], crossings
    return best


def _sorted(row: list[Name], at: dict[Name, int], near: dict[Name, list[Name]]) -> list[Name]:
    """By the middle of what they are connected with; the others stay where they are."""
    weight: dict[Name, float] = {}
    for place, name in enumerate(row):
        places = [at[other] for other in near.get(name, ()) if other in at]
        weight[name] = sum(places) / len(places) if places else float(place)
    return sorted(row, key=lambda name: weight[name])


def _crossings(rows: list[list[Name]], behind: dict[Name, list[Name]]) -> int:
    found = 0
    for row, following in pairwise(rows):
        at = {name: place for place, name in enumerate(following)}
        ends = [sorted(at[other] for other in behind.get(name, ()) if other in at) for name in row]
        pairs = [(place, end) for place, some in enumerate(ends) for end in some]
        found += sum(a < c and d < b for a, b in pairs for c, d in pairs)
    return found


def _middles(
    rows: list[list[Name]], sizes: dict[Name, float], before: dict[Name, list[Name]], behind: dict[Name, list[Name]]
) -> dict[Name, float]:
    middle: dict[Name, float] = {}
    for row in rows:
        at = 0.0
        for name in row:
            middle[name] = at + sizes[name] / 2
            at += sizes[name] + _space(name)
    for sweep in range(4 * SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [_wanted(name, middle, before, behind) for name in row]
            middle.update(zip(row, _apart(row, wanted, sizes), strict=True))
    top = min((middle[name] - sizes[name] / 2 for row in rows for name in row), default=0.0)
    return {name: value - top for name, value in middle.items()}


def _wanted(
    name: Name, middle: dict[Name, float], before: dict[Name, list[Name]], behind: dict[Name, list[Name]]
) -> float:
    around = (*before.get(name, ()), *behind.get(name, ()))
    passages = [other for other in around if other[1] >= 0] if name[1] >= 0 else []
    near = sorted(middle[other] for other in passages or around)  # an arrow goes straight on
    if not near:
        return middle[name]
    half = len(near) // 2
    return near[half] if len(near) % 2 else (near[half - 1] + near[half]) / 2


def _apart(row: list[Name], wanted: list[float], sizes: dict[Name, float]) -> list[float]:
    """The places nearest to those that are wanted at which nothing in a layer overlaps.

    Without the space that each needs this is a regression onto rising values: neighbours that would pass each other
    are pooled.
    """
    offsets = [0.0]
    for a, b in pairwise(row):
        offsets.append(offsets[-1] + (sizes[a] + sizes[b]) / 2 + max(_space(a), _space(b)))
    pools: list[tuple[float, float, int]] = []  # sum, weight, members
    for name, want, offset in zip(row, wanted, offsets, strict=True):
        weight = 1.0 if name[1] < 0 else 3.0
        pools.append(((want - offset) * weight, weight, 1))
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            last, other = pools.pop(), pools.pop()
            pools.append((last[0] + other[0], last[1] + other[1], last[2] + other[2]))
    levels = [total / weight for total, weight, members in pools for _ in range(members)]
    return [level + offset for level, offset in zip(levels, offsets, strict=True)]


def _space(name: Name) -> float:
    return BETWEEN if name[1] < 0 else PASSING
