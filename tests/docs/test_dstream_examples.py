"""The programs of the D-Streams paper: each runs, and equals the reference and the same query in the fluent API."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

import waterclock as wc
from tests.docs.test_examples import EXAMPLES, run
from waterclock.lang.fluent import Stream
from waterclock.reference import evaluate, logical_difference
from waterclock.schema import VE, VS


def words(lines: Stream) -> Stream:
    return lines.explode(word=wc.split("text", " "))


def sliding(lines: Stream, hop: str) -> Stream:
    counts = words(lines).group_by("word").hopping("30s", hop).agg(n=wc.count())
    return counts.shift(f"-{hop}")  # the result belongs to the interval in which the window ends


def sessions(events: Stream) -> Stream:
    """Active at the end of each interval, without user code: from each event on, until an event or 15 s later."""
    alive = events.set_duration("15s").clip_join(events, on="client").filter(wc.col("kind") != "exit")
    step = 5_000_000
    start, end = wc.start().unix_micros().floor_to(step), wc.end().unix_micros().floor_to(step)
    return alive.alter_lifetime(start, end - start).tumbling("5s").agg(count=wc.count())


def running(views: Stream) -> Stream:
    """In each second with views of a page, how many it had since the beginning."""
    ever = views.set_duration("20s").group_by("url").tumbling("1s").agg(n=wc.count())
    return ever.semi_join(views.group_by("url").tumbling("1s").agg(m=wc.count()), on="url")


PROGRAMS: dict[str, tuple[str, str, str, Callable[[Stream], Stream]]] = {
    "view_count": ("page_views", "1s", "view_count", running),
    "word_count": (
        "sentences", "10s", "word_count", lambda s: words(s).group_by("word").tumbling("10s").agg(n=wc.count())
    ),
    "sliding_count": ("sentences", "5s", "sliding_count", lambda s: sliding(s, "5s")),
    "sliding_count without inverse": ("sentences", "5s", "sliding_count_without_inverse", lambda s: sliding(s, "5s")),
    "sessions": ("client_events", "5s", "active_sessions", sessions),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_equal_the_reference_and_the_fluent_api(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    data = importlib.import_module("dstream_data")
    source, interval, function, fluent = PROGRAMS[name]
    program = getattr(importlib.import_module(f"dstream_{name.split()[0]}"), function)
    app = data.new_app()
    stream = getattr(data, source)(app)
    made = program(wc.dstream(stream, interval))
    made.into("made")
    fluent(stream).into("fluent")
    stream.into("input")
    handle = app.run(mode="offline")
    found, same, given = (
        [(row.pop(VS), row.pop(VE), row) for row in handle.frame(output).iter_rows(named=True)]
        for output in ("made", "fluent", "input")
    )
    assert found
    last = max(vs for vs, _, _ in given)
    expected = evaluate(made._datasets()._plan, {stream.declaration.name: given}, {stream.declaration.name: last})
    assert not logical_difference(found, expected)
    assert not logical_difference(found, same)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("view_count", "[1, 2)       url=/ n="),
        ("word_count", "[0, 10)      word=be n=2"),
        ("sliding_count", "[0, 5)       word=be n=2"),
        ("sessions", "[5, 10)      count=2"),
    ],
)
def test_they_run(name: str, line: str, tmp_path: Path) -> None:
    output = run(EXAMPLES / f"dstream_{name}.py", cwd=tmp_path)
    assert line in output
