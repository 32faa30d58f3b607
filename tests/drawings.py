"""What every drawing must be: XML, with all boxes and arrows, and no two boxes over each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from xml.etree import ElementTree

from waterclock.plan.drawing import Drawn, Picture, svg

SVG = "{http://www.w3.org/2000/svg}"


def check_drawing(pictures: Sequence[Picture]) -> ElementTree.Element:
    root = ElementTree.fromstring(svg(pictures))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = list(root.iter(f"{SVG}g"))
    assert [box.findtext(f"{SVG}title") for box in boxes] == [box.full for one in pictures for box in one.boxes]
    assert len(list(root.iter(f"{SVG}path"))) == 2 * sum(len(one.arrows) for one in pictures), "a line and a tip each"
    spots = []
    for box in boxes:
        rect = box.find(f"{SVG}rect")
        assert rect is not None
        x, y, wide, high = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        assert min(x, y) >= 0, "inside the drawing"
        assert x + wide <= width
        assert y + high <= height
        spots.append((x, y, x + wide, y + high))
    for one, other in combinations(spots, 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, (one, other)
    for picture in pictures:
        check_arrows(picture)
    return root


def check_arrows(picture: Picture) -> None:
    """They go from left to right."""
    drawn = Drawn(picture, 0.0)
    spots = {box.id: drawn.spot(box) for box in picture.boxes}
    for arrow in picture.arrows:
        left, _, width, _ = spots[arrow.source]
        assert left + width < spots[arrow.target][0]
