"""The catalog on PostgreSQL where it is not as on SQLite: connections that break, races of machines, several stores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import psycopg
import pytest
from click.testing import CliRunner

import waterclock as wc
from tests.postgres import Server
from waterclock.catalog import Catalog, Commit, Intent, Lease, Range, Snapshot, postgres
from waterclock.catalog.database import Interrupted
from waterclock.cli.main import main
from waterclock.connect.base import Chunk
from waterclock.errors import ConfigError, StoreError
from waterclock.runtime import keeper
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.log import StreamLog
from waterclock.runtime.store import Store
from waterclock.schema import Schema
from waterclock.streams import Declaration

NUMBERS = Declaration("numbers", Schema.of({"n": "bigint"}), time="n", on_bad="divert")


@pytest.fixture
def catalog(server: Server, tmp_path: Path) -> Iterator[Catalog]:
    opened = Catalog.open(tmp_path / "store", create=True, url=server.url)
    opened.epochs.create("v", "app", "identity", "plan", ["s"])
    yield opened
    opened.close()


def intent(epoch: int = 0) -> Intent:
    return Intent(epoch, {"s": Range(0, 10, 1, 2)}, 1, (1,))


def chunk(*numbers: int) -> Chunk:
    return Chunk(None, "", pl.DataFrame({"n": numbers}, schema={"n": pl.Int64}))


# -- where a catalog is ------------------------------------------------------------------------------------


def test_the_store_remembers_its_database(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = wc.App("x", tmp_path / "store", catalog=server.url)
    app.stream("s", {"n": int}, time="n").push([{"n": 1}])
    url, schema = (tmp_path / "store/catalog.url").read_text().split()
    assert url == server.url
    assert not (tmp_path / "store/catalog.sqlite").exists()
    assert server.ask(f"SELECT name, next_seq FROM {schema}.streams") == [("s", 1)]
    monkeypatch.setenv("WATERCLOCK_CATALOG", "postgresql://elsewhere/none")  # for new stores only
    assert Catalog.open(tmp_path / "store").streams.names() == ["s"]
    assert Catalog.open(tmp_path / "store", create=True, url=server.url + "&user=waterclock").streams.names() == ["s"]


def test_two_stores_in_one_database(server: Server, tmp_path: Path) -> None:
    for rows, name in enumerate(("a", "b"), 1):
        app = wc.App("x", tmp_path / name, catalog=server.url)
        stream = app.stream("s", {"n": int}, time="n")
        stream.push([{"n": number} for number in range(rows)])
        stream.end()
        stream.select("n").into(f"out_{name}")
        app.run(mode="offline")
    first, second = Catalog.open(tmp_path / "a"), Catalog.open(tmp_path / "b")
    assert (first.streams.names(), second.streams.names()) == (["out_a", "s"], ["out_b", "s"])
    assert (first.streams.get("s").next, second.streams.get("s").next) == (1, 2)
    held = first.leases.acquire("app x")
    assert second.leases.acquire("app x").token == held.token


def test_processes_that_make_a_store_at_once_make_one(server: Server, tmp_path: Path) -> None:
    before = server.ask("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'waterclock_%'")[0][0]
    opened: list[Catalog] = []
    threads = [
        threading.Thread(target=lambda: opened.append(Catalog.open(tmp_path / "s", create=True, url=server.url)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    opened[0].streams.create(NUMBERS)
    assert [catalog.streams.names() for catalog in opened] == [["numbers"]] * 6
    after = server.ask("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'waterclock_%'")[0][0]
    assert after == before + 1  # type: ignore[operator]
    assert sorted(os.listdir(tmp_path / "s")) == ["catalog.url"]


# -- fencing -----------------------------------------------------------------------------------------------


def _race(store: Path, barrier: object, results: object) -> None:
    """Takes the lease, and with whatever it holds tries to commit every epoch."""
    catalog = Catalog.open(store)
    won: list[int] = []
    for epoch in range(20):
        barrier.wait()  # type: ignore[attr-defined]
        try:
            lease = catalog.leases.acquire(f"round {epoch}")
        except StoreError:
            lease = None
        barrier.wait()  # type: ignore[attr-defined]
        commit = Commit(intent(epoch), Snapshot(epoch=epoch, digest=os.getpid()), (), ())
        committed = catalog.transact(lambda commit=commit: catalog.epochs.commit("v", commit))  # type: ignore[misc]
        won.append((lease is not None) + 2 * committed)
    results.put((os.getpid(), won))  # type: ignore[attr-defined]
    catalog.close()


def test_two_processes_that_race_never_both_win(catalog: Catalog) -> None:
    """For a lease, and for the commit of an epoch."""
    for epoch in range(20):
        catalog.epochs.write_intent("v", intent(epoch))
    spawn = multiprocessing.get_context("spawn")
    barrier, results = spawn.Barrier(2), spawn.Queue()
    racers = [spawn.Process(target=_race, args=(catalog.root, barrier, results)) for _ in range(2)]
    for racer in racers:
        racer.start()
    (one, ones), (other, others) = results.get(timeout=60), results.get(timeout=60)
    for racer in racers:
        racer.join()
    history = dict(catalog.epochs.history("v"))
    for epoch, (mine, theirs) in enumerate(zip(ones, others, strict=True)):
        assert (mine & 1) + (theirs & 1) == 1, "one has the lease"
        assert (mine >> 1) + (theirs >> 1) == 1, "one committed the epoch"
        assert history[epoch].digest == (one if mine >> 1 else other)


def test_a_lease_cannot_be_taken_between_its_check_and_the_commit(catalog: Catalog) -> None:
    old = catalog.leases.acquire("app")
    catalog.leases.release(old)  # it may be taken, and is not yet
    other, reader = Catalog.open(catalog.root), Catalog.open(catalog.root)
    taken: list[Lease] = []

    def take() -> None:
        taken.append(other.leases.acquire("app"))

    with catalog.transaction(old):
        thread = threading.Thread(target=take)
        thread.start()
        time.sleep(0.3)
        assert not taken, "it has to wait for the commit"
        catalog.epochs.write_intent("v", intent())
        assert reader.epochs.pending("v") is None  # readers do not wait, and see nothing of it
    thread.join(10)
    assert [lease.token for lease in taken] == [old.token + 1]
    assert reader.epochs.pending("v") == intent()
    with pytest.raises(StoreError, match=r"STORE\.FENCED"), catalog.transaction(old):
        pass


def test_a_process_that_hangs_in_a_transaction_is_replaced(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds nobody up, and when it wakes up it can commit nothing."""
    monkeypatch.setattr(postgres, "SILENCE", 1)
    catalog = Catalog.open(tmp_path, create=True, url=server.url)
    catalog.epochs.create("v", "app", "identity", "plan", ["s"])
    old, other = catalog.leases.acquire("app"), Catalog.open(tmp_path)
    attempts = []

    def hangs() -> None:
        catalog.epochs.write_intent("v", intent(7))
        if not attempts:
            other._db.execute("UPDATE leases SET expires = 0, owner = 'process 1 on elsewhere (started 0)'")
            assert other.leases.acquire("app").token == old.token + 1
        attempts.append(1)

    with pytest.raises(StoreError, match=r"STORE\.FENCED"):
        catalog.transact(hangs, old)
    assert len(attempts) == 1, "the second time it was stopped by the lease"
    assert other.epochs.pending("v") is None


def test_leases_go_by_the_clock_of_the_server(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog.leases.acquire("app")
    late = time.time_ns() + 10**12
    monkeypatch.setattr(time, "time_ns", lambda: late)
    monkeypatch.setattr(time, "time", lambda: late / 1e9)
    other = Catalog.open(catalog.root)
    with pytest.raises(StoreError, match=r"STORE\.IN_USE.*\n.*runs out in (9\.\d|10\.0) s"):
        other.leases.acquire("app")
    assert list(other.leases.holders()) == ["app"]


# -- connections that break --------------------------------------------------------------------------------


def test_a_statement_is_done_again(server: Server, catalog: Catalog) -> None:
    assert server.cut()
    assert catalog.streams.names() == []
    assert server.cut()
    catalog.streams.create(NUMBERS)
    assert server.cut()
    assert catalog.streams.names() == ["numbers"]


def test_a_transaction_that_is_cut_off_is_said(server: Server, catalog: Catalog) -> None:
    def cut_off(swallow: bool) -> None:
        with catalog.transaction():
            catalog.epochs.write_intent("v", intent())
            server.cut()
            try:
                catalog.epochs.pending("v")
            except Interrupted:
                if not swallow:
                    raise
            catalog.streams.create(NUMBERS)

    for swallow in (False, True):
        with pytest.raises(Interrupted, match=r"STORE\.INTERRUPTED.*\n.*do all of it again"):
            cut_off(swallow)
        assert catalog.epochs.pending("v") is None
        assert catalog.streams.names() == []


def test_a_transaction_that_is_cut_off_is_done_again(server: Server, catalog: Catalog) -> None:
    cuts = iter([True, True, False])

    def work() -> int:
        catalog.epochs.write_intent("v", intent())
        if next(cuts):
            server.cut()
        return catalog.streams.counts()[0]

    assert catalog.transact(work, catalog.leases.acquire("app")) == 0
    assert catalog.epochs.pending("v") == intent()


class Wire:
    """A connection whose COMMIT goes wrong: it reaches the server or does not, and its answer is lost."""

    def __init__(self, real: psycopg.Connection[tuple[object, ...]], reaches: bool) -> None:
        self._real = real
        self._reaches = reaches

    def execute(self, sql: str, *values: object) -> object:
        if sql != "COMMIT":
            return self._real.execute(sql, *values)  # type: ignore[arg-type]
        if self._reaches:
            self._real.execute("COMMIT")
        self._real.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)


def lose_the_answer(catalog: Catalog, reaches: bool) -> None:
    db = catalog._db
    assert isinstance(db, postgres.Postgres)
    db._connection = Wire(db._open(), reaches)  # type: ignore[assignment, arg-type]


@pytest.mark.parametrize("reaches", [True, False])
def test_rows_are_taken_once_when_the_answer_is_lost(catalog: Catalog, reaches: bool) -> None:
    """Events, rows that are none, and time without events: none has a number that tells alone whether it was taken."""
    catalog.streams.create(NUMBERS)
    catalog.streams.create(Declaration("numbers.bad", NUMBERS.side_streams()["numbers.bad"], None))
    log = StreamLog(Store(catalog, None), "numbers")
    lose_the_answer(catalog, reaches)
    assert log.append(chunk(1, 2)).end == 2
    lose_the_answer(catalog, reaches)
    log.append(Chunk(5, "", pl.DataFrame({"n": [None]}, schema={"n": pl.Int64})))
    lose_the_answer(catalog, reaches)
    log.advance(100)
    row = catalog.streams.get("numbers")
    assert (row.next, row.cti, row.position) == (2, 100, 5)
    assert row.counters == {"rows": 2, "bad_diverted": 1}
    assert catalog.streams.get("numbers.bad").next == 1
    assert len(catalog.streams.segments("numbers", 0, 10)) == 1


@pytest.mark.parametrize("reaches", [True, False])
def test_an_epoch_is_committed_once_when_the_answer_is_lost(catalog: Catalog, reaches: bool) -> None:
    lease = catalog.leases.acquire("app")
    catalog.epochs.write_intent("v", intent())
    answers: list[bool] = []
    lose_the_answer(catalog, reaches)
    commit = Commit(intent(), Snapshot(epoch=0), (), ())
    catalog.transact(lambda: answers.append(catalog.epochs.commit("v", commit)), lease)
    assert answers == ([True] if reaches else [True, True])
    assert catalog.epochs.snapshot("v").epoch == 0


def test_a_database_that_went_back_is_said(server: Server, catalog: Catalog) -> None:
    """As when a copy takes over that had not heard of the last commits."""
    _, schema = (catalog.root / "catalog.url").read_text().split()
    server.ask(f"UPDATE {schema}.writers SET number = number - 1")
    server.cut()
    with pytest.raises(StoreError, match=r"STORE\.WENT_BACK"):
        catalog.streams.names()


def test_a_file_is_not_swept_while_its_writer_waits_for_the_server(
    server: Server, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "GRACE", 0.3)
    (catalog.root / "streams/s").mkdir(parents=True)
    file = catalog.root / "streams/s/merged.parquet"
    file.touch()
    sweeper = keeper.Keeper(Store(catalog, None), [])
    sweeper.sweep()
    time.sleep(0.4)
    server.cut()
    sweeper.sweep()
    assert file.exists(), "nobody could name it while the server was away"
    time.sleep(0.4)
    sweeper.sweep()
    assert not file.exists()


def test_what_is_closed_stays_closed(catalog: Catalog) -> None:
    catalog.close()
    with pytest.raises(StoreError, match=r"STORE\.NO_SERVER.*it was closed"):
        catalog.streams.names()


# -- errors ------------------------------------------------------------------------------------------------


def test_no_server(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"STORE\.NO_SERVER.*postgresql://x@/db(.|\n)*Start the server"):
        Catalog.open(tmp_path, create=True, url=f"postgresql://x@/db?host={tmp_path}")
    assert os.listdir(tmp_path) == []


def test_a_server_that_stays_away(server: Server, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "OPENING", 0.3)
    catalog._db._patience = 0.5  # type: ignore[attr-defined]
    server.stop()
    try:
        with pytest.raises(StoreError, match=r"STORE\.NO_SERVER"):
            catalog.streams.create(NUMBERS)
        began = time.monotonic()
        with pytest.raises(StoreError, match=r"STORE\.NO_SERVER"):
            catalog.streams.names()
        assert time.monotonic() - began < 0.3, "it was waited for once"
        with pytest.raises(StoreError, match=r"STORE\.NO_SERVER"):
            Catalog.open(catalog.root)
    finally:
        server.start()
    catalog.streams.create(NUMBERS)


def test_the_wrong_database(server: Server, catalog: Catalog) -> None:
    file = catalog.root / "catalog.url"
    url, schema = file.read_text().split()
    file.write_text(f"{url.replace('/waterclock?', '/postgres?')}\n{schema}\n")
    with pytest.raises(StoreError, match=rf"STORE\.NO_CATALOG.*/postgres.*{schema}"):
        Catalog.open(catalog.root, create=True)
    file.write_text(f"{url.replace('/waterclock?', '/nothing?')}\n{schema}\n")
    with pytest.raises(StoreError, match=r'STORE\.NO_SERVER.*database "nothing" does not exist'):
        Catalog.open(catalog.root)
    file.write_text(f"{url}\npublic; DROP\n")
    with pytest.raises(StoreError, match=r"STORE\.DAMAGED.*catalog\.url"):
        Catalog.open(catalog.root)


def test_a_store_keeps_its_catalog(server: Server, catalog: Catalog, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"STORE\.OTHER_CATALOG.*not in postgresql://other/db"):
        Catalog.open(catalog.root, create=True, url="postgresql://other/db")
    Catalog.open(tmp_path / "sqlite", create=True).close()
    with pytest.raises(StoreError, match=r"STORE\.OTHER_CATALOG.*catalog\.sqlite"):
        Catalog.open(tmp_path / "sqlite", create=True, url=server.url)


def test_a_user_who_may_make_nothing(server: Server, tmp_path: Path) -> None:
    url = server.url.replace("waterclock@", "guest@")
    with pytest.raises(StoreError, match=r"STORE\.REFUSED.*permission denied(.|\n)*GRANT CREATE"):
        Catalog.open(tmp_path, create=True, url=url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://host/db", "no URL of PostgreSQL"),
        ("postgresql://u:secret@host/db", "holds a password"),
        ("postgresql://host/db?password=secret", "holds a password"),
        ("postgresql://host/db?colour=secret", "invalid URI query parameter"),
    ],
)
def test_urls_that_cannot_be(url: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"CONFIG\.BAD_CATALOG.*{said}") as caught:
        Catalog.open(tmp_path, create=True, url=url)
    assert "secret" not in str(caught.value) or "colour" in url
    assert os.listdir(tmp_path) == []


def test_without_the_library(tmp_path: Path) -> None:
    (tmp_path / "catalog.url").write_text("postgresql://host/db\nwaterclock_" + "0" * 32 + "\n")
    script = f"""import sys; sys.modules["psycopg"] = None
from waterclock.catalog import Catalog
Catalog.open({str(tmp_path)!r})"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "STORE.NO_LIBRARY" in done.stderr
    assert "pip install 'waterclock[postgres]'" in done.stderr


# -- the command line --------------------------------------------------------------------------------------


def test_the_commands(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    (tmp_path / "app.py").write_text(
        "import waterclock as wc\n"
        "app = wc.App('app', './store')\n"
        "app.stream('s', {'n': int}, time='n', source=wc.files('in.jsonl')).select('n').into('out')\n"
    )

    def said(*words: str) -> str:
        done = CliRunner().invoke(main, list(words))
        assert done.exit_code == 0, done.output
        return done.output

    said("run", "app.py", "--mode", "offline", "--catalog", server.url)
    said("run", "app.py", "--mode", "offline")
    assert (tmp_path / "store/catalog.url").exists()
    assert "app: stopped after" in said("status", "--store", "store")
    assert "out" in said("streams", "--store", "store")
    assert len(said("tail", "out", "--store", "store").splitlines()) == 3
    assert f"at {server.url}, a commit takes" in said("doctor", "--store", "store")
    said("explain", "app.py", "--store", "store")


# -- the server is restarted while an app runs -------------------------------------------------------------


def test_an_app_outlives_its_server(server: Server, tmp_path: Path, make_app: Callable[..., wc.App]) -> None:
    """Restarted, then killed, while the app runs in another process and this one pushes: every row once, in order."""
    app = make_app(catalog=server.url)
    numbers = app.stream("numbers", {"n": int}, time="n", max_ahead=None)
    numbers.push([{"n": 0}])
    script = f"""
import sys; sys.path.insert(0, {os.getcwd()!r})
import waterclock as wc
from waterclock import launch
from waterclock.runtime.inprocess import InProcessRunner
launch.runner_of = lambda *_: InProcessRunner()  # threads, without the start of a JVM
app = wc.App("test", {str(tmp_path / "store")!r})
numbers = app.stream("numbers", {{"n": int}}, time="n", max_ahead=None)
numbers.filter(wc.col("n") >= 0).to(wc.jsonl({str(tmp_path / "out.jsonl")!r}), name="out")
app.run(mode="live").wait(120)
"""
    child = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    pushed = 0

    def push_for(seconds: float) -> None:
        nonlocal pushed
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pushed += 1
            numbers.push([{"n": pushed}])

    deadline = time.monotonic() + 60
    while not (tmp_path / "out.jsonl").exists():
        assert time.monotonic() < deadline
        push_for(0.1)
    for how in (signal.SIGINT, signal.SIGKILL):
        pusher = threading.Thread(target=push_for, args=(3.0,))
        pusher.start()
        time.sleep(0.7)
        server.stop(how)
        time.sleep(0.7)
        server.start()
        pusher.join()
    push_for(0.3)
    numbers.end()
    _, said = child.communicate(timeout=60)
    assert child.returncode == 0, said
    assert "is away" in said
    assert "is back after" in said
    rows = pl.read_ndjson(tmp_path / "out.jsonl")["n"].to_list()
    assert rows == list(range(pushed + 1))


def test_an_app_whose_server_stays_away_fails(
    server: Server, make_app: Callable[..., wc.App], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("waterclock.launch.runner_of", lambda *_: InProcessRunner())
    app = make_app(catalog=server.url)
    numbers = app.stream("numbers", {"n": int}, time="n", max_ahead=None)
    numbers.select("n").into("out")
    handle = app.run(mode="live")
    numbers.push([{"n": 1}])
    handle._engine.parts.store.catalog._db._patience = 0.5  # type: ignore[attr-defined]
    server.stop()
    try:
        with pytest.raises(StoreError, match=r"STORE\.NO_SERVER"):
            handle.wait(30)
        assert handle.state == "failed"
        assert not handle.status().healthy
    finally:
        server.start()
    _, schema = (Path(app.store) / "catalog.url").read_text().split()
    server.ask(f"UPDATE {schema}.leases SET expires = 0")  # it could not be given back, and runs out
    numbers.push([{"n": 2}])
    numbers.end()
    assert app.run(mode="offline").frame("out")["n"].to_list() == [1, 2]
