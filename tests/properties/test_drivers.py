"""Two drivers run the vertices of one app, turn by turn in any order: what comes out is what one alone gives."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import waterclock as wc
from tests.properties.test_app import quick
from tests.recovery.harness import bag
from waterclock import launch
from waterclock.catalog import Catalog, Observer
from waterclock.errors import StoreError
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.log import StreamReader
from waterclock.runtime.recovery import roll_back
from waterclock.runtime.store import Store
from waterclock.runtime.vertex import VertexWorker

pytestmark = pytest.mark.usefixtures("each_database")

OUTPUTS = ("per_user", "totals")
ROWS = [{"user": f"u{n % 3}", "n": n, "t": n * 50_000} for n in range(300)]
CHUNK = 6


def app_of(folder: Path) -> tuple[wc.App, wc.SourceStream]:
    app = wc.App("app", folder / "store", epoch_rows=10)
    stream = app.stream("s", {"user": str, "n": int, "t": int}, time="t", slack="1s", max_ahead=None)
    per_user = stream.group_by("user").tumbling("5s").agg(n=wc.count(), total=wc.sum("n"))
    per_user.into("per_user")
    app.read("per_user").tumbling("10s").agg(most=wc.max("total"), rows=wc.count()).into("totals")
    return app, stream


def frames(folder: Path) -> list[pl.DataFrame]:
    catalog = Catalog.open(folder / "store")
    found = []
    for name in OUTPUTS:
        row = catalog.streams.get(name)
        found.append(bag(StreamReader(catalog, name).read(row.first, row.next)))
    catalog.close()
    return found


@contextmanager
def drivers(app: wc.App) -> Iterator[list[tuple[Store, dict[str, VertexWorker]]]]:
    """One that leads, and one that stands by and runs all vertices too."""
    declared, found = app._declared, []
    try:
        for leads in (True, False):
            catalog = declared.open()
            lease = catalog.leases.acquire(declared.lease) if leads else catalog.leases.join("app", "b")
            store = Store(catalog, lease)
            plans = launch._prepared(declared, store) if leads else declared.plans(catalog)
            workers = {n: launch._vertex(declared, store, plan, InProcessRunner()) for n, plan in plans.items()}
            for worker in workers.values():
                worker.know(workers)
                worker.host(True, alone=False)
            found.append((store, workers))
        yield found
    finally:
        for store, _ in found:
            store.close()


def finish(*workers: VertexWorker) -> None:
    """Turns until there is nothing left to do."""
    while sum(worker.turn() for worker in workers):
        pass


def expected(folder: Path) -> list[pl.DataFrame]:
    app, stream = app_of(folder)
    stream.push(ROWS)
    stream.end()
    app.run(mode="offline")
    return frames(folder)


STEPS = {"turn": 70, "push": 14, "sync": 3, "tidy": 2, "roll back": 5, "leave": 3, "come": 3}
"""What may happen next, and how often."""


@settings(quick(100), derandomize=False, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32), st.integers(0, 600))
def test_any_order_of_turns_gives_each_row_once(seed: int, number: int) -> None:
    choose = random.Random(seed)
    steps = [
        (what, choose.randrange(2), choose.choice(OUTPUTS))
        for what in choose.choices(list(STEPS), list(STEPS.values()), k=number)
    ]
    with tempfile.TemporaryDirectory(prefix="wc-") as temporary, mock.patch("waterclock.state.tiers.FANOUT", 2):
        folder = Path(temporary)
        app, stream = app_of(folder)
        with drivers(app) as found:
            keeper = Keeper(found[0][0], list(OUTPUTS))
            left = list(ROWS)
            for what, which, name in steps:
                store, workers = found[which]
                if what == "turn":
                    workers[name].turn()
                elif what == "push" and left:
                    stream.push(left[:CHUNK])
                    del left[:CHUNK]
                elif what == "sync":
                    keeper.sync()
                elif what == "tidy":
                    keeper.tidy()
                elif what == "roll back":
                    row = next(v for v in store.catalog.epochs.vertices() if v.name == name)
                    if row.stored < row.epoch:
                        roll_back(store, name)
                elif what in ("leave", "come"):
                    workers[name].host(what == "come", alone=False)
            if left:
                stream.push(left)
            stream.end()
            for _, workers in found:
                for worker in workers.values():
                    worker.host(True, alone=False)
            finish(*(worker for _, workers in found for worker in workers.values()))
        (folder / "alone").mkdir()
        for got, wanted in zip(frames(folder), expected(folder / "alone"), strict=True):
            assert got.equals(wanted), (got, wanted)


def test_the_loser_of_a_commit_goes_on_from_what_is_there(tmp_path: Path) -> None:
    app, stream = app_of(tmp_path)
    stream.push(ROWS[:10])
    with drivers(app) as found:
        (one, ones), (_, others) = found
        mine, theirs = ones["per_user"], others["per_user"]
        for worker in (mine, theirs, mine):
            worker.turn()  # both have recorded the same epoch and executed it
        assert mine._coordinator.state == theirs._coordinator.state == "committing"
        assert theirs.turn()
        assert one.catalog.epochs.snapshot("per_user").epoch == 0
        end = one.catalog.streams.get("per_user").next
        assert mine.turn()
        assert one.catalog.epochs.snapshot("per_user").epoch == 0
        assert one.catalog.streams.get("per_user").next == end
        assert mine._coordinator.snapshot.epoch == 0
        assert one.catalog.epochs.vertices()[0].counters == {}, "nothing failed and nothing was tried again"


def test_what_was_computed_before_a_rollback_is_not_committed_after_it(tmp_path: Path) -> None:
    """The vertex stands at the same epoch again, with other files."""
    app, stream = app_of(tmp_path)
    with drivers(app) as found:
        (one, ones), (_, others) = found
        mine, theirs = ones["per_user"], others["per_user"]
        stream.push(ROWS[:10])
        finish(mine)
        stream.push(ROWS[10:20])
        theirs.turn()
        theirs.turn()
        assert theirs._coordinator.state == "committing"
        reached = one.catalog.epochs.snapshot("per_user").epoch
        roll_back(one, "per_user")
        while one.catalog.epochs.snapshot("per_user").epoch < reached:
            mine.turn()
        assert one.catalog.epochs.pending("per_user") is not None
        theirs.turn()
        assert one.catalog.epochs.snapshot("per_user").epoch == reached
        assert one.catalog.epochs.standing("per_user").generation == 1


def test_an_expelled_driver_commits_nothing(tmp_path: Path) -> None:
    app, stream = app_of(tmp_path)
    stream.push(ROWS[:10])
    with drivers(app) as found:
        (one, _), (other, others) = found
        others["per_user"].turn()
        (held,) = one.catalog.leases.drivers()
        assert not Observer().is_free(held)
        assert one.catalog.leases.expel(held)
        with pytest.raises(StoreError, match=r"STORE\.FENCED"):
            finish(others["per_user"])
        assert one.catalog.epochs.snapshot("per_user").epoch == -1
        assert other.catalog.leases.join("app", "b").token > held.token


def test_bytes_that_waited_too_long_are_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keeper of the leader may have removed their file: the epoch is done again."""
    app, stream = app_of(tmp_path)
    stream.push(ROWS[:10])
    with drivers(app) as found:
        (one, _), (_, others) = found
        worker = others["per_user"]
        worker.turn()
        worker.turn()
        monkeypatch.setattr("waterclock.runtime.vertex.NAMED_WITHIN", -1.0)
        worker.turn()
        assert one.catalog.epochs.snapshot("per_user").epoch == -1
        monkeypatch.undo()
        finish(worker)
        assert one.catalog.epochs.snapshot("per_user").epoch >= 0


def test_a_driver_that_has_nothing_to_do_sees_a_rollback(tmp_path: Path) -> None:
    app, stream = app_of(tmp_path)
    stream.push(ROWS[:30])
    with drivers(app) as found:
        (one, ones), (_, others) = found
        finish(ones["per_user"], others["per_user"])
        reached = one.catalog.epochs.snapshot("per_user").epoch
        roll_back(one, "per_user")
        finish(others["per_user"])
        assert one.catalog.epochs.snapshot("per_user").epoch == reached


def test_an_intent_that_comes_too_late_is_not_written(tmp_path: Path) -> None:
    """Even when the epoch was done so long ago that nobody remembers it."""
    app, stream = app_of(tmp_path)
    stream.push(ROWS[:30])
    with drivers(app) as found:
        (one, ones), _ = found
        ones["per_user"].turn()
        intent = one.catalog.epochs.pending("per_user")
        assert intent is not None
        finish(ones["per_user"])
        one.catalog.epochs.forget("per_user", one.catalog.epochs.snapshot("per_user").epoch)
        assert one.catalog.epochs.record("per_user", intent, 0) is None
        assert one.catalog.epochs.pending("per_user") is None
