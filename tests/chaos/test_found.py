"""What storms have found, each as small as it can be, with the seed that showed it."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import polars as pl
import psutil
import pytest
from pyspark import SparkConf

import waterclock as wc
from tests.unit.test_streams import chunk, opened
from waterclock import crashpoints
from waterclock.catalog import Catalog
from waterclock.catalog.sqlite import Sqlite
from waterclock.errors import RunError, StoreError
from waterclock.optimizer.parallelism import Tasks
from waterclock.plan.strategy import Strategy
from waterclock.runtime.engine import Engine
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.log import StreamLog, StreamReader
from waterclock.runtime.rebuild import rebuild
from waterclock.runtime.recovery import EVERY_KEY, check_tail, roll_back
from waterclock.runtime.replay import replay
from waterclock.runtime.runner import Runner
from waterclock.runtime.spark import session
from waterclock.runtime.store import Store
from waterclock.runtime.task import Program, Report
from waterclock.state import Run
from waterclock.storage.blobs import write_parquet

pytestmark = pytest.mark.usefixtures("each_database")


def sweep(root: Path) -> None:
    """As another process does it for which all this is very old."""
    store = Store(Catalog.open(root), None)
    Keeper(store, [], orphan_age=0.0).sweep()
    store.close()


def numbers(store: Store) -> list[int]:
    row = store.catalog.streams.get("numbers")
    return StreamReader(store.catalog, "numbers").read(row.first, row.next)["n"].to_list()


def test_a_push_that_sleeps_before_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``SEED=1 KILLS=6 ONLY=stateless/local``: its file was swept, and the push acknowledged all the same."""
    store, slept = opened(tmp_path), []

    def reach(place: str) -> None:
        if place == "ingest.before_commit" and not slept:
            slept.append(place)
            sweep(tmp_path)

    monkeypatch.setattr(crashpoints, "reach", reach)
    StreamLog(store, "numbers").append(chunk([1, 2]))
    assert slept
    assert numbers(store) == [1, 2]
    store.close()


def test_a_push_into_a_file_that_is_no_longer_needed(tmp_path: Path) -> None:
    """Found with the one above: all that it held was trimmed, so it was swept while its writer had it open."""
    store = opened(tmp_path)
    log = StreamLog(store, "numbers")
    log.append(chunk([1]))
    store.catalog.streams.trim("numbers", 1)
    sweep(tmp_path)
    assert not list((tmp_path / "streams/numbers").iterdir())
    log.append(chunk([2]))
    assert numbers(store) == [2]
    store.close()


def test_processes_that_make_a_store_at_once(tmp_path: Path) -> None:
    """``SEED=900 KILLS=40 ONLY=joins/local``: the driver and the one who pushes; one found the new file locked."""

    def make(store: int) -> None:
        Catalog.open(tmp_path / str(store), create=True).close()

    with ThreadPoolExecutor(4) as threads:
        for store in range(30):
            list(threads.map(make, [store] * 4))


def test_a_disk_that_is_full_while_segments_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``SEED=901 KILLS=40 ONLY=windows/local``: it was told as an error that should not happen."""

    for free, says in ((1 << 30, "No space left on device (os error 28)"), (0, "Invalid thrift: transport error")):
        error = pl.exceptions.ComputeError(f"parquet: File out of specification: {says}")
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        monkeypatch.setattr(pl.DataFrame, "write_parquet", Mock(side_effect=error))
        with pytest.raises(StoreError, match=r"STORE\.FULL"):
            write_parquet(tmp_path, "new.parquet", pl.DataFrame({"n": [1]}))


@pytest.mark.parametrize(("free", "code"), [(0, "STORE.FULL"), (1 << 30, "STORE.DAMAGED")])
def test_a_disk_that_is_full_when_the_catalog_is_opened(
    free: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``SEED=900 KILLS=40 ONLY=joins/local``: the store was told to be damaged, and to be restored from a copy."""
    database = Sqlite(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert database._translated(sqlite3.OperationalError("disk I/O error")).code == code
    database.close()


def test_files_of_another_app_are_left_to_it(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.catalog.epochs.create("out", "other", "identity", "plan", ("numbers",))
    blob = store.growing("state/out").append(b"not named before the commit")
    sweep(tmp_path)
    assert (tmp_path / blob.path).exists()
    store.close()


def test_a_jvm_that_dies_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """``SEED=100 KILLS=19 ONLY=windows/spark``: the driver ended with a traceback of sockets."""

    def refused(*_: object) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(session, "launch_gateway", refused)
    with pytest.raises(RunError, match=r"RUN\.SPARK_FAILED.*Connection refused"):
        session._created(SparkConf(loadDefaults=False), threading.Event())


def test_a_holder_lives_on_when_the_clock_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux reckons the start of a process from that of the machine, and that from the clock."""
    catalog = Catalog.open(tmp_path, create=True)
    catalog.leases.acquire("app a")
    boot = psutil._psplatform.boot_time
    monkeypatch.setattr(psutil._psplatform, "boot_time", lambda: boot() + 5)
    assert "app a" in catalog.leases.holders()
    with pytest.raises(StoreError, match=r"STORE\.IN_USE"):
        catalog.leases.acquire("app a")
    catalog.close()


# -- state that is lost ------------------------------------------------------------------------------------


def counts(root: Path, recovery: Strategy) -> wc.App:
    app = wc.App("test", root, epoch_rows=5)
    numbers = app.stream("numbers", {"n": int}, time="n", max_ahead=None)
    numbers.tumbling("1ms").agg(rows=wc.count()).into("out", recovery=recovery)
    return app


def feed(app: wc.App, *numbers: int) -> None:
    app.source("numbers").push([{"n": n} for n in numbers])
    app.run(mode="offline")


def lose_state(root: Path, keep: Collection[Run] = ()) -> None:
    """All that is not known to be synced."""
    catalog = Catalog.open(root)
    for run in catalog.epochs.runs("out"):
        if run[1] not in keep:
            with (root / run[1].blob.path).open("r+b") as file:
                file.seek(run[1].blob.offset)
                file.write(bytes(run[1].blob.length))
    catalog.close()


def replayed(app: wc.App, root: Path) -> list[str]:
    """States of the snapshots; each that is complete is replayed."""
    catalog = Catalog.open(root)
    plan = app._declared.plans(catalog)["out"]
    for each in catalog.snapshots.of("test"):
        if each.state == "complete":
            replay(catalog, plan, each.parts["out"].epoch, catalog.epochs.get("out").epoch)
    found = [each.state for each in catalog.snapshots.of("test")]
    catalog.close()
    return found


def test_a_snapshot_whose_state_is_lost_before_it_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was complete as soon as a later epoch was durable, but its own state was gone."""
    recovery = wc.checkpoint("1h")
    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "_is_due", lambda *_: False)
        patch.setattr(Keeper, "close", lambda self: self.sync())
        feed(counts(tmp_path, recovery), 1, 2, 3)
        catalog = Catalog.open(tmp_path)
        catalog.snapshots.begin("test", "s")
        catalog.close()
        feed(counts(tmp_path, recovery), 4, 5, 6)
        lose_state(tmp_path)
    app = counts(tmp_path, recovery)
    feed(app, 7, 8, 9)
    assert replayed(app, tmp_path) == ["abandoned"]


def test_a_snapshot_of_a_vertex_that_saves_no_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun when all was taken and durable already: it was complete at once, and its state never synced."""
    synced: set[str] = set()
    monkeypatch.setattr(Store, "sync", lambda _, paths: synced.update(paths))
    app = counts(tmp_path, wc.replay())
    feed(app, 1, 2, 3)
    catalog = Catalog.open(tmp_path)
    assert catalog.epochs.get("out").durable == catalog.epochs.get("out").epoch
    catalog.snapshots.begin("test", "s")
    app.run(mode="offline")
    [part] = [each.parts["out"] for each in catalog.snapshots.of("test")]
    assert catalog.epochs.run_paths("out", -1, part.epoch) <= synced
    catalog.close()
    assert replayed(app, tmp_path) == ["complete"]


def test_a_replay_of_what_has_no_state(tmp_path: Path) -> None:
    """``SEED=1 KILLS=8 ONLY=stateless/drivers``: the keeper failed for want of a window."""
    app = wc.App("test", tmp_path)
    numbers = app.stream("numbers", {"n": int}, time="n", max_ahead=None)
    numbers.filter(wc.col("n") > 1).into("out", recovery=wc.replay())
    feed(app, 1, 2, 3)
    assert app.run(mode="offline").frame("out")["n"].to_list() == [2, 3]


def test_two_drivers_that_rebuild(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slower one failed on files that were no longer needed."""
    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "_is_due", lambda *_: False)
        patch.setattr(Keeper, "close", lambda self: self.sync())
        app = counts(tmp_path, wc.checkpoint("1h"))
        feed(app, 1, 2, 3)
        lose_state(tmp_path)
    store = Store(Catalog.open(tmp_path), None)
    plan = app._declared.plans(store.catalog)["out"]
    assert check_tail(store, plan)
    program = Program(str(tmp_path), plan, {"numbers": store.catalog.streams.get("numbers").declaration})
    here = InProcessRunner()

    def rebuild_with(runner: Runner) -> None:
        rebuild(store, program, runner, lambda *_: Tasks(1, (1,)), 5)

    def run(*_: object) -> list[Report]:
        rebuild_with(here)
        raise StoreError("STREAM.TRIMMED", seq=0, stream="numbers", first=2)

    rebuild_with(Mock(run=run, threads=1))
    assert store.catalog.epochs.get("out").lost is None
    assert store.catalog.epochs.runs("out")
    store.close()


def test_a_driver_that_was_replaced_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``SEED=32 KILLS=15 ONLY=windows/drivers``: its keeper found a stream trimmed, and it said that instead."""

    def turn(keeper: Keeper) -> bool:
        leases = keeper._store.catalog.leases
        held = leases.get("app test")
        assert held is not None
        leases.take(held, held.ttl, "another")
        raise StoreError("STREAM.TRIMMED", seq=0, stream="numbers", first=2)

    monkeypatch.setattr(Keeper, "turn", turn)
    with pytest.raises(StoreError, match=r"STORE\.FENCED"):
        feed(counts(tmp_path, wc.checkpoint()), 1, 2, 3)


def test_what_rebuilds_state_for_long_is_not_swept(tmp_path: Path) -> None:
    """By the keeper of the driver that leads, while another one is at it."""
    feed(counts(tmp_path, wc.checkpoint()), 1, 2, 3)
    store = Store(Catalog.open(tmp_path), None)
    store.catalog.epochs.lose("out", EVERY_KEY, [], [])
    blob = store.growing("state/out").append(b"of a long step")
    keeper = Keeper(Store(Catalog.open(tmp_path), None), ["out"], orphan_age=0.0)
    keeper.sweep()
    assert (tmp_path / blob.path).exists()
    store.catalog.epochs.restore("out", store.catalog.epochs.standing("out"), [])
    keeper.sweep()
    assert not (tmp_path / blob.path).exists()
    store.close()
    keeper._store.close()


def test_a_rollback_while_the_output_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It went back behind the mark that a keeper had just moved; what was done again was never synced then."""
    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "sync", lambda *_, **__: False)
        patch.setattr(Engine, "_finished", lambda engine: engine._settled())
        feed(counts(tmp_path, wc.checkpoint()), 1, 2, 3)
        feed(counts(tmp_path, wc.checkpoint()), 4, 5, 6)
    store = Store(Catalog.open(tmp_path), None)
    epochs, transact = store.catalog.epochs, store.catalog.transact
    assert (epochs.get("out").stored, epochs.get("out").epoch) == (-1, 1)

    def later(work: Callable[[], None], *given: object, **named: bool) -> None:
        epochs.set_stored("out", 0)
        transact(work, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(store.catalog, "transact", later)
    roll_back(store, "out")
    assert (epochs.get("out").stored, epochs.get("out").epoch) == (0, 0)
    store.close()
