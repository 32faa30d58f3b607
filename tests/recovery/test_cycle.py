"""A cycle that is cut off at any epoch goes on: the unread range of its back edge is all that was on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import waterclock as wc
from tests.recovery.test_power_cut import undurable
from waterclock import crashpoints
from waterclock.catalog import Catalog
from waterclock.plan import Input
from waterclock.plan.rebuild import parts_of
from waterclock.reference import bag_difference, evaluate, fixpoint
from waterclock.runtime import files
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.log import StreamReader
from waterclock.schema import VE, VS
from waterclock.time import FOREVER

NODES = "abcdef"
LINKS = [{"t": 7 * n, "node": NODES[n % 6], "to": NODES[(5 * n + 1) % 6]} for n in range(12)]
ALERTS = [{"t": 3 + 20 * n, "node": NODES[4 * n % 6]} for n in range(3)]


class Crash(BaseException):
    pass


def build(store: Path) -> wc.App:
    app = wc.App("cycle", store, epoch_rows=3)
    alerts = app.stream("alerts", {"t": int, "node": str}, time="t")
    links = app.stream("links", {"t": int, "node": str, "to": str}, time="t", duration=40)

    def body(loop: wc.Stream) -> wc.Stream:
        return loop.join(links, on="node").select("t", node="to").distinct().shift(10)

    alerts.iterate(body, name="reach").tumbling(20).agg(n=wc.count()).into("counts")
    return app


def fill(app: wc.App) -> None:
    for name, rows in (("alerts", ALERTS), ("links", LINKS)):
        app.source(name).push(rows)
        app.source(name).end()


def events(store: Path, name: str) -> list[tuple[int, int, dict[str, Any]]]:
    catalog = Catalog.open(store)
    row = catalog.streams.get(name)
    frame = StreamReader(catalog, name).read(row.first, row.next)
    catalog.close()
    return [(line.pop(VS), line.pop(VE), line) for line in frame.iter_rows(named=True)]


def check(store: Path) -> None:
    """Both outputs are what they mean."""
    outputs = {name: plan.root for name, (plan, _) in build(store)._outputs.items()}
    inputs = {
        "alerts": [(row["t"], row["t"] + 1, row) for row in ALERTS],
        "links": [(row["t"], row["t"] + 40, row) for row in LINKS],
    }
    reach, _ = fixpoint("reach", outputs["reach"], inputs, dict.fromkeys((*inputs, "reach"), FOREVER))
    assert len(reach) > 15
    assert not bag_difference(events(store, "reach"), reach)
    assert not bag_difference(events(store, "counts"), evaluate(outputs["counts"], {"reach": reach}))


def crash_at(monkeypatch: pytest.MonkeyPatch, place: str, visit: int, store: Path) -> bool:
    """True if it was reached."""
    seen = 0

    def reach(name: str) -> None:
        nonlocal seen
        seen += name == place
        if name == place and seen == visit:
            raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(crashpoints, "reach", reach)
        patched.setattr(Keeper, "sync", lambda *_, **__: False)
        try:
            build(store).run(mode="offline")
        except Crash:
            return True
    return False


@pytest.mark.parametrize("place", ["epoch.after_intent", "epoch.before_commit", "epoch.after_commit"])
def test_a_crash_at_any_epoch(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, each_database: str) -> None:
    """Also at one whose promise is not checked yet, and one after another in the same store."""
    fill(build(tmp_path / "store"))
    for visit in (1, 2, 3, 5, 2, 7):
        assert crash_at(monkeypatch, place, visit, tmp_path / "store")
        catalog = Catalog.open(tmp_path / "store")
        snapshot, row = catalog.epochs.snapshot("reach"), catalog.streams.get("reach")
        assert snapshot.output_end == row.next
        assert snapshot.positions.get("reach", 0) <= snapshot.output_end
        catalog.close()
    build(tmp_path / "store").run(mode="offline")
    check(tmp_path / "store")


@pytest.mark.parametrize("visit", [1, 2, 4, 7, 11, 16])
def test_a_power_cut_at_any_epoch(visit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that was committed and not synced is lost, of the back edge too: recorded intents make it again."""
    monkeypatch.setattr(files, "INLINE", 0)
    fill(build(tmp_path / "store"))
    assert crash_at(monkeypatch, "epoch.after_commit", visit, tmp_path / "store")
    lost = undurable(tmp_path / "store")
    assert lost
    for path, _, _ in lost:
        (tmp_path / "store" / path).unlink(missing_ok=True)
    build(tmp_path / "store").run(mode="offline")
    check(tmp_path / "store")
    catalog = Catalog.open(tmp_path / "store")
    assert sum(vertex.counters.get("rollbacks", 0) for vertex in catalog.epochs.vertices())
    catalog.close()


def test_a_snapshot_holds_what_is_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Algorithm 2 of Asynchronous Barrier Snapshots: state, and the log of the back edge."""
    store = tmp_path / "store"
    fill(build(store))
    monkeypatch.setattr("waterclock.catalog.epochs.Epochs.forget", lambda *_: None)
    build(store).run(mode="offline")
    check(store)
    catalog = Catalog.open(store)
    history = [snapshot for _, snapshot in catalog.epochs.history("reach")]
    reader = StreamReader(catalog, "reach")
    root = build(store)._outputs["reach"][0].root
    assert any(isinstance(part, Input) and part.back for part in parts_of(root))
    held = 0
    for before, after in zip([None, *history], history, strict=False):
        start, made = (before.positions["reach"], before.output_end) if before else (0, 0)
        assert start <= after.positions["reach"] <= made, "an epoch takes what earlier ones made"
        on_the_way = reader.read(after.positions["reach"], after.output_end)
        held += on_the_way.height
        assert all(start >= after.ctis["reach"] for start in on_the_way[VS]), "and time has not passed it"
    assert held
    assert history[-1].positions["reach"] == history[-1].output_end, "nothing is left"
    catalog.close()
