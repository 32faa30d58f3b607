"""What policies leave out: any cut into epochs, any number of tasks and any crash give the same rows, once."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import waterclock as wc
from tests.properties.drive import tasks
from waterclock import crashpoints
from waterclock.catalog import Catalog
from waterclock.reference import evaluate
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.log import StreamReader
from waterclock.runtime.recovery import roll_back
from waterclock.runtime.store import Store

PLACES = ("task.after_files", "epoch.after_intent", "epoch.before_commit", "epoch.after_commit", "sync.before_mark")


@wc.function(returns="bigint", per_row=True)
def tenth(x: int) -> int:
    return 10 // (x - 3)


def begin(key: int, event: wc.Row) -> int:
    return 6 // (event.x - 5)


def go_on(key: int, state: int, event: wc.Row) -> int:
    return state * 3 % 7 + 6 // (event.x - 5)


ROWS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2), st.integers(0, 7)), min_size=1, max_size=30)


class Crash(Exception):
    pass


@contextmanager
def crash(place: str, visit: int) -> Iterator[None]:
    left = [visit]

    def reach(name: str) -> None:
        left[0] -= name == place
        if name == place and left[0] == 0:
            raise Crash

    with mock.patch.object(crashpoints, "reach", reach):
        yield


def make(folder: str, epoch_rows: int) -> tuple[wc.App, wc.SourceStream]:
    app = wc.App("app", Path(folder) / "store", epoch_rows=epoch_rows)
    stream = app.stream("s", {"t": int, "k": int, "x": int}, time="t", slack=1000, max_ahead=None)
    tried = stream.filter(wc.col("k") < 2).with_columns(y=tenth("x")).on_error("dead_letter")
    tried.group_by("k").track(begin, go_on, 9).on_error("dead_letter").into("out")
    return app, stream


def looked(folder: str, name: str) -> list[str]:
    catalog = Catalog.open(Path(folder) / "store")
    frame = StreamReader(catalog, name).read(0, catalog.streams.get(name).next)
    catalog.close()
    return sorted(map(repr, frame.rows()))


def pushed(folder: str, rows: list[tuple[int, int, int]], pushes: int) -> wc.App:
    app, stream = make(folder, 1000)
    size = -(-len(rows) // pushes)
    for at in range(0, len(rows), size):
        stream.push([dict(zip("tkx", row, strict=True)) for row in rows[at : at + size]])
    stream.end()
    return app


def once(rows: list[tuple[int, int, int]]) -> tuple[list[str], list[str]]:
    """In one epoch; held against the reference."""
    with tempfile.TemporaryDirectory(prefix="wc-") as folder:
        app = pushed(folder, rows, 1)
        root = app._outputs["out"][0].root
        app.run("offline")
        found, dead = looked(folder, "out"), looked(folder, "out.dead")
    events = [(t, t + 1, {"t": t, "k": k, "x": x}) for t, k, x in rows]
    meant = sorted(repr((vs, ve, *payload.values())) for vs, ve, payload in evaluate(root, {"s": events}))
    assert found == meant
    assert len(dead) == sum(k < 2 and x in (3, 5) for _, k, x in rows)
    return found, dead


def run_without_a_sync(folder: str) -> None:
    """As if the power had gone before the first one."""
    with mock.patch.object(Keeper, "tidy"):
        make(folder, 4)[0].run("offline")
    catalog = Catalog.open(Path(folder) / "store")
    catalog.transact(lambda: catalog.epochs._db.execute("UPDATE vertices SET durable_epoch = -1, stored_epoch = -1"))
    catalog.close()


@settings(max_examples=25, deadline=None)
@given(ROWS, st.integers(1, 4), st.integers(1, 9), st.integers(1, 3), st.sampled_from(PLACES), st.integers(1, 6))
def test_any_cut_and_a_crash_give_the_same(
    rows: list[tuple[int, int, int]], pushes: int, epoch_rows: int, parts: int, place: str, visit: int
) -> None:
    expected = once(rows)
    with tempfile.TemporaryDirectory(prefix="wc-") as folder, tasks(parts):
        pushed(folder, rows, pushes)
        try:
            with crash(place, visit):
                make(folder, epoch_rows)[0].run("offline")
        except (Crash, wc.RunError):
            make(folder, 1 + epoch_rows // 2)[0].run("offline")
        assert (looked(folder, "out"), looked(folder, "out.dead")) == expected


@pytest.mark.parametrize("seed", range(4))
def test_a_rollback_takes_dead_letters_back_and_computes_them_again(seed: int) -> None:
    r = random.Random(seed)
    rows = [(r.randrange(30), r.randrange(3), r.randrange(8)) for _ in range(30)]
    expected = once(rows)
    with tempfile.TemporaryDirectory(prefix="wc-") as folder:
        pushed(folder, rows, 3)
        run_without_a_sync(folder)
        before = [looked(folder, "out"), looked(folder, "out.dead")]
        catalog = Catalog.open(Path(folder) / "store")
        roll_back(Store(catalog, None), "out")
        assert (catalog.streams.get("out.dead").next, catalog.streams.get("out.dead").ended) == (0, False)
        catalog.close()
        make(folder, 4)[0].run("offline")  # each epoch must give the same digest
        assert [looked(folder, "out"), looked(folder, "out.dead")] == before == list(expected)


def test_lost_bytes_of_dead_letters_alone_are_found() -> None:
    with tempfile.TemporaryDirectory(prefix="wc-") as folder:
        pushed(folder, [(n, 0, 3) for n in range(9)], 1)  # no output, dead letters only
        run_without_a_sync(folder)
        before = looked(folder, "out.dead")
        for file in (Path(folder) / "store" / "streams" / "out").iterdir():
            file.unlink()
        make(folder, 4)[0].run("offline")
        assert looked(folder, "out.dead") == before
        assert len(before) == 9
