"""Plans as boxes and arrows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import waterclock as wc
from tests.drawings import SVG, check_drawing
from waterclock.explain import Output, drawing
from waterclock.explain.physical import drawn
from waterclock.optimizer import cut
from waterclock.plan.drawing import FILL, LINES, WIDEST, Arrow, Box, Drawn, Picture, picture_of, svg, titled, wrapped

ROOT = Path(__file__).parents[2]
SCHEMA = {"k": int, "v": int, "ts": "timestamp"}


def box(name: str, band: int = 0) -> Box:
    return Box(name, name, ("a line",), f"all of {name}", "stateless", band)


def texts(picture: Picture) -> list[str]:
    return [element.text or "" for element in check_drawing([picture]).iter(f"{SVG}text")]


@pytest.fixture
def fraud(make_app: Callable[..., wc.App], monkeypatch: pytest.MonkeyPatch) -> wc.App:
    """The largest of the examples: 18 joins, 70 operators."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import fraud as program  # type: ignore[import-not-found,unused-ignore]

    app = make_app()
    for name, stream in zip(("refunds", "per_minute"), program.query(app, program.declare(app)), strict=True):
        stream.into(name)
    sys.modules.pop("fraud")
    return app


def test_a_large_plan(fraud: wc.App) -> None:
    program = fraud.described()
    picture = picture_of({name: output.written for name, output in program.outputs.items()})
    assert len(picture.boxes) > 70
    check_drawing([picture])
    check_drawing([drawn(name, output) for name, output in program.outputs.items()])
    assert drawing(program) == drawing(fraud.described()), "the same each time"


def test_boxes_say_what_they_are(make_app: Callable[..., wc.App]) -> None:
    app = make_app()
    a, b = app.stream("a", SCHEMA, time="ts"), app.stream("b", SCHEMA, time="ts")
    joined = a.filter(wc.col("v") > 1).set_duration("5s").join(b, on="k")
    found = {box.title: box for box in picture_of({"": joined._plan}).boxes}
    assert list(found) == ["stream a", "filter", "set duration", "stream b", "inner join", "project"]
    assert [found[name].kind for name in ("stream a", "filter", "inner join")] == ["source", "stateless", "stateful"]
    assert (found["filter"].lines, found["set duration"].lines) == (("(v > 1)",), ("5s",))
    assert found["inner join"].lines == ("on k == k",), "without the names it gives"
    assert "k as k_right" in found["inner join"].full
    assert len(set(FILL.values())) == len(FILL), "stateful boxes have a colour of their own"


def test_a_plan_that_reads_itself_twice(make_app: Callable[..., wc.App]) -> None:
    a = make_app().stream("a", SCHEMA, time="ts")
    picture = picture_of({"": a.semi_join(a, on="k")._plan})
    assert [box.title for box in picture.boxes] == ["stream a", "semi join"]
    assert len(picture.arrows) == 2
    check_drawing([picture])


def test_text_is_escaped(make_app: Callable[..., wc.App]) -> None:
    app = make_app()
    stream = app.stream("a", SCHEMA, time="ts").select(x=wc.lit("</svg><script>&\"'"))
    assert "<script>" not in stream._repr_html_()
    assert any("</svg><script>" in text for text in texts(picture_of({"": stream._plan})))


def test_long_text_is_cut_and_shown_in_whole_on_the_box(make_app: Callable[..., wc.App]) -> None:
    names = {f"a_long_name_of_a_column_{n}": int for n in range(20)}
    stream = make_app().stream("a", {**names, "ts": "timestamp"}, time="ts")
    (only,) = picture_of({"": stream._plan}).boxes
    assert len(only.lines) == LINES
    assert only.lines[-1].endswith("…")
    assert all(len(line) <= WIDEST for line in only.lines)
    assert "a_long_name_of_a_column_19" in only.full
    assert wrapped("x" * 100)[0] == "x" * WIDEST


def test_bands_stand_side_by_side() -> None:
    boxes = (box("a"), box("b"), box("c"), box("d", band=1), box("e", band=1))
    arrows = (Arrow("a", "b"), Arrow("b", "c"), Arrow("a", "d", "by k"), Arrow("d", "e"))
    picture = Picture(boxes, arrows, "title", ("one", "two"))
    spots = {each.id: Drawn(picture, 0.0).spot(each) for each in boxes}
    assert spots["c"][0] + spots["c"][2] < spots["d"][0]
    assert {"title", "one", "two", "by k"} <= set(texts(picture))


def test_boxes_in_any_order() -> None:
    boxes = (box("c", band=1), box("d", band=1), box("b", band=1), box("a"))
    check_drawing(
        [Picture(boxes, (Arrow("a", "b"), Arrow("b", "c"), Arrow("c", "d"), Arrow("a", "d")), "", ("x", "y"))]
    )


def test_nothing_to_draw() -> None:
    check_drawing([Picture((), ())])
    assert svg([]).startswith("<svg ")


def test_a_vertex_has_stages_legs_and_keys(make_app: Callable[..., wc.App]) -> None:
    app = make_app()
    a, b = app.stream("a", SCHEMA, time="ts"), app.stream("b", SCHEMA, time="ts")
    joined = a.filter(wc.col("v") > 1).set_duration("5s").join(b, on="k")
    plan = joined.group_by("v").tumbling("1m").agg(n=wc.count())._plan
    picture = drawn("out", Output(plan, plan, cut("out", plan), wc.console()))
    assert picture.bands == ("stage 0", "stage 1", "stage 2")
    legs = {box.title: box.lines for box in picture.boxes if box.kind == "stateless"}
    assert legs["leg"] == ("filter (v > 1)", "set duration 5s"), "stateless operators run as one"
    assert [arrow.label for arrow in picture.arrows if arrow.label] == ["by k", "by k", "by v"]
    assert picture.boxes[-1].lines == ("console, at least once",)


def test_titles() -> None:
    app = wc.App("a", "unused")
    a, b = app.stream("a", SCHEMA, time="ts"), app.stream("b", SCHEMA, time="ts")
    assert titled(a.point_at_end()._plan) == ("point at end", "")
    assert titled(a.asof_join(b, left_on="k", right_on="v", tolerance="5s")._plan)[0] == "left as-of join"
    assert titled(a.stitch()._plan) == ("stitch", "")
