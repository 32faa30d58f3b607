"""What a store takes does not grow with the number of epochs, and every snapshot that it keeps can be replayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import waterclock as wc
from waterclock import launch
from waterclock.catalog import Catalog
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.replay import replay

MakeApp = Callable[..., wc.App]
SECOND = 1_000_000


def declare(make_app: MakeApp, epochs: int) -> tuple[wc.App, wc.SourceStream]:
    app = make_app(snapshots=wc.Snapshots(epochs=epochs, keep=2), epoch_rows=100, history=20)
    events = app.stream("events", {"ts": "timestamp", "k": "bigint"}, time="ts", retention="20s", max_ahead=None)
    often = wc.checkpoint(epochs=5)
    events.group_by("k").tumbling("4s").agg(n=wc.count()).into("counts", retention="20s", recovery=often)
    app.read("counts").group_by("k").hopping("16s", "8s").agg(n=wc.sum("n")).into(
        "sums", retention="20s", recovery=often
    )
    app.read("sums").set_duration("30s").snapshot().agg(n=wc.max("n")).into("most", retention="20s", recovery=often)
    return app, events


def footprint(catalog: Catalog, root: Path) -> dict[str, int]:
    tables = [name for (name,) in catalog._db.query("SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = {name: int(catalog._db.query(f"SELECT count(*) FROM {name}")[0][0]) for name in tables}
    return {"files": sum(path.is_file() for path in root.rglob("*")), **rows}


@pytest.mark.parametrize("epochs", [300, pytest.param(10_000, marks=pytest.mark.soak)])
def test_a_long_run_takes_no_more_than_a_short_one(epochs: int, make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app, 20)
    engine = launch.start(app._declared, "offline")
    parts, catalog = engine.parts, engine.parts.store.catalog
    vertices = {vertex.vertex: vertex for vertex in parts.vertices}
    for vertex in vertices.values():
        vertex.single_threaded = True
    keeper = Keeper(parts.store, list(vertices), tidy_every=0.0, orphan_age=0.05)
    seen: dict[int, dict[str, int]] = {}
    for epoch in range(1, epochs + 1):
        events.push([{"ts": epoch * SECOND + n, "k": n} for n in range(3)])
        for name, vertex in vertices.items():
            if name != "most" or epoch % 4 == 0:  # a slower reader
                while vertex.turn():
                    pass
        keeper.sync()
        parts.barriers.turn()
        if epoch % 10 == 0:
            keeper.tidy()
        if epoch in (max(100, epochs // 10), epochs // 2, epochs):
            seen[epoch] = footprint(catalog, tmp_path / "store")
    print(seen)  # for those who look (pytest -s)
    assert catalog.epochs.get("counts").epoch >= epochs - 1
    early, _, late = seen.values()
    assert {name: (early[name], late[name]) for name in late if late[name] > 2 * early[name] + 20} == {}
    kept = [each for each in catalog.snapshots.of("test") if each.state == "complete"]
    assert len(kept) == 2
    assert kept[-1].id >= epochs // 40
    for each in kept:
        for name, vertex in vertices.items():
            newest = catalog.epochs.snapshot(name).epoch
            since = each.parts[name].epoch
            assert replay(catalog, vertex.program.plan, since, newest) == newest - since
    parts.store.close()
