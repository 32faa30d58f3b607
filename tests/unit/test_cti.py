"""What moves a stream's time besides its events: advance(), CTIs in the data, another stream, the clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.connect.base import Chunk
from waterclock.runtime import idle as idle_clock
from waterclock.runtime import keeper
from waterclock.runtime.idle import IdleClock
from waterclock.runtime.imports import TimeImport
from waterclock.runtime.log import StreamLog, StreamReader
from waterclock.runtime.pump import Pump
from waterclock.runtime.store import Store
from waterclock.schema import Schema
from waterclock.streams import Declaration
from waterclock.time import BEGINNING, FOREVER

MakeApp = Callable[..., wc.App]
TS: dict[str, object] = {"ts": int}


def events(*starts: int) -> list[dict[str, int]]:
    return [{"ts": start} for start in starts]


def looked_at(root: Path, name: str) -> tuple[pl.DataFrame, int]:
    catalog = Catalog.open(root)
    row = catalog.streams.get(name)
    frame = StreamReader(catalog, name).read(row.first, row.next)
    catalog.close()
    return frame, row.cti


def windows(root: Path, name: str) -> list[tuple[int, ...]]:
    return sorted(looked_at(root, name)[0].rows())


# -- only advance() ----------------------------------------------------------------------------------------


def test_without_slack_only_advance_and_end_move_time(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    stream = app.stream("in", TS, time="ts", slack=None, late="drop")
    stream.tumbling(10).agg(n=wc.count()).into("counts")
    stream.push(events(50, 5))
    stream.push(events(3))
    app.run(mode="offline")
    assert looked_at(tmp_path / "store", "in")[1] == BEGINNING
    assert windows(tmp_path / "store", "counts") == []
    stream.advance(12)
    stream.push(events(11, 12))
    app.run(mode="offline")
    assert windows(tmp_path / "store", "counts") == [(0, 10, 2)]
    stream.end()
    status = app.run(mode="offline").status()
    assert status.counters["in"] == {"rows": 4, "late_dropped": 1}
    assert windows(tmp_path / "store", "counts") == [(0, 10, 2), (10, 20, 1), (50, 60, 1)]


def test_files_in_place_do_not_move_time_either(make_app: MakeApp, tmp_path: Path) -> None:
    pl.DataFrame({"ts": [5, 50]}).write_parquet(tmp_path / "1.parquet")
    app = make_app()
    source = wc.files(tmp_path / "*.parquet", watch=True)
    app.stream("in", TS, time="ts", slack=None, source=source).into("out")
    app.run(mode="offline")
    assert looked_at(tmp_path / "store", "in")[1] == BEGINNING
    assert looked_at(tmp_path / "store", "out")[0].height == 2


# -- CTIs in the data --------------------------------------------------------------------------------------


def test_ctis_from_a_file(make_app: MakeApp, tmp_path: Path) -> None:
    """A file with CTIs is read row by row, never in place: what is late depends on the order."""
    frame = pl.DataFrame(
        {"ts": [30, 5, None, 8, 22, 41], "upto": [None, None, 20, None, 40, None]},
        schema={"ts": pl.Int64, "upto": pl.Int64},
    )
    frame.write_parquet(tmp_path / "1.parquet")
    app = make_app()
    source = wc.files(tmp_path / "*.parquet", watch=True)
    stream = app.stream("in", {"ts": int, "upto": int}, time="ts", cti="upto", late="divert", source=source)
    stream.tumbling(10).agg(n=wc.count()).into("counts")
    app.read("in.late").into("late")
    status = app.run(mode="offline").status()
    assert status.counters["in"] == {"rows": 4, "ctis": 1, "late_diverted": 1}
    assert windows(tmp_path / "store", "counts") == [(0, 10, 1), (20, 30, 1), (30, 40, 1)]
    assert looked_at(tmp_path / "store", "in")[1] == 40
    assert looked_at(tmp_path / "store", "late")[0].rows() == [(8, 9, 8, None)]


def test_a_push_of_ctis_alone_moves_time(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    stream = app.stream("in", {"ts": "timestamp", "upto": "timestamp"}, time="ts", cti="upto")
    stream.tumbling("1s").agg(n=wc.count()).into("counts")
    assert stream.push([{"ts": "2026-01-05T10:00:00Z"}]) == 1
    assert stream.push([{"upto": "2026-01-05T10:00:01Z"}]) == 1
    app.run(mode="offline")
    assert looked_at(tmp_path / "store", "counts")[0]["n"].to_list() == [1]
    with pytest.raises(wc.DataError, match=r"DATA\.LATE"):
        stream.push([{"upto": "2026-01-05T10:00:05Z"}, {"ts": "2026-01-05T10:00:04Z"}])
    assert looked_at(tmp_path / "store", "in")[1] == 1_767_607_201_000_000, "nothing of it was taken"


# -- another stream's time ---------------------------------------------------------------------------------


def declare(app: wc.App, **options: Any) -> tuple[Any, Any]:
    trades = app.stream("trades", TS, time="ts")
    prices = app.stream("prices", TS, time="ts", time_from="trades", **options)
    trades.union(prices).tumbling(10).agg(n=wc.count()).into("counts")
    return trades, prices


def test_a_slow_stream_takes_over_the_time_of_a_fast_one(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    trades, prices = declare(app, late="drop")
    prices.push(events(3, 99))
    trades.push(events(4, 25))
    app.run(mode="offline")
    assert looked_at(tmp_path / "store", "prices")[1] == 25, "its own events do not move it"
    assert windows(tmp_path / "store", "counts") == [(0, 10, 2)]
    prices.push(events(24, 25))
    trades.push(events(100))
    status = app.run(mode="offline").status()
    assert status.counters["prices"] == {"rows": 3, "late_dropped": 1}
    assert windows(tmp_path / "store", "counts") == [(0, 10, 2), (20, 30, 2), (90, 100, 1)]
    trades.end()
    app.run(mode="offline")
    assert looked_at(tmp_path / "store", "prices")[1] == FOREVER
    assert windows(tmp_path / "store", "counts")[-1] == (100, 110, 1)
    with pytest.raises(wc.DataError, match=r"DATA\.STREAM_ENDED"):
        prices.push(events(200))


def test_slack_keeps_it_behind(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    trades, prices = declare(app, slack=7)
    trades.push(events(25))
    app.run(mode="offline")
    assert looked_at(tmp_path / "store", "prices")[1] == 18
    prices.push(events(18))


def test_time_of_an_output_and_of_a_stream_that_imports_itself(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    prices = app.stream("prices", TS, time="ts", time_from="per_ten")
    news = app.stream("news", TS, time="ts", time_from="prices")
    trades = app.stream("trades", TS, time="ts")
    trades.tumbling(10).agg(n=wc.count()).into("per_ten")
    app.read("per_ten").select("n").union(prices.select(n=wc.col("ts")), news.select(n=wc.col("ts"))).into("all")
    prices.push(events(3))
    trades.push(events(4, 25))
    app.run(mode="offline")
    assert [looked_at(tmp_path / "store", name)[1] for name in ("per_ten", "prices", "news", "all")] == [20] * 4
    trades.end()
    app.run(mode="offline")
    assert looked_at(tmp_path / "store", "all")[1] == FOREVER


def test_files_are_read_before_time_is_taken_over(make_app: MakeApp, tmp_path: Path) -> None:
    """In a run over history the fast source must not make the slow one late."""
    for name, starts in (("trades", (1000, 2000)), ("prices", (1, 500))):
        (tmp_path / name).mkdir()
        for number, start in enumerate(starts):
            pl.DataFrame({"ts": [start]}).write_csv(tmp_path / name / f"{number}.csv")
    app = make_app()
    trades = app.stream("trades", TS, time="ts", source=wc.files(tmp_path / "trades"))
    source = wc.files(tmp_path / "prices", watch=True)
    prices = app.stream("prices", TS, time="ts", time_from="trades", source=source)
    trades.union(prices).tumbling(1000).agg(n=wc.count()).into("counts")
    app.run(mode="offline")
    assert windows(tmp_path / "store", "counts") == [(0, 1000, 2), (1000, 2000, 1), (2000, 3000, 1)]
    assert looked_at(tmp_path / "store", "prices")[1] == FOREVER


def test_the_last_time_before_the_end_is_taken_over_too(make_app: MakeApp, tmp_path: Path) -> None:
    """It bounds the windows of events that never end, whenever the import looked."""
    app = make_app()
    trades = app.stream("trades", TS, time="ts")
    prices = app.stream("prices", {"ts": int, "to": int}, time="ts", end="to", time_from="trades")
    prices.tumbling(10).agg(n=wc.count()).into("counts")
    prices.push([{"ts": 3}])
    trades.push(events(25))
    trades.end()
    app.run(mode="offline")
    assert windows(tmp_path / "store", "counts") == [(0, 10, 1), (10, 20, 1), (20, 30, 1)]


@pytest.mark.parametrize("other", ["trads", "prices.late"])
def test_time_from_nowhere(make_app: MakeApp, other: str) -> None:
    app = make_app()
    app.stream("trades", TS, time="ts")
    app.stream("prices", TS, time="ts", time_from=other).into("out")
    with pytest.raises(wc.ConfigError, match=r"STORE\.NO_STREAM"):
        app.run(mode="offline")


def test_time_in_a_circle(make_app: MakeApp) -> None:
    app = make_app()
    prices = app.stream("prices", TS, time="ts", time_from="out")
    prices.tumbling(10).agg(n=wc.count()).into("out")
    with pytest.raises(wc.ConfigError, match=r"PLAN\.TIME_CIRCLE.*'prices'.*'out'"):
        app.run(mode="offline")
    app = make_app()
    app.stream("a", TS, time="ts", time_from="b").into("out")
    app.stream("b", TS, time="ts", time_from="a")
    with pytest.raises(wc.ConfigError, match=r"PLAN\.TIME_CIRCLE"):
        app.run(mode="offline")


def test_a_source_with_something_left_is_waited_for(tmp_path: Path) -> None:
    store = opened(tmp_path, Declaration("fast", NUMBERS, "n"), Declaration("slow", NUMBERS, "n", time_from="fast"))
    StreamLog(store, "fast").append(numbers(50))
    empty = False
    taking = TimeImport(store, "slow", "fast", 0, lambda: empty)
    assert taking.behind
    assert not taking.turn()
    empty = True
    assert taking.turn()
    assert not taking.behind
    assert not taking.turn()
    assert store.catalog.streams.get("slow").cti == 50
    StreamLog(store, "fast").advance(60)
    taking.request_stop()
    assert not taking.turn(), "a stop takes no new input"
    store.close()


# -- idle --------------------------------------------------------------------------------------------------

NUMBERS = Schema.of({"n": "bigint"})


def opened(root: Path, *declarations: Declaration) -> Store:
    catalog = Catalog.open(root, create=True)
    for declaration in declarations:
        catalog.streams.create(declaration)
    return Store(catalog, None)


def numbers(*values: int) -> Chunk:
    return Chunk(None, "", pl.DataFrame({"n": values}, schema={"n": pl.Int64}))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    now = time.monotonic()

    def forward(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(idle_clock.time, "monotonic", lambda: now)
    return forward


def test_each_stream_is_idle_by_itself(tmp_path: Path, clock: Callable[[float], None]) -> None:
    store = opened(tmp_path, Declaration("a", NUMBERS, "n"), Declaration("b", NUMBERS, "n"))
    logs = {name: StreamLog(store, name) for name in "ab"}
    for log in logs.values():
        log.append(numbers(1_000))
    clocks = [IdleClock(store, name, 2_000_000, lambda: True) for name in "ab"]
    for step in range(5):
        clock(1.0)
        logs["a"].append(numbers(2_000 + step))
        for each in clocks:
            each.turn()
    assert store.catalog.streams.get("a").cti == 2_004
    assert store.catalog.streams.get("b").cti == 1_000 + 5_000_000
    store.close()


def test_a_cti_from_elsewhere_is_news_as_an_event_is(tmp_path: Path, clock: Callable[[float], None]) -> None:
    store = opened(tmp_path, Declaration("a", NUMBERS, "n"))
    log = StreamLog(store, "a")
    log.append(numbers(0))
    idle = IdleClock(store, "a", 2_000_000, lambda: True)
    for step in range(1, 6):
        clock(1.0)
        log.advance(step * 100)
        assert not idle.turn()
    clock(1.0)
    assert not idle.turn(), "one second since the last news"
    clock(1.0)
    assert idle.turn()
    assert store.catalog.streams.get("a").cti == 500 + 2_000_000, "from where it was"
    clock(1.0)
    assert idle.turn()
    assert store.catalog.streams.get("a").cti == 500 + 3_000_000, "its own moves are no news"
    store.close()


def test_idle_time_is_taken_over(tmp_path: Path, clock: Callable[[float], None]) -> None:
    store = opened(tmp_path, Declaration("fast", NUMBERS, "n"), Declaration("slow", NUMBERS, "n", time_from="fast"))
    StreamLog(store, "fast").append(numbers(7))
    idle = IdleClock(store, "fast", 1_000_000, lambda: True)
    taking = TimeImport(store, "slow", "fast", 0, lambda: True)
    clock(3.0)
    assert idle.turn()
    assert taking.turn()
    assert store.catalog.streams.get("slow").cti == 3_000_007
    store.close()


# -- marks in the store ------------------------------------------------------------------------------------


def test_marks_without_events_between_them_do_not_pile_up(tmp_path: Path) -> None:
    store = opened(tmp_path, Declaration("a", NUMBERS, "n", slack=None))
    log = StreamLog(store, "a")
    log.append(numbers(5))
    for cti in range(1, 200):
        log.advance(cti)
    log.advance(FOREVER)
    keeper.Keeper(store, []).tidy()
    assert store.catalog.streams.counts()[0] == 3, "the event, the last time and the end"
    assert store.catalog.streams.last_finite_cti("a") == 199
    assert store.catalog.streams.cti_at("a", 1) == FOREVER
    store.close()


def test_compaction_keeps_the_last_time_before_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "GROUP", 4)
    store = opened(tmp_path, Declaration("a", NUMBERS, "n"))
    log = StreamLog(store, "a")
    for number in range(8):
        log.append(numbers(number))
    log.advance(FOREVER)
    for _ in range(3):
        keeper.Keeper(store, []).tidy()
    assert len(store.catalog.streams.segments("a", 0, 8)) == 2
    assert store.catalog.streams.last_finite_cti("a") == 7
    store.close()


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_file_is_not_taken_in_place_if_time_moved_meanwhile(tmp_path: Path, form: str) -> None:
    """The source looked at the file before another writer moved time: its rows are then late."""
    store = opened(tmp_path / "store", Declaration("a", NUMBERS, "n", late="divert"))
    store.catalog.streams.create(Declaration("a.late", NUMBERS, None))
    frame = pl.DataFrame({"n": [10, 20, 30]})
    frame.write_parquet(tmp_path / "1.parquet") if form == "parquet" else frame.write_ipc(tmp_path / "1.arrow")
    pump = Pump(store, "a", wc.files(f"{tmp_path}/1.*"), [], 1000)
    StreamLog(store, "a").advance(20)
    assert pump.turn()
    row = store.catalog.streams.get("a")
    assert row.counters == {"rows": 2, "late_diverted": 1}
    assert StreamReader(store.catalog, "a").read(0, row.next)["n"].to_list() == [20, 30]
    assert StreamReader(store.catalog, "a.late").read(0, 1).rows() == [(10, 11, 10)]
    store.close()
