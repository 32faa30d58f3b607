"""A query is attached to a stream of another app: its history first, then what comes, no gap and no repeat."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from waterclock import launch
from waterclock.catalog import Catalog
from waterclock.runtime import keeper
from waterclock.runtime.garbage import holds
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.store import Store

pytestmark = pytest.mark.usefixtures("each_database")


@pytest.fixture(autouse=True)
def _without_a_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "runner_of", lambda *_: InProcessRunner())


class Producer:
    """An app that runs, and somebody who pushes to it."""

    def __init__(self, store: Path, **options: object) -> None:
        self.app = wc.App("producer", store, epoch_rows=50)
        self.numbers = self.app.stream("numbers", {"n": "bigint"}, time="n", max_ahead=None, **options)  # type: ignore[arg-type]
        self.numbers.filter(wc.col("n") >= 0).into("kept")
        self.numbers.tumbling(10).agg(rows=wc.count(), total=wc.sum("n")).into("sums")
        self.pushed = 0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._push, daemon=True)

    def push(self, rows: int) -> None:
        self.numbers.push([{"n": n} for n in range(self.pushed, self.pushed + rows)])
        self.pushed += rows

    def start(self) -> None:
        self.handle = self.app.run(mode="live")
        self._thread.start()

    def _push(self) -> None:
        while not self._ends.wait(0.002):
            self.push(7)

    def end(self) -> None:
        self._ends.set()
        self._thread.join()
        self.numbers.end()
        self.handle.wait(60)


@pytest.fixture
def producer(tmp_path: Path) -> Iterator[Producer]:
    made = Producer(tmp_path / "store")
    yield made
    made._ends.set()


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.01)


def attached(store: Path, stream: str, from_: str | int = "beginning", name: str = "seen") -> wc.App:
    app = wc.App("attached", store, epoch_rows=40)
    app.attach(stream, from_).select("n", doubled=wc.col("n") * 2).into(name)
    return app


def test_history_then_live_under_load(producer: Producer, tmp_path: Path) -> None:
    producer.start()
    until(lambda: producer.pushed > 300)
    store = tmp_path / "store"
    app = wc.App("attached", store, epoch_rows=40)
    app.attach("kept").select("n").into("seen")
    sums = app.attach("sums")
    sums.tumbling(20).agg(rows=wc.sum("rows"), total=wc.sum("total")).into("wider")
    handle = app.run(mode="live")
    here = producer.pushed
    until(lambda: producer.pushed > here + 300)
    handle.stop()  # and again, from where it was
    app = wc.App("attached", store, epoch_rows=40)
    app.attach("kept").select("n").into("seen")
    app.attach("sums").tumbling(20).agg(rows=wc.sum("rows"), total=wc.sum("total")).into("wider")
    handle = app.run(mode="live")
    until(lambda: producer.pushed > here + 600)
    producer.end()
    assert handle.wait(60)  # ends by itself, as the streams that it reads do
    assert handle.frame("seen")["n"].to_list() == list(range(producer.pushed))
    every = pl.DataFrame({"n": range(producer.pushed)}).group_by(pl.col("n") // 20, maintain_order=True)
    wanted = every.agg(rows=pl.len().cast(pl.Int64), total=pl.col("n").sum())
    assert handle.frame("wider").select("rows", "total").equals(wanted.select("rows", "total"))


def test_while_the_stream_is_merged_and_trimmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "GROUP", 4)
    monkeypatch.setattr(keeper, "GRACE", 0.0)
    monkeypatch.setattr(launch, "Keeper", partial(Keeper, tidy_every=0.05))
    producer = Producer(tmp_path / "store", retention=20)
    producer.start()
    catalog = Catalog.open(tmp_path / "store")
    until(lambda: catalog.streams.get("numbers").first > 50)
    handle = attached(tmp_path / "store", "numbers").run(mode="live")
    start = producer.pushed
    until(lambda: producer.pushed > start + 400)
    producer.end()
    assert handle.wait(60)
    seen = handle.frame("seen")["n"].to_list()
    assert 0 < seen[0] < start
    assert seen == list(range(seen[0], producer.pushed))
    catalog.close()


@pytest.mark.parametrize(("from_", "first"), [("beginning", 0), ("now", 30), (17, 17)])
def test_where_it_begins(from_: str | int, first: int, producer: Producer, tmp_path: Path) -> None:
    producer.push(30)
    producer.app.run(mode="offline")
    attached(tmp_path / "store", "kept", from_).run(mode="offline")
    producer.push(20)
    producer.app.run(mode="offline")
    handle = attached(tmp_path / "store", "kept", from_).run(mode="offline")
    assert handle.frame("seen")["n"].to_list() == list(range(first, 50))


def test_it_holds_what_it_has_not_read(tmp_path: Path) -> None:
    producer = Producer(tmp_path / "store", retention=5)
    for _ in range(10):
        producer.push(3)
    producer.app.run(mode="offline")
    app = attached(tmp_path / "store", "numbers", 17)
    catalog = Catalog.open(tmp_path / "store")
    first = catalog.streams.get("numbers").first
    launch.declare(app._declared, catalog, app._declared.plans(catalog))
    assert ("seen, durable epoch -1", max(first, 15)) in [
        (hold.who, hold.seq) for hold in holds(catalog, catalog.streams.get("numbers"))
    ]
    for _ in range(10):
        producer.push(3)
    producer.app.run(mode="offline")
    Keeper(Store(catalog, None), ["kept", "sums"]).tidy()
    assert catalog.streams.get("numbers").first <= max(first, 15)
    handle = app.run(mode="offline")
    assert handle.frame("seen")["n"].to_list() == list(range(max(17, first), 60))
    Keeper(Store(catalog, None), ["kept", "sums"]).tidy()
    assert catalog.streams.get("numbers").first > 15
    catalog.close()


def test_in_sql_and_explained(producer: Producer, tmp_path: Path) -> None:
    producer.push(30)
    producer.app.run(mode="offline")
    app = wc.App("attached", tmp_path / "store")
    app.attach("sums")
    app.sql("big = SELECT total FROM sums WHERE total > 50; OUTPUT big")
    assert "sums" in app.explain()
    assert app.run(mode="offline").frame("big")["total"].to_list() == [145]


def test_what_is_known_of_the_events_is_known_there_too(producer: Producer, tmp_path: Path) -> None:
    app = producer.app
    open_ended = app.stream("open", {"a": "bigint", "b": "bigint"}, time="a", end="b", late="divert", on_bad="divert")
    open_ended.filter(wc.col("a") > 0).into("opened")
    producer.push(3)
    app.run(mode="offline")
    other = wc.App("attached", tmp_path / "store")
    for name in ("numbers", "kept", "sums", "open", "opened", "open.late", "open.bad"):
        here, there = app.named(name)._plan, other.attach(name)._plan
        assert (here.label, here.endless, here.cyclic) == (there.label, there.endless, there.cyclic), name


def test_what_cannot_be_attached(producer: Producer, tmp_path: Path) -> None:
    producer.push(3)
    app = wc.App("attached", tmp_path / "store")
    with pytest.raises(wc.StoreError, match=r"STORE\.NO_STREAM.*'number'(.|\n)*Did you mean 'numbers'"):
        app.attach("number")
    app.attach("numbers")
    with pytest.raises(wc.ConfigError, match=r"PLAN\.DUPLICATE_NAME"):
        app.attach("numbers")
    with pytest.raises(wc.ConfigError, match=r"TIME\.BAD_INSTANT"):
        wc.App("other", tmp_path / "store").attach("numbers", "some day")
    with pytest.raises(wc.StoreError, match=r"STORE\.NOT_THERE"):
        wc.App("other", tmp_path / "nowhere").attach("numbers")
    late = attached(tmp_path / "store", "numbers", "now")
    with pytest.raises(wc.ConfigError, match="over the history"):
        late.run(mode="batch")
