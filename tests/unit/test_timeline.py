"""Events on a time axis."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from click.testing import CliRunner, Result

import waterclock as wc
from tests.drawings import SVG
from waterclock.cli.main import main
from waterclock.results import Result as Found
from waterclock.schema import VE, VS
from waterclock.time import BEGINNING, DAY, FOREVER, HOUR, MINUTE, SECOND
from waterclock.timeline import DEEP, EVENTS, LANES, STEPS, WIDTH, Timeline, step_for, tick, timeline

HOSTILE = "</svg><script>alert('x')</script>&\"\x00\ufffe"
START = 1_700_000_000_000_000


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def rows(*found: tuple[int, int, str]) -> pl.DataFrame:
    return pl.DataFrame(found, schema={VS: pl.Int64(), VE: pl.Int64(), "k": pl.String()}, orient="row")


def checked(drawn: Timeline) -> ElementTree.Element:
    """It is XML, and everything is inside of the picture."""
    root = ElementTree.fromstring(drawn.svg)
    height = float(root.attrib["height"])
    for rect in root.iter(f"{SVG}rect"):
        x, y, width, tall = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + width <= WIDTH
        assert 0 <= y <= y + tall <= height
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.attrib["y"]) <= height
    return root


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_bars_points_arrows_and_the_cti() -> None:
    found = Found("s", rows((0, 10, "a"), (3, 4, "a"), (5, FOREVER, "b")), cti=8)
    root = checked(timeline(found, ["k"]))
    assert len(list(root.iter(f"{SVG}rect"))) == 2
    assert len(list(root.iter(f"{SVG}circle"))) == 1
    assert sum("Z" in path.attrib["d"] for path in root.iter(f"{SVG}path")) == 1, "an arrow"
    assert {"s", "a", "b", "CTI"} <= set(texts(root))
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert any((title or "").startswith("[1970-01-01 00:00:00.000005, ∞)") for title in titles)


def test_without_the_cti() -> None:
    for cti in (None, BEGINNING, FOREVER, 10**15):
        assert "CTI" not in texts(checked(timeline(Found("s", rows((0, 10, "a")), cti), [])))


def test_events_that_overlap_stand_below_each_other() -> None:
    root = checked(wc.draw(rows((0, 10, "a"), (5, 15, "a"), (10, 20, "a"))))
    assert len({rect.attrib["y"] for rect in root.iter(f"{SVG}rect")}) == 2


def test_what_is_left_out_is_said() -> None:
    many = pl.concat([rows(*((n, n + 1, f"k{n}") for n in range(LANES + 5)))])
    drawn = wc.draw(many, by="k")
    assert drawn.left_out == ("5 keys with 5 events",)
    assert "left out: 5 keys with 5 events" in texts(checked(drawn))
    late = wc.draw(rows(*((n, n + 2, "k") for n in range(EVENTS + 100))))
    assert late.left_out == ("100 events that start at 1970-01-01 00:00:00.001 or later",)
    checked(late)
    at_once = wc.draw(rows(*[(0, 2, "k")] * (EVENTS + 100)), "k")
    assert at_once.left_out == ("100 events", f"{EVENTS - DEEP:,} events of k, more than {DEEP} at the same time")
    checked(at_once)


def test_nothing_to_draw() -> None:
    for by in ((), "k"):
        checked(wc.draw(rows(), by=by))
    checked(wc.draw(rows(), start=0, end=5))
    ever = checked(wc.draw(rows((1 - 2**61, FOREVER, "a"))))
    assert sum("Z" in path.attrib["d"] for path in ever.iter(f"{SVG}path")) == 2


def test_a_part_of_time() -> None:
    found = rows((0, 10, "a"), (20, 30, "b"), (5, 40, "c"))
    drawn = wc.draw(found, by="k", start=11, end=19)
    assert {"c"} == {"a", "b", "c"} & set(texts(checked(drawn)))


def test_hostile_text() -> None:
    frame = rows((0, 100, HOSTILE)).rename({"k": "<&>"})
    for by in ((), "<&>"):
        drawn = wc.draw(frame, by=by)
        checked(drawn)
        assert "<script" not in drawn.svg
        assert drawn._repr_html_() == drawn._repr_svg_() == drawn.svg


def test_steps_and_ticks() -> None:
    assert list(STEPS) == sorted(set(STEPS))
    for span in (1, 7, 8, 12345, MINUTE, 40 * HOUR, 400 * DAY, 2**61):
        assert span <= 7 * step_for(span, 7) or step_for(span, 7) == STEPS[-1]
    assert tick(START, SECOND) == ("2023-11-14", "22:13:20")
    assert tick(START, 1000) == ("2023-11-14", "22:13:20.000")
    assert tick(START, 1) == ("2023-11-14", "22:13:20.000000")
    assert tick(START, MINUTE) == ("2023-11-14", "22:13")
    assert tick(START, DAY) == ("", "2023-11-14")
    assert tick(2**60, DAY)[1].endswith("µs")
    checked(wc.draw(rows((-(2**60), 2**60, "a"))))


# -- the command -------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Path:
    app = wc.App("shop", tmp_path / "store")
    sales = app.stream("sales", {"user": str, "ts": "timestamp"}, time="ts")
    sales.group_by("user").tumbling("1m").agg(n=wc.count()).into("totals")
    sales.push({"user": ["ann", "bob", "ann"], "ts": [START, START + 1, START + 70_000_000]})
    app.run(mode="offline")
    return tmp_path / "store"


def test_draw(store: Path, tmp_path: Path) -> None:
    found = call("draw", "totals", "--store", store, "--by", "user", "-o", tmp_path / "t.svg")
    assert (found.exit_code, found.stdout) == (0, "")
    assert f"drawn: {tmp_path / 't.svg'}" in found.stderr
    root = ElementTree.parse(tmp_path / "t.svg").getroot()
    assert {"ann", "bob", "CTI"} <= set(texts(root))
    shown = call("draw", "sales", "--store", store, "--from", "2023-11-14T22:14", "--to", "2023-11-14T22:20")
    assert shown.exit_code == 0
    assert len(list(ElementTree.fromstring(shown.stdout).iter(f"{SVG}circle"))) == 1


def test_bad_input(store: Path, tmp_path: Path) -> None:
    for arguments, code, says in (
        (["nothing"], 1, "[STORE.NO_STREAM]"),
        (["totals", "--by", "usr"], 2, "Did you mean 'user'?"),
        (["totals", "--from", "then"], 2, "[TIME.BAD_INSTANT]"),
        (["totals", "-o", str(tmp_path / "no" / "t.svg")], 2, "No such file"),
    ):
        found = call("draw", *arguments, "--store", store)
        assert (found.exit_code, found.stdout) == (code, "")
        assert says in found.stderr
