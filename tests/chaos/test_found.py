"""What storms have found, each as small as it can be, with the seed that showed it."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import polars as pl
import psutil
import pytest
from pyspark import SparkConf

from tests.unit.test_streams import chunk, opened
from waterclock import crashpoints
from waterclock.catalog import Catalog
from waterclock.catalog.sqlite import Sqlite
from waterclock.errors import RunError, StoreError
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.log import StreamLog, StreamReader
from waterclock.runtime.spark import session
from waterclock.runtime.store import Store
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
