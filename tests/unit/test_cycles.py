"""Cycles: what is refused, what a plan looks like, how far time is promised, what a snapshot holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import waterclock as wc
from waterclock.catalog import Catalog, Intent, Range
from waterclock.errors import ConfigError
from waterclock.lang.fluent import Stream
from waterclock.optimizer.cycles import advances, closed, cycles, longest
from waterclock.optimizer.lives import Life
from waterclock.plan import Extend, Filter, Input, Join, Node, Project, Shift, Union
from waterclock.runtime import vertex
from waterclock.runtime.feedback import Feedback
from waterclock.runtime.files import Saved
from waterclock.runtime.log import StreamReader
from waterclock.runtime.task import Report
from waterclock.schema import Schema
from waterclock.time import BEGINNING, FOREVER

MakeApp = Callable[..., wc.App]
Body = Callable[[Stream], Stream]
NODES: dict[str, object] = {"t": int, "node": str}


def links(app: wc.App, **options: Any) -> tuple[wc.SourceStream, wc.SourceStream]:
    """Alerts on nodes, and links between nodes that hold for 50."""
    seeds = app.stream("alerts", NODES, time="t", max_ahead=None)
    options = {"duration": 50} | options
    return seeds, app.stream("links", {"t": int, "node": str, "to": str}, time="t", max_ahead=None, **options)


def spreading(edges: Stream, by: int = 10) -> Body:
    return lambda loop: loop.join(edges, on="node").select("t", node="to").shift(by)


def rows(store: Path, name: str = "reach") -> list[tuple[Any, ...]]:
    catalog = Catalog.open(store)
    row = catalog.streams.get(name)
    found = StreamReader(catalog, name).read(row.first, row.next)
    catalog.close()
    return sorted(found.select("_vs", "_ve", "node").rows())


# -- what it gives -----------------------------------------------------------------------------------------


def test_it_goes_around_as_long_as_there_are_links(make_app: MakeApp, tmp_path: Path, each_database: str) -> None:
    app = make_app()
    seeds, edges = links(app)
    seeds.iterate(spreading(edges), name="reach").filter(wc.col("node") == "a").into("home")
    edges.push([{"t": 0, "node": "a", "to": "b"}, {"t": 20, "node": "b", "to": "a"}, {"t": 21, "node": "z", "to": "a"}])
    seeds.push([{"t": 5, "node": "a"}, {"t": 7, "node": "b"}])
    app.run(mode="offline")
    expected = [(5, 6, "a"), (7, 8, "b"), (15, 16, "b")]  # no link from b holds yet
    assert rows(tmp_path / "store") == expected
    edges.push([{"t": 50, "node": "a", "to": "b"}])
    seeds.push([{"t": 30, "node": "b"}])
    seeds.end()
    edges.end()
    app.run(mode="offline")
    expected += [(30, 31, "b"), (40, 41, "a"), (50, 51, "b"), (60, 61, "a"), (70, 71, "b")]
    assert rows(tmp_path / "store") == expected
    assert rows(tmp_path / "store", "home") == [row for row in expected if row[2] == "a"]


def test_an_idle_cycle_runs_no_epochs_and_a_trip_is_one(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    seeds, edges = links(app, duration=1000)
    seeds.iterate(spreading(edges), name="reach")
    edges.push([{"t": 0, "node": n, "to": to} for n, to in zip("abcdefg", "bcdefgh", strict=True)])
    edges.advance(2000)

    def epoch() -> int:
        app.run(mode="offline")
        catalog = Catalog.open(tmp_path / "store")
        found = catalog.epochs.snapshot("reach")
        catalog.close()
        assert found.positions["reach"] == found.output_end, "nothing is on the way"
        assert found.ctis["reach"] == found.cti
        return found.epoch

    before = epoch()
    assert epoch() == before
    seeds.push([{"t": 5, "node": "a"}])
    after = epoch()
    assert after - before <= 1 + 8 + 1, "the seed, eight trips (the last one gives nothing), and time"
    assert len(rows(tmp_path / "store")) == 8
    assert epoch() == after


def test_time_goes_as_far_as_the_inputs_at_once(make_app: MakeApp, tmp_path: Path) -> None:
    """And not by one trip an epoch."""
    app = make_app()
    seeds, edges = links(app)
    seeds.iterate(spreading(edges, by=1), name="reach")
    edges.advance(1_000_000)
    seeds.advance(1_000_000)
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.epochs.snapshot("reach").cti == 1_000_000
    assert catalog.epochs.snapshot("reach").epoch <= 1
    catalog.close()


def test_windows_in_the_body(make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results at the ends of windows come when time passes: the promise is corrected, and the epoch done again."""
    corrected: list[Intent] = []
    original = vertex.VertexWorker._rewrite

    def rewrite(self: vertex.VertexWorker, intent: Intent) -> bool:
        corrected.append(intent)
        return original(self, intent)

    monkeypatch.setattr(vertex.VertexWorker, "_rewrite", rewrite)
    app = make_app()
    seeds, edges = links(app, duration=1000)

    def body(loop: Stream) -> Stream:
        counted = loop.group_by("node").tumbling(10, result="point_end").agg(t=wc.max("t"))
        return counted.join(edges, on="node").select("t", node="to").shift(1)

    seeds.iterate(body, name="reach")
    edges.push([{"t": 0, "node": "a", "to": "b"}, {"t": 0, "node": "b", "to": "c"}])
    seeds.push([{"t": 5, "node": "a"}, {"t": 6, "node": "a"}])
    seeds.end()
    edges.end()
    app.run(mode="offline")
    assert rows(tmp_path / "store") == [(5, 6, "a"), (6, 7, "a"), (11, 12, "b"), (21, 22, "c")]
    assert corrected


def test_what_was_left_over_is_read_after_a_stop(make_app: MakeApp, tmp_path: Path) -> None:
    """A row at a time: the unread range of the back edge is what is on the way."""
    app = make_app(epoch_rows=1)
    seeds, edges = links(app)
    seeds.iterate(spreading(edges), name="reach")
    edges.push([{"t": 0, "node": "a", "to": to} for to in "bcd"])
    seeds.push([{"t": 5, "node": "a"}, {"t": 6, "node": "a"}])
    seeds.end()
    edges.end()
    app.run(mode="offline")
    assert len(rows(tmp_path / "store")) == 2 + 6


# -- what is refused ---------------------------------------------------------------------------------------


def refused(app: wc.App, body: Callable[[Stream, Stream], Stream], **options: Any) -> str:
    seeds, edges = links(app, **options)
    with pytest.raises(ConfigError) as caught:
        seeds.iterate(lambda loop: body(loop, edges), name="reach")
    return str(caught.value)


def paired(loop: Stream, edges: Stream) -> Stream:
    return loop.join(edges, on="node").select("t", node="to")


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        (lambda loop, edges: paired(loop, edges).select("node"), "CYCLE_COLUMNS", "t bigint, node string"),
        (lambda loop, edges: edges.select("t", "node").shift(1), "CYCLE_OPEN", "does not use"),
        (paired, "CYCLE_STANDS_STILL", "nothing in its body moves it on"),
        (lambda loop, edges: paired(loop, edges).shift(-5), "CYCLE_STANDS_STILL", "hold it back by 5us"),
        (lambda loop, edges: paired(loop, edges).quantize(8).shift(7), "CYCLE_STANDS_STILL", ".shift('1us')"),
        (lambda loop, edges: edges.select("t", "node").distinct().semi_join(loop, on="node").shift(40),
         "CYCLE_STANDS_STILL", "semi join"),
        (lambda loop, edges: paired(loop, edges).stitch().shift(1), "CYCLE_TIME_UNKNOWN", "stitch"),
        (lambda loop, edges: loop.shift(1), "CYCLE_ENDLESS", "allow_unbounded"),
        (lambda loop, edges: loop.clip_join(edges, on="node").shift(1), "CYCLE_ENDLESS", "clip_duration"),
        (lambda loop, edges: paired(loop, edges).shift(1).union(loop.shift(1)), "CYCLE_ENDLESS", "reach"),
        (lambda loop, edges: paired(loop.into("copy"), edges).shift(1), "CYCLE_INSIDE", "'copy'"),
        (lambda loop, edges: loop.iterate(lambda inner: paired(inner, edges).shift(1), name="inner").shift(1),
         "CYCLE_INSIDE", "'inner'"),
    ],
)  # fmt: skip
def test_what_is_refused(make_app: MakeApp, body: Callable[[Stream, Stream], Stream], code: str, says: str) -> None:
    message = refused(make_app(), body)
    assert f"PLAN.{code}" in message
    assert says in message


def test_links_that_may_never_end_end_no_trips(make_app: MakeApp) -> None:
    message = refused(make_app(), lambda loop, edges: paired(loop, edges).shift(1), end="t", duration=None)
    assert "PLAN.CYCLE_ENDLESS" in message
    app = make_app()
    seeds, edges = links(app, end="t", duration=None)
    seeds.iterate(spreading(edges.clip_duration(100)), name="reach")


def test_a_table_ends_no_trips(make_app: MakeApp) -> None:
    for allowed in (False, True):
        app = make_app(allow_unbounded=allowed)
        seeds, _ = links(app)
        table = app.table("map", {"node": str, "to": str}, [{"node": "a", "to": "b"}])
        if allowed:
            seeds.iterate(spreading(table), name="reach")
        else:
            with pytest.raises(ConfigError, match=r"PLAN\.CYCLE_ENDLESS"):
                seeds.iterate(spreading(table), name="reach")


def test_a_table_without_a_way_back_is_a_fine_map(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app(allow_unbounded=True)
    seeds, _ = links(app)
    seeds.iterate(spreading(app.table("map", {"node": str, "to": str}, [{"node": "a", "to": "b"}])), name="reach")
    seeds.push([{"t": 5, "node": "a"}])
    seeds.end()
    app.run(mode="offline")
    assert rows(tmp_path / "store") == [(5, 6, "a"), (15, 16, "b")]


def test_windows_of_open_events_behind_a_cycle_are_refused(make_app: MakeApp) -> None:
    app = make_app()
    seeds, edges = links(app)
    open_ended = app.stream("open", {**NODES, "e": int}, time="t", end="e").select("t", "node")
    reach = seeds.iterate(spreading(edges), name="reach").filter(wc.col("t") > 0)
    reach.into("kept")
    for behind in (reach, app.read("kept")):
        with pytest.raises(ConfigError, match=r"PLAN\.CYCLE_OPEN_EVENTS"):
            behind.union(open_ended).tumbling(10).agg(n=wc.count()).into("counts")
    reach.union(open_ended.clip_duration(100)).tumbling(10).agg(n=wc.count()).into("counts")


def test_a_name_is_used_once(make_app: MakeApp) -> None:
    app = make_app()
    seeds, edges = links(app)
    with pytest.raises(ConfigError, match=r"PLAN\.DUPLICATE_NAME"):
        seeds.iterate(spreading(edges), name="links")


# -- plans -------------------------------------------------------------------------------------------------

SEEDS = Input("s", Schema.of({"k": "string"}), of_points=True)
OTHER = Input("o", Schema.of({"k": "string"}), of_points=False)


def semi(left: Node, right: Node) -> Join:
    return Join("semi", left, right, ("k",), ("k",), ())


def test_the_back_edge_has_the_properties_of_the_result() -> None:
    root = closed("r", SEEDS, lambda loop: Shift(semi(OTHER, loop), 5))
    assert not root.points
    (edge,) = [node for node in (root.inputs[1].inputs[0].inputs) if isinstance(node, Input) and node.back]
    assert not edge.points
    assert root.cyclic
    assert cycles({"r": root, "s2": Filter(SEEDS, wc.col("k") == "a")}) == ["r"]
    points = closed("r", SEEDS, lambda loop: Shift(semi(loop, OTHER), 5))
    assert points.points


def test_lives_after_any_number_of_trips() -> None:
    lives = {"s": Life(1), "o": Life(30)}
    assert longest("r", closed("r", SEEDS, lambda loop: Shift(semi(OTHER, loop), 5)), lives).longest == 30
    longer = closed("r", SEEDS, lambda loop: Extend(Shift(semi(loop, OTHER), 5), 2))
    assert longest("r", longer, lives).longest is None


def test_advances_are_those_of_the_slowest_way() -> None:
    def body(loop: Node) -> Node:
        return Union((Shift(semi(loop, OTHER), 9), Shift(Project(loop, (("k", wc.col("k")),)), 3)))

    root = closed("r", SEEDS, body)
    assert advances(root, {"s": Life(1), "o": Life(30)}) == {"s": 0, "o": 9, "r": 3}


def test_the_plan_shows_the_back_edge(make_app: MakeApp) -> None:
    app = make_app()
    seeds, edges = links(app)
    seeds.iterate(spreading(edges), name="reach").tumbling(10).agg(n=wc.count()).into("counts")
    assert "back edge reach (t bigint, node string)" in app.explain()
    assert "back edge reach: its own result, one epoch later" in app.explain()
    for stage in ("logical", "optimized", "physical", "spark"):
        assert "reach" in app.explain(stage)
    assert "back edge reach" in app._repr_html_()


def test_a_body_is_not_moved_out_of_its_cycle(make_app: MakeApp, tmp_path: Path) -> None:
    """An output that computes the same as the body computes it again: two vertices would go around otherwise."""
    app = make_app()
    seeds, edges = links(app)
    body = spreading(edges)
    body(seeds.iterate(body, name="reach")).into("moved")
    edges.push([{"t": 0, "node": "a", "to": "b"}])
    seeds.push([{"t": 5, "node": "a"}])
    seeds.end()
    edges.end()
    app.run(mode="offline")
    assert rows(tmp_path / "store", "moved") == [(15, 16, "b")]
    catalog = Catalog.open(tmp_path / "store")
    assert {v.name: v.inputs for v in catalog.epochs.vertices()} == {
        "moved": ("links", "reach"),
        "reach": ("alerts", "links", "reach"),
    }
    catalog.close()


# -- promises ----------------------------------------------------------------------------------------------

EDGE = Feedback("r", {"s": 0, "o": 5, "r": 10})


@pytest.mark.parametrize(
    ("own", "ctis", "least", "promised"),
    [
        (0, {"s": 100, "o": 80}, {}, 85),
        (0, {"s": FOREVER, "o": FOREVER}, {}, FOREVER),
        (0, {"s": FOREVER, "o": FOREVER}, {"r": 40}, 50),
        (0, {"s": 100, "o": 80}, {"s": 20, "r": 12}, 20),
        (60, {"s": 100, "o": 80}, {"s": 20}, 60),
        (BEGINNING, {"s": 100, "o": BEGINNING}, {}, BEGINNING),
    ],
)
def test_what_is_promised(own: int, ctis: dict[str, int], least: dict[str, int], promised: int) -> None:
    assert EDGE.promised(own, ctis, least) == promised


def test_where_nobody_knows_the_own_time_is_promised() -> None:
    assert Feedback("r", {"s": 0, "o": None, "r": 10}).promised(7, {"s": 100, "o": 100}, {}) == 7


def test_a_promise_that_does_not_hold_is_corrected() -> None:
    def intent(new: int) -> Intent:
        return Intent(3, {"s": Range(0, 0, 5, 100), "r": Range(2, 4, 10, new)}, 1, ())

    saved = Saved(1, None, b"", (0, 33), (0, 34))
    report = Report(0, 0, outputs=[(0, saved, 1)], output_cti=90)
    assert EDGE.corrected(intent(33), 10, [report]) is None
    found = EDGE.corrected(intent(34), 10, [report])
    assert found is not None
    assert found.inputs["r"].new == 33
    later = EDGE.corrected(intent(95), 91, [Report(0, 0, output_cti=90)])
    assert later is not None
    assert later.inputs["r"].new == 91, "the own time is always right"
