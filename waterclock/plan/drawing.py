"""Plans as boxes and arrows: plain SVG without scripts or styles from outside, legible on light and dark pages."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from waterclock.plan.join import AsOf, Join
from waterclock.plan.layout import Name, place
from waterclock.plan.nodes import Input, Node, Union
from waterclock.schema import Schema

WIDEST, LINES = 30, 3
"""Characters of a line in a box, and lines below its title."""
CHAR, LINE, PAD = 6.65, 14, 8
"""Of the text: the width of a character, the height of a line, the space around it."""
GAP, MARGIN, HEAD = 36, 16, 22
LABEL = 24
"""Characters on an arrow."""
FILL = {"source": "#d9ead3", "stateless": "#f3f4f6", "stateful": "#fce5cd", "output": "#cfe2f3"}
INK, EDGE = "#1b1f24", "#7a8594"
FONT = "font-family='ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace' font-size='11'"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Box:
    id: str
    title: str
    lines: tuple[str, ...]
    full: str
    """Shown when the pointer rests on it."""
    kind: str
    """source, stateless, stateful or output."""
    band: int = 0

    @property
    def shown(self) -> list[str]:
        return [shortened(line, WIDEST) for line in self.lines]


@dataclass(frozen=True)
class Arrow:
    source: str
    target: str
    label: str = ""
    port: int = 0
    """Which input of its target it is."""


@dataclass(frozen=True)
class Picture:
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    title: str = ""
    bands: tuple[str, ...] = ()
    """Names of the parts, from left to right, that are framed."""


# -- plans -------------------------------------------------------------------------------------------------


def picture_of(roots: Mapping[str, Node], notes: Mapping[str, str] | None = None) -> Picture:
    """The plans of some outputs, equal parts once. A plan without a name is no output; ``notes`` stand below names."""
    boxes: dict[str, Box] = {}
    arrows: dict[Arrow, None] = {}

    def walk(node: Node) -> None:
        if node.identity in boxes:
            return
        for child in node.inputs:
            walk(child)
        boxes[node.identity] = box_of(node)
        for port, child in enumerate(node.inputs):
            arrows[Arrow(child.identity, node.identity, port=port)] = None

    for root in roots.values():
        walk(root)
    for name, root in roots.items():
        if name:
            lines = wrapped((notes or {}).get(name, ""))
            boxes[f"output {name}"] = Box(f"output {name}", name, lines, f"{name} ({root.schema})", "output")
            arrows[Arrow(root.identity, f"output {name}")] = None
    return Picture(tuple(boxes.values()), tuple(arrows))


def box_of(node: Node, band: int = 0) -> Box:
    title, rest = titled(node)
    kind = "source" if isinstance(node, Input) else "stateless" if is_light(node) else "stateful"
    return Box(node.identity, title, wrapped(rest), f"{node.label}\n→ {node.schema}", kind, band)


def is_light(node: Node) -> bool:
    """It remembers nothing."""
    return node.stateless or isinstance(node, Input | Union)


def titled(node: Node) -> tuple[str, str]:
    """What a node is, and the rest of its label."""
    if isinstance(node, Input):
        return f"{node.kind} {node.stream}", str(node.columns)
    if isinstance(node, Join | AsOf):
        kind, _, rest = node.label.partition(" on ")
        renamed = ", ".join(f"{a} as {b}" for a, b in node.names if a != b)
        return kind, f"on {rest.removesuffix(f' ({renamed})')}"
    words = 1
    for several in ("set duration", "clip duration", "alter lifetime", "hop lifetime", "point at end"):
        if node.label.startswith(several):
            words = len(several.split())
    parts = node.label.split(" ", words)
    return " ".join(parts[:words]), parts[words] if len(parts) > words else ""


def wrapped(text: str) -> tuple[str, ...]:
    """Some lines of a text; what does not fit is left out with a sign."""
    lines = textwrap.wrap(text, WIDEST, break_long_words=True, break_on_hyphens=False)
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], shortened(lines[LINES - 1] + " …", WIDEST)]
    return tuple(lines)


def xml_text(text: str) -> str:
    """Escaped, and without the characters that XML cannot hold."""
    return escape(_NOT_IN_XML.sub("\ufffd", text))


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


# -- SVG ---------------------------------------------------------------------------------------------------


def svg(pictures: Sequence[Picture]) -> str:
    """One below the other."""
    parts: list[str] = []
    width, top = 0.0, float(MARGIN)
    for picture in pictures:
        drawn = Drawn(picture, top)
        parts += drawn.parts
        width, top = max(width, drawn.width), top + drawn.height + MARGIN
    size = f"{width + 2 * MARGIN:.0f} {top:.0f}"
    across, down = size.split()
    opening = f"<svg xmlns='http://www.w3.org/2000/svg' width='{across}' height='{down}' viewBox='0 0 {size}' {FONT}>"
    return "\n".join([opening, *parts, "</svg>"]) + "\n"


class Drawn:
    """The elements of one picture, and their extent."""

    def __init__(self, picture: Picture, top: float) -> None:
        self.picture = picture
        self.parts: list[str] = []
        self._into = {box.id: [arrow for arrow in picture.arrows if arrow.target == box.id] for box in picture.boxes}
        heights = {box.id: self._height(box) for box in picture.boxes}
        bands = {box.id: box.band for box in picture.boxes}
        self._placed = place(heights, [(arrow.source, arrow.target) for arrow in picture.arrows], bands)
        self._heights = heights
        framed = bool(picture.bands)
        self._top = top + (2 * HEAD if framed else HEAD if picture.title else 0)
        self._left, self._right = self._columns()
        self.width = max(self._right, default=0.0) - MARGIN + (PAD if framed else 0)
        lowest = max((self._placed.middle[box.id, -1] + heights[box.id] / 2 for box in picture.boxes), default=0.0)
        lowest = max([lowest, *self._placed.middle.values()])
        self.height = self._top - top + lowest + (PAD if framed else 0)
        if framed:
            self._frames(top)
        elif picture.title:
            self._text(MARGIN, top + LINE, picture.title, EDGE)
        for arrow in picture.arrows:
            self._arrow(arrow)
        for box in picture.boxes:
            self._box(box)

    def _height(self, box: Box) -> float:
        return max((1 + len(box.lines)) * LINE + 2 * PAD, len(self._into[box.id]) * LINE + 2 * PAD)

    def _width(self, box: Box) -> float:
        longest = max(len(shortened(box.title, WIDEST)), *(len(line) for line in (*box.shown, "")))
        return longest * CHAR + 2 * PAD

    def _columns(self) -> tuple[list[float], list[float]]:
        """Left and right edge of each layer."""
        layers: dict[int, list[Box]] = {}
        for box in self.picture.boxes:
            layers.setdefault(self._placed.layer[box.id], []).append(box)
        left, right = [], []
        at = float(MARGIN + (PAD if self.picture.bands else 0))
        for number in range(len(layers)):
            labels = [len(shortened(arrow.label, LABEL)) for box in layers[number] for arrow in self._into[box.id]]
            if number:
                at += GAP + max(labels, default=0) * CHAR
            left.append(at)
            at += max(self._width(box) for box in layers[number])
            right.append(at)
        return left, right

    def spot(self, box: Box) -> tuple[float, float, float, float]:
        """Left, top, width and height."""
        height = self._heights[box.id]
        middle = self._top + self._placed.middle[box.id, -1]
        return self._left[self._placed.layer[box.id]], middle - height / 2, self._width(box), height

    def _frames(self, top: float) -> None:
        bottom = top + self.height
        self._rect(MARGIN, top, self.width, self.height, "none", EDGE, "8")
        self._text(MARGIN + PAD, top + LINE, self.picture.title, EDGE, bold=True)
        for number, name in enumerate(self.picture.bands):
            layers = [self._placed.layer[box.id] for box in self.picture.boxes if box.band == number]
            if layers:
                left, right = self._left[min(layers)] - PAD / 2, self._right[max(layers)] + PAD / 2
                self._rect(left, top + HEAD, right - left, bottom - top - HEAD - PAD / 2, EDGE, EDGE, "4")
                self._text(left + PAD / 2, top + HEAD + LINE, name, EDGE)

    def _arrow(self, arrow: Arrow) -> None:
        boxes = {box.id: box for box in self.picture.boxes}
        left, upper, width, height = self.spot(boxes[arrow.source])
        points = [(left + width, upper + height / 2)]
        layer = self._placed.layer[arrow.source]
        if self._right[layer] > left + width:
            points.append((self._right[layer], upper + height / 2))
        for passage in self._placed.routes[arrow.source, arrow.target]:
            level = self._top + self._placed.middle[passage]
            points += [(self._left[passage[1]], level), (self._right[passage[1]], level)]
        end, level = self.spot(boxes[arrow.target])[0], self._port(arrow, boxes[arrow.target])
        if arrow.label:
            text = shortened(arrow.label, LABEL)
            points.append((end - len(text) * CHAR - 10, level))
            self._text(end - len(text) * CHAR - 8, level - 3, text, EDGE)
        points.append((end - 5, level))
        self.parts.append(f"<path d='{_curve(points)}' fill='none' stroke='{EDGE}'/>")
        tip = f"M{end - 6:.1f} {level - 3.5:.1f} L{end:.1f} {level:.1f} L{end - 6:.1f} {level + 3.5:.1f} Z"
        self.parts.append(f"<path d='{tip}' fill='{EDGE}'/>")

    def _port(self, arrow: Arrow, box: Box) -> float:
        """Where an arrow ends: in the order in which they come, from above."""
        _, upper, _, height = self.spot(box)
        arrows = sorted(self._into[box.id], key=lambda each: self._coming(each))
        return upper + height * (arrows.index(arrow) + 1) / (len(arrows) + 1)

    def _coming(self, arrow: Arrow) -> float:
        passages: list[Name] = self._placed.routes[arrow.source, arrow.target]
        return self._placed.middle[passages[-1] if passages else (arrow.source, -1)]

    def _box(self, box: Box) -> None:
        left, upper, width, height = self.spot(box)
        self.parts.append(f"<g><title>{xml_text(box.full)}</title>")
        self._rect(left, upper, width, height, FILL[box.kind], EDGE, "4", solid=True)
        at = upper + (height - (1 + len(box.lines)) * LINE) / 2 + LINE - 3
        self._text(left + PAD, at, shortened(box.title, WIDEST), INK, bold=True)
        for line in box.shown:
            at += LINE
            self._text(left + PAD, at, line, INK)
        self.parts.append("</g>")

    def _rect(
        self, x: float, y: float, width: float, height: float, fill: str, stroke: str, radius: str, solid: bool = False
    ) -> None:
        shade = "" if solid else " fill-opacity='0.07' stroke-opacity='0.6'"
        self.parts.append(
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' rx='{radius}' fill='{fill}' "
            f"stroke='{stroke}'{shade}/>"
        )

    def _text(self, x: float, y: float, text: str, colour: str, bold: bool = False) -> None:
        weight = " font-weight='bold'" if bold else ""
        self.parts.append(f"<text x='{x:.1f}' y='{y:.1f}' fill='{colour}'{weight}>{xml_text(text)}</text>")


def _curve(points: list[tuple[float, float]]) -> str:
    """Through all points, level at each of them."""
    (x, y), *rest = points
    path = f"M{x:.1f} {y:.1f}"
    for to, level in rest:
        if level == y:
            path += f" L{to:.1f} {level:.1f}"
        else:
            half = (x + to) / 2
            path += f" C{half:.1f} {y:.1f} {half:.1f} {level:.1f} {to:.1f} {level:.1f}"
        x, y = to, level
    return path


def schema_table(schema: Schema, name: str = "") -> str:
    caption = f"<caption>{xml_text(name)}</caption>" if name else ""
    rows = "".join(f"<tr><td>{xml_text(name)}</td><td>{xml_text(kind)}</td></tr>" for name, kind in schema)
    return f"<table>{caption}<thead><tr><th>column</th><th>type</th></tr></thead><tbody>{rows}</tbody></table>"


def scrolling(drawing: str) -> str:
    return f"<div style='overflow-x:auto'>{drawing}</div>"
