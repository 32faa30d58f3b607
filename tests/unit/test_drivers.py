"""Drivers as processes: one dies, hangs or is stopped, another takes over; a query moves while it runs."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.catalog.leases import FINISHED, TTL_MICROS, Held, Observer
from waterclock.cli.main import main
from waterclock.errors import ConfigError, StoreError
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.store import Store

pytestmark = pytest.mark.usefixtures("each_database")

PROGRAM = """
import logging, sys, threading
import waterclock as wc
from waterclock import launch
from waterclock.runtime.inprocess import InProcessRunner
logging.basicConfig(level=logging.INFO)
launch.runner_of = lambda *_: InProcessRunner()  # threads, without the start of a JVM
folder, name, standby = sys.argv[1:4]
app = wc.App("test", folder + "/store", lease="1s", epoch_rows=50)
numbers = app.stream("numbers", {"n": int}, time="n", max_ahead=None)
numbers.filter(wc.col("n") >= 0).to(wc.jsonl(folder + "/out.jsonl"), name="out")
numbers.tumbling("10us").agg(rows=wc.count(), total=wc.sum("n")).to(wc.jsonl(folder + "/sums.jsonl"), name="sums")
handle = app.run(mode="live", standby=standby == "standby", driver=name)
print(handle.state, flush=True)
handle.wait_until_stopped()
print(handle.state, flush=True)
"""


class Drivers:
    """Processes that run the program, and what is pushed to it meanwhile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.children: dict[str, subprocess.Popen[str]] = {}
        self.app = wc.App("test", folder / "store")
        self.numbers = self.app.stream("numbers", {"n": int}, time="n", max_ahead=None)
        self.numbers.push([{"n": 0}])
        self.pushed = 1
        self._ends = threading.Event()
        self._pusher = threading.Thread(target=self._push, daemon=True)

    def start(self, name: str, standby: bool = True) -> None:
        words = [sys.executable, "-c", PROGRAM, str(self.folder), name, "standby" if standby else "leads"]
        log = (self.folder / f"{name}.log").open("w")
        self.children[name] = subprocess.Popen(words, stderr=log, stdout=subprocess.PIPE, text=True, cwd=os.getcwd())
        assert self.children[name].stdout.readline().strip() == ("standby" if standby else "running")  # type: ignore[union-attr]

    def push(self) -> None:
        self._pusher.start()

    def _push(self) -> None:
        while not self._ends.is_set():
            rows = [{"n": n} for n in range(self.pushed, self.pushed + 7)]
            self.numbers.push(rows)
            self.pushed += 7
            time.sleep(0.005)

    def end(self) -> None:
        self._ends.set()
        self._pusher.join()
        self.numbers.end()

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def rows(self) -> list[int]:
        return pl.read_ndjson(self.folder / "out.jsonl")["n"].to_list()

    def check(self) -> None:
        """Each row once, in both sinks."""
        assert self.rows() == list(range(self.pushed))
        sums = pl.read_ndjson(self.folder / "sums.jsonl")
        numbers = pl.DataFrame({"n": range(self.pushed)}).group_by(pl.col("n") // 10, maintain_order=True)
        wanted = numbers.agg(rows=pl.len().cast(pl.Int64), total=pl.col("n").sum())
        assert sums.select("rows", "total").equals(wanted.select("rows", "total"))

    def close(self) -> None:
        self._ends.set()
        for child in self.children.values():
            child.kill()
            child.send_signal(signal.SIGCONT)
            child.wait(30)


@pytest.fixture
def drivers(tmp_path: Path) -> Iterator[Drivers]:
    started = Drivers(tmp_path)
    yield started
    started.close()


def until(what: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.02)


def delivered(drivers: Drivers, more: int = 100) -> Callable[[], bool]:
    path = drivers.folder / "out.jsonl"
    before = path.stat().st_size if path.exists() else 0
    return lambda: path.exists() and path.stat().st_size > before + 20 * more


def is_stopped(child: subprocess.Popen[str]) -> bool:
    """All of its threads: one that is inside the system when the signal comes goes on until it is back."""
    states = [stat.read_text().rpartition(")")[2].split()[0] for stat in Path(f"/proc/{child.pid}/task").glob("*/stat")]
    return set(states) <= {"T"}


def is_locked(folder: Path) -> bool:
    """A process that is stopped in the middle of a transaction of SQLite holds everybody up."""
    if not (folder / "store/catalog.sqlite").exists():
        return False
    connection = sqlite3.connect(folder / "store/catalog.sqlite", timeout=0.5, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
        return False
    except sqlite3.OperationalError:
        return True
    finally:
        connection.close()


def test_a_standby_takes_over_from_one_that_was_killed(drivers: Drivers) -> None:
    drivers.start("a", standby=False)
    drivers.start("b")
    drivers.start("c")
    drivers.push()
    for _ in range(2):
        until(delivered(drivers))
        leader = Catalog.open(drivers.folder / "store").leases.leader("test")
        drivers.children[leader].kill()
        until(lambda old=leader: Catalog.open(drivers.folder / "store").leases.leader("test") != old)  # type: ignore[misc]
    until(delivered(drivers))
    drivers.end()
    last = Catalog.open(drivers.folder / "store").leases.leader("test")
    drivers.children[last].wait(60)
    assert "takes over" in drivers.said(last)
    drivers.check()


def test_one_that_hangs_is_replaced_and_can_commit_nothing(drivers: Drivers) -> None:
    drivers.start("a", standby=False)
    drivers.start("b")
    drivers.push()
    until(delivered(drivers))
    first = drivers.children["a"]
    while True:
        first.send_signal(signal.SIGSTOP)
        until(lambda: is_stopped(first))
        if not is_locked(drivers.folder):
            break
        first.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    catalog = Catalog.open(drivers.folder / "store")
    until(lambda: catalog.leases.leader("test") == "b")
    until(delivered(drivers))
    first.send_signal(signal.SIGCONT)
    until(delivered(drivers))
    first.wait(60)
    assert first.returncode != 0
    assert "STORE.FENCED" in drivers.said("a")
    drivers.end()
    drivers.children["b"].wait(60)
    drivers.check()


def test_one_that_is_stopped_hands_over(drivers: Drivers) -> None:
    drivers.start("a", standby=False)
    drivers.start("b")
    drivers.push()
    until(delivered(drivers))
    drivers.children["a"].send_signal(signal.SIGTERM)
    drivers.children["a"].wait(60)
    assert drivers.children["a"].returncode == 0
    until(delivered(drivers))
    drivers.start("a")
    drivers.children["b"].send_signal(signal.SIGTERM)
    until(delivered(drivers))
    drivers.end()
    drivers.children["a"].wait(60)
    drivers.check()


def test_when_the_app_is_done_so_is_the_standby(drivers: Drivers) -> None:
    drivers.start("a", standby=False)
    drivers.start("b")
    drivers.push()
    until(delivered(drivers))
    drivers.end()
    for child in drivers.children.values():
        assert child.wait(60) == 0
    assert "takes over" not in drivers.said("b")
    held = Catalog.open(drivers.folder / "store").leases.get("app test")
    assert held is not None
    assert held.expires == FINISHED
    drivers.check()


def run(*words: str) -> str:
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def test_a_query_moves_there_and_back_under_load(drivers: Drivers) -> None:
    drivers.start("a", standby=False)
    drivers.start("b")
    drivers.push()
    store = str(drivers.folder / "store")
    until(delivered(drivers))
    assert run("move", "sums", "b", "--store", store) == "sums runs in b\n"
    listed = {each["driver"]: each for each in json.loads(run("drivers", "--json", "--store", store))}
    assert (listed["a"]["role"], listed["a"]["runs"]) == ("leads", ["out"])
    assert (listed["b"]["role"], listed["b"]["runs"]) == ("stands by", ["sums"])
    assert "stands by" in run("drivers", "--store", store)
    until(delivered(drivers))
    assert run("move", "sums", "a", "--store", store) == "sums runs in a\n"
    assert run("move", "sums", "a", "--store", store) == "sums runs in a already\n"
    assert Catalog.open(store).hosts.all("test")["sums"].hosts == ()
    until(delivered(drivers))
    drivers.end()
    for child in drivers.children.values():
        child.wait(60)
    drivers.check()


@pytest.mark.parametrize("victim", ["a", "b"])
def test_a_driver_dies_while_a_query_moves(drivers: Drivers, victim: str) -> None:
    drivers.start("a", standby=False)
    drivers.start("b")
    drivers.push()
    store = str(drivers.folder / "store")
    until(delivered(drivers))
    run("move", "sums", "b", "--no-wait", "--store", store)
    drivers.children[victim].kill()
    until(delivered(drivers))
    catalog = Catalog.open(store)
    until(lambda: set(catalog.leases.drivers_of("test")) == {"a", "b"} - {victim})
    until(lambda: catalog.hosts.all("test")["sums"].hosts == ())
    drivers.end()
    drivers.children["b" if victim == "a" else "a"].wait(60)
    drivers.check()


def test_a_dead_host_gives_its_queries_back(drivers: Drivers) -> None:
    drivers.start("a", standby=False)
    drivers.start("b")
    drivers.push()
    store = str(drivers.folder / "store")
    run("move", "sums", "b", "--store", store)
    drivers.children["b"].kill()
    until(lambda: "the driver b is gone" in drivers.said("a"))
    until(delivered(drivers))
    drivers.end()
    drivers.children["a"].wait(60)
    drivers.check()


# -- in this process ---------------------------------------------------------------------------------------


Make = Callable[..., wc.App]


@pytest.fixture
def live_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waterclock.launch.runner_of", lambda *_: InProcessRunner())


def made(make_app: Make, **options: object) -> tuple[wc.App, wc.SourceStream]:
    app = make_app(**options)
    numbers = app.stream("numbers", {"n": int}, time="n", max_ahead=None)
    numbers.filter(wc.col("n") >= 0).into("out")
    return app, numbers


def test_a_standby_of_another_program_is_refused(live_here: None, make_app: Make) -> None:
    app, numbers = made(make_app)
    numbers.push([{"n": 1}])
    with app.run() as handle:
        until(lambda: handle.status().vertices[0].rows_out == 1)
        other = make_app()
        other.stream("numbers", {"n": int}, time="n", max_ahead=None).filter(wc.col("n") >= 1).into("out")
        with pytest.raises(ConfigError, match=r"PLAN\.CHANGED"):
            other.run(standby=True, driver="c")
        same, _ = made(make_app)
        with same.run(standby=True, driver="b") as waiting:
            assert waiting.state == "standby"
            assert waiting.status().vertices[0].rows_out == 1
            third, _ = made(make_app)
            with pytest.raises(StoreError, match=r"STORE\.DRIVER_THERE"):
                third.run(standby=True, driver="b")
        assert waiting.state == "stopped"
        assert handle.state == "running"


def test_a_standby_alone_leads(live_here: None, make_app: Make) -> None:
    app, numbers = made(make_app)
    numbers.push([{"n": 1}])
    with app.run(standby=True) as handle:
        until(lambda: handle.state == "running")
        numbers.push([{"n": 2}])
        numbers.end()
        assert handle.wait(30)
    assert handle.frame("out")["n"].to_list() == [1, 2]


def test_copies_of_a_query(live_here: None, make_app: Make, tmp_path: Path) -> None:
    app, numbers = made(make_app)
    with app.run(driver="a"):
        standby = [made(make_app)[0].run(standby=True, driver=name) for name in ("b", "c")]
        catalog = Catalog.open(tmp_path / "store")
        strategy = json.dumps({"kind": "replicate", "copies": 2})
        catalog._db.execute("UPDATE vertices SET strategy = ?", strategy)
        workers = [each._engine.parts.vertices[0] for each in standby]
        until(lambda: workers[0].hosted)
        until(lambda: workers[0].ready)
        assert not workers[1].hosted
        for n in range(50):
            numbers.push([{"n": n}])
        numbers.end()
        for each in standby:
            assert each.wait(30)
    row = catalog.streams.get("out")
    assert row.next == 50


def test_what_falls_behind_gets_a_second_driver(
    live_here: None, make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, _ = made(make_app, duplicate_slow=True)
    with app.run(driver="a") as handle, made(make_app)[0].run(standby=True, driver="b"):
        catalog = Catalog.open(tmp_path / "store")
        watch = handle._engine.parts.watch
        alert = type("Alert", (), {"rule": "lag", "subject": "vertex out"})()
        alerts = [alert]
        monkeypatch.setattr(type(watch), "alerts", property(lambda self: tuple(alerts)))
        until(lambda: catalog.hosts.all("test")["out"].hosts == ("a", "b"))
        alerts.clear()
        until(lambda: catalog.hosts.all("test")["out"].hosts == ())


def test_bad_options(make_app: Make) -> None:
    app, _ = made(make_app)
    with pytest.raises(ConfigError, match=r"CONFIG\.BAD_OPTION.*standby"):
        app.run(mode="offline", standby=True)
    with pytest.raises(ConfigError, match=r"PLAN\.BAD_NAME"):
        app.run(driver="a b")
    with pytest.raises(ConfigError, match=r"CONFIG\.BAD_OPTION.*lease"):
        make_app(lease="1ms")
    app.run(mode="offline")
    done = CliRunner().invoke(main, ["move", "out", "b", "--store", app.store])
    assert "STORE.NO_DRIVER" in done.output
    assert "No driver is running" in run("drivers", "--store", app.store)


# -- leases ------------------------------------------------------------------------------------------------


def test_a_lease_runs_out_by_what_was_seen_of_it() -> None:
    """Whatever the wall clock says: it may jump, or stand at another time on another machine."""
    now = 100.0
    observer = Observer(lambda: now)
    expired = Held("app x", "process 1 on elsewhere (started 0)", 1, 5, 3_000_000, "a")
    assert not observer.is_free(expired)
    now += 2.9
    assert not observer.is_free(expired)
    renewed = Held("app x", expired.owner, 1, 6, 3_000_000, "a")
    assert not observer.is_free(renewed), "it was renewed, by a clock that stands elsewhere"
    now += 3.0
    assert observer.is_free(renewed)
    assert observer.is_free(Held("app x", expired.owner, 1, 0, 3_000_000, "a")), "it was given back"


def test_a_clock_that_jumps_takes_nothing_from_one_who_is_alive(
    live_here: None, make_app: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    jump = 0
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + jump)
    app, numbers = made(make_app, lease="1s")
    with app.run(driver="a") as handle, made(make_app)[0].run(standby=True, driver="b") as waiting:
        for to in (10**13, -(10**13)):
            jump = to
            time.sleep(1.2)
            numbers.push([{"n": 1}])
            assert (handle.state, waiting.state) == ("running", "standby")


def test_a_lease_is_taken_only_as_it_was_seen(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path, create=True)
    lease = catalog.leases.acquire("app x", 1_000_000, "a")
    seen = catalog.leases.get("app x")
    assert seen is not None
    time.sleep(0.001)
    catalog.leases.renew(lease)
    assert catalog.leases.take(seen, TTL_MICROS, "b") is None
    seen = catalog.leases.get("app x")
    assert seen is not None
    taken = catalog.leases.take(seen, 2_000_000, "b")
    assert taken is not None
    assert (taken.token, catalog.leases.leader("x")) == (lease.token + 1, "b")
    with pytest.raises(StoreError, match=r"STORE\.FENCED"):
        catalog.leases.renew(lease)


def test_files_of_another_driver_are_kept_while_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the clock of the files says that they are old."""
    catalog = Catalog.open(tmp_path, create=True)
    for name in "ab":
        catalog.leases.join("app", name)
    folder = tmp_path / "streams/out"
    folder.mkdir(parents=True)
    file = folder / "of-b.arrows"
    file.touch()
    os.utime(file, (0, 0))
    now = 1000.0
    monkeypatch.setattr("waterclock.runtime.keeper.time.monotonic", lambda: now)
    keeper = Keeper(Store(catalog, None), [])
    monkeypatch.setattr(catalog._db, "reachable_since", 0.0)
    for _ in range(3):
        now += 59
        keeper.sweep()
        assert file.exists()
        file.write_bytes(file.read_bytes() + b"x")
        os.utime(file, ns=(0, file.stat().st_size))
    keeper.sweep()
    now += 61
    keeper.sweep()
    assert not file.exists(), "nobody named it for longer than a commit may take"
