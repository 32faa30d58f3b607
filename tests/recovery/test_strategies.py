"""State that is lost is had again, by every strategy, for the keys that lost it, and output is not written twice."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from waterclock.catalog import Catalog, Vertex
from waterclock.plan.strategy import Strategy
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.log import StreamReader
from waterclock.runtime.recovery import EVERY_KEY, base_of, check_tail
from waterclock.runtime.store import Store
from waterclock.state import Run

Make = Callable[..., wc.App]
SECOND = 1_000_000


def windowed(a: wc.Stream, b: wc.Stream) -> wc.Stream:
    return a.group_by("k").hopping("40s", "20s").agg(n=wc.count(), total=wc.sum("v"))


def snapshot(a: wc.Stream, b: wc.Stream) -> wc.Stream:
    return a.set_duration("30s").group_by("k").snapshot().agg(n=wc.count())


def joined(a: wc.Stream, b: wc.Stream) -> wc.Stream:
    return a.set_duration("30s").join(b.set_duration("20s").select("k", w="v"), on="k")


def outer(a: wc.Stream, b: wc.Stream) -> wc.Stream:
    return a.set_duration("30s").join(b.set_duration("20s").select("k", w="v"), on="k", how="left")


def anti(a: wc.Stream, b: wc.Stream) -> wc.Stream:
    return a.set_duration("30s").join(b.set_duration("20s"), on="k", how="anti")


def clipped(a: wc.Stream, b: wc.Stream) -> wc.Stream:
    return a.set_duration("50s").join(b, on="k", how="clip")


def sessions(a: wc.Stream, b: wc.Stream) -> wc.Stream:
    return a.group_by("k").session("15s", maximum="1m").agg(n=wc.count())


def two_stages(a: wc.Stream, b: wc.Stream) -> wc.Stream:
    return a.group_by("k").tumbling("20s").agg(n=wc.count()).group_by("n").tumbling("1m").agg(keys=wc.count())


QUERIES = {f.__name__: f for f in (windowed, snapshot, joined, outer, anti, clipped, sessions, two_stages)}
STRATEGIES: dict[str, Strategy] = {"checkpoint": wc.checkpoint("1h"), "replay": wc.replay()}


def rows(seed: int) -> list[dict[str, object]]:
    """Of a minute and a half, somewhat out of order."""
    chance = random.Random(seed)
    times = sorted((second + chance.random() * 5, second) for second in range(90) for _ in range(4))
    return [{"ts": int(at * SECOND), "k": f"k{chance.randrange(12)}", "v": 1} for _, at in times]


def declare(app: wc.App, query: str, recovery: Strategy | None) -> tuple[wc.SourceStream, wc.SourceStream]:
    columns = {"ts": "timestamp", "k": str, "v": "bigint"}
    a, b = (app.stream(name, columns, time="ts", slack="10s", late="fail") for name in "ab")
    QUERIES[query](a, b).into("out", recovery=recovery)
    return a, b


def feed(app: wc.App, streams: tuple[wc.SourceStream, wc.SourceStream], part: slice) -> None:
    for number, stream in enumerate(streams):
        stream.push(rows(number)[part])
    app.run(mode="offline")


def answer(store: Path) -> list[tuple[object, ...]]:
    catalog = Catalog.open(store)
    row = catalog.streams.get("out")
    found = StreamReader(catalog, "out").read(row.first, row.next)
    catalog.close()
    return sorted(found.rows(), key=repr)


def fresh(catalog: Catalog, vertex: Vertex) -> list[Run]:
    known = {run.blob for _, run in base_of(catalog, vertex)}
    return [run for _, run in catalog.epochs.runs(vertex.name) if run.blob not in known]


def destroy(store: Path, runs: list[Run]) -> None:
    for run in runs:
        with (store / run.blob.path).open("r+b") as file:
            file.seek(run.blob.offset)
            file.write(bytes(run.blob.length))


@pytest.fixture
def unsaved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run ends as a power cut would end it: without a last checkpoint."""
    monkeypatch.setattr(Keeper, "close", lambda self: self.sync())


@pytest.mark.usefixtures("unsaved", "each_database")
@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("query", QUERIES)
def test_lost_state_is_had_again(query: str, strategy: str, tasks: int, make_app: Make, tmp_path: Path) -> None:
    cuts = [slice(0, 120), slice(120, 200), slice(200, 300), slice(300, 360)]
    undisturbed = make_app("undisturbed", store=tmp_path / "undisturbed")
    streams = declare(undisturbed, query, None)
    for cut in cuts:
        feed(undisturbed, streams, cut)

    store = tmp_path / "store"
    rebuilt = 0
    for number, cut in enumerate(cuts):
        app = make_app("test", store=store, epoch_rows=25)
        streams = declare(app, query, STRATEGIES[strategy])
        feed(app, streams, cut)
        catalog = Catalog.open(store)
        catalog.epochs.set_tasks("out", tasks)
        vertex = catalog.epochs.get("out")
        assert vertex.stored == vertex.epoch
        assert vertex.lost is None
        lost = fresh(catalog, vertex)
        destroy(store, lost if number % 2 else lost[len(lost) // 2 : len(lost) // 2 + 1])
        rebuilt += bool(lost)
        assert vertex.counters.get("rollbacks", 0) == 0
        catalog.close()
    app = make_app("test", store=store, epoch_rows=25)
    for stream in declare(app, query, STRATEGIES[strategy]):
        stream.end()
    app.run(mode="offline")
    for stream in declare(other := make_app("undisturbed", store=tmp_path / "undisturbed"), query, None):
        stream.end()
    other.run(mode="offline")
    catalog = Catalog.open(store)
    assert catalog.epochs.get("out").counters.get("rebuilds", 0) >= min(1, rebuilt)
    catalog.close()
    assert rebuilt, "the test needs something to lose"
    assert answer(store) == answer(tmp_path / "undisturbed")


@pytest.mark.usefixtures("unsaved")
def test_what_goes_by_the_cuts_is_rebuilt_by_them(make_app: Make, tmp_path: Path) -> None:
    """Early results are numbered by how often they were given: only the recorded epochs give that again."""
    for name in ("undisturbed", "disturbed"):
        for cut in (slice(0, 120), slice(120, 240), slice(240, 360)):
            app = make_app(name, store=tmp_path / name, epoch_rows=25)
            columns = {"ts": "timestamp", "k": str, "v": "bigint"}
            a = app.stream("a", columns, time="ts", slack="10s")
            a.group_by("k").tumbling("20s", early="8s").agg(n=wc.count()).into("out", recovery=wc.checkpoint("1h"))
            a.push(rows(0)[cut])
            app.run(mode="offline")
            catalog = Catalog.open(tmp_path / name)
            lost = fresh(catalog, catalog.epochs.get("out"))
            assert lost, "the test needs something to lose"
            if name == "disturbed":
                destroy(tmp_path / name, lost)
            catalog.close()
    catalog = Catalog.open(tmp_path / "disturbed")
    assert catalog.epochs.get("out").counters["rebuilds"] == 2
    catalog.close()
    assert answer(tmp_path / "disturbed") == answer(tmp_path / "undisturbed")


@pytest.mark.usefixtures("unsaved")
def test_only_the_keys_that_lost_their_state_are_computed(make_app: Make, tmp_path: Path) -> None:
    app = make_app(store=tmp_path / "store", epoch_rows=25)
    streams = declare(app, "joined", wc.checkpoint("1h"))
    feed(app, streams, slice(0, 0))
    catalog = Catalog.open(tmp_path / "store")
    catalog.epochs.set_tasks("out", 4)
    feed(app, streams, slice(0, 200))
    vertex = catalog.epochs.get("out")
    found = fresh(catalog, vertex)
    narrow = min(found, key=lambda run: run.greatest_hash - run.least_hash)
    destroy(tmp_path / "store", [narrow])
    plan = app._declared.plans(catalog)["out"]
    assert check_tail(Store(catalog, None), plan)
    lost = catalog.epochs.get("out").lost
    assert lost is not None
    assert lost != EVERY_KEY
    assert sum(high - low for low, high in lost) < 2**64 // 2
    kept = [run for _, run in catalog.epochs.runs("out")]
    assert kept, "what other keys know stays"
    catalog.close()


def test_a_replay_keeps_its_window_of_input_and_no_more(make_app: Make, tmp_path: Path) -> None:
    app = make_app(store=tmp_path / "store", epoch_rows=25)
    streams = declare(app, "windowed", wc.replay())
    for start in range(0, 360, 20):
        streams[0].push(rows(0)[start : start + 20])
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    vertex = catalog.epochs.get("out")
    assert vertex.base is not None
    assert vertex.strategy.window == 60 * SECOND + 3
    first = vertex.base.positions["a"]
    assert 0 < first < 360
    cti = catalog.streams.get("a").cti
    starts = pl.Series([int(row["ts"]) for row in rows(0)])  # type: ignore[call-overload]
    assert (starts[:first] + vertex.strategy.window <= cti).all()
    catalog.close()


@pytest.mark.usefixtures("unsaved")
def test_state_that_is_saved_seldom_is_no_reason_to_worry(make_app: Make, tmp_path: Path) -> None:
    app = make_app(store=tmp_path / "store", epoch_rows=25)
    streams = declare(app, "windowed", wc.checkpoint("1h"))
    streams[0].push(rows(0)[:100])
    vertex = app.run(mode="offline").status().vertices[0]
    assert (vertex.undurable, vertex.durable_age is None) == (0, False)
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.epochs.get("out").durable < vertex.epoch
    catalog.close()


def test_a_query_without_state_has_nothing_to_replay(make_app: Make, tmp_path: Path) -> None:
    app = make_app(store=tmp_path / "store")
    a = app.stream("a", {"ts": "timestamp", "k": str}, time="ts")
    counts = a.group_by("k").tumbling("1m").agg(n=wc.count())
    counts.into("saved")
    counts.into("out", recovery=wc.replay())  # reads what both share
    a.push([{"ts": 0, "k": "x"}])
    a.end()
    app.run(mode="offline")
    assert len(answer(tmp_path / "store")) == 1


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (lambda a: a.group_by("k").session("15s").agg(n=wc.count()), "may remember any event"),
        (lambda a: a.group_by("k").last(3).agg(n=wc.count()), "may remember any event"),
        (lambda a: a.group_by("k").tumbling("1m").agg(n=wc.count()), "longer than"),
    ],
)  # fmt: skip
def test_what_cannot_be_replayed_is_refused(query: Callable[[wc.Stream], wc.Stream], why: str, make_app: Make) -> None:
    app = make_app()
    a = app.stream("a", {"ts": "timestamp", "k": str}, time="ts")
    query(a).into("out", recovery=wc.replay("1s"))
    with pytest.raises(wc.ConfigError, match=why):
        app.run(mode="offline")
