"""The catalog: leases with fencing, one winner per epoch, all or nothing, migrations."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from waterclock.catalog import Catalog, Commit, Intent, Range, Snapshot
from waterclock.catalog.migrations import MIGRATIONS
from waterclock.errors import StoreError


def intent(epoch: int = 0) -> Intent:
    return Intent(epoch, {"s": Range(0, 10, 1, 2)}, 1, (1,))


def with_vertex(root: Path) -> Catalog:
    catalog = Catalog.open(root, create=True)
    catalog.epochs.create("v", "app", "identity", "plan", ["s"])
    return catalog


pytestmark = pytest.mark.usefixtures("each_database")


def test_a_lease_has_one_holder(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path, create=True)
    lease = catalog.leases.acquire("app")
    with pytest.raises(StoreError, match=r"STORE\.IN_USE.*process \d+ on"):
        Catalog.open(tmp_path).leases.acquire("app")
    catalog.leases.release(lease)
    assert Catalog.open(tmp_path).leases.acquire("app").token == lease.token + 1


def test_a_dead_holder_is_replaced_at_once(tmp_path: Path) -> None:
    script = (
        f"from waterclock.catalog import Catalog; Catalog.open({str(tmp_path)!r}, create=True).leases.acquire('app')"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert Catalog.open(tmp_path).leases.acquire("app").token == 2


def test_a_replaced_holder_can_commit_nothing(tmp_path: Path) -> None:
    catalog = with_vertex(tmp_path)
    old = catalog.leases.acquire("app")
    catalog.leases.release(old)
    new = catalog.leases.acquire("app")
    with pytest.raises(StoreError, match=r"STORE\.FENCED"), catalog.transaction(old):
        catalog.epochs.write_intent("v", intent())
    assert catalog.epochs.pending("v") is None
    with pytest.raises(StoreError, match=r"STORE\.FENCED"):
        catalog.leases.renew(old)
    with catalog.transaction(new):
        catalog.epochs.write_intent("v", intent())
    assert catalog.epochs.pending("v") == intent()


def test_the_first_commit_of_an_epoch_wins(tmp_path: Path) -> None:
    catalog = with_vertex(tmp_path)
    catalog.epochs.write_intent("v", intent())
    assert catalog.epochs.commit("v", Commit(intent(), Snapshot(epoch=0, digest=1), (), ()))
    assert not catalog.epochs.commit("v", Commit(intent(), Snapshot(epoch=0, digest=2), (), ()))
    assert catalog.epochs.snapshot("v").digest == 1


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    catalog = with_vertex(tmp_path)

    def fails_half_way() -> None:
        with catalog.transaction():
            catalog.epochs.write_intent("v", intent())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails_half_way()
    assert catalog.epochs.pending("v") is None


def test_an_intent_survives_as_it_was(tmp_path: Path) -> None:
    catalog = with_vertex(tmp_path)
    catalog.epochs.write_intent("v", intent())
    catalog.close()
    assert Catalog.open(tmp_path).epochs.pending("v") == intent()


ON_SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@ON_SQLITE
def test_a_store_of_an_older_format_is_migrated(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "catalog.sqlite") as db:
        db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        db.execute("INSERT INTO meta VALUES ('format', '0')")
    catalog = Catalog.open(tmp_path)
    assert catalog.streams.names() == []
    with sqlite3.connect(tmp_path / "catalog.sqlite") as db:
        assert db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() == (str(len(MIGRATIONS)),)


@ON_SQLITE
def test_garbage_instead_of_a_catalog_is_said(tmp_path: Path) -> None:
    (tmp_path / "catalog.sqlite").write_bytes(b"this is not a database" * 100)
    with pytest.raises(StoreError, match=r"STORE\.DAMAGED.*catalog\.sqlite"):
        Catalog.open(tmp_path)


def test_reading_is_of_one_moment_and_holds_nobody_up(tmp_path: Path) -> None:
    catalog, other = with_vertex(tmp_path), Catalog.open(tmp_path)

    def look() -> tuple[list[str], list[str]]:
        before = [vertex.name for vertex in catalog.epochs.vertices()]
        other.epochs.create("w", "app", "identity", "plan", ["s"])  # would wait for ever if it had to
        return before, [vertex.name for vertex in catalog.epochs.vertices()]

    assert catalog.read(look) == (["v"], ["v"])
    assert [vertex.name for vertex in catalog.epochs.vertices()] == ["v", "w"]
    with pytest.raises(ZeroDivisionError):
        catalog.read(lambda: 1 / 0)
    assert catalog.transact(lambda: catalog.read(lambda: 7)) == 7
    other.close()
