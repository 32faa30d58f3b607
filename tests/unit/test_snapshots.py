"""Global snapshots and pins: when they are taken, what they hold, and that they can be left alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import waterclock as wc
from waterclock import launch
from waterclock.catalog import Catalog, Part
from waterclock.cli.main import main
from waterclock.runtime.garbage import holds
from waterclock.runtime.replay import replay

pytestmark = pytest.mark.usefixtures("each_database")
MakeApp = Callable[..., wc.App]


def declare(make_app: MakeApp, **options: int | str) -> tuple[wc.App, wc.SourceStream]:
    app = make_app(snapshots=wc.Snapshots(**options), epoch_rows=5)  # type: ignore[arg-type]
    events = app.stream("events", {"n": "bigint"}, time="n", late="drop", retention=10)
    events.tumbling(4).agg(n=wc.count()).into("counts", retention=10)
    app.read("counts").tumbling(8).agg(n=wc.sum("n")).into("sums")
    return app, events


def push(events: wc.SourceStream, start: int, end: int) -> None:
    events.push([{"n": n} for n in range(start, end)])


def test_automatic_ones_are_kept_as_told_and_can_be_replayed(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app, epochs=3, keep=2)
    for start in range(0, 200, 40):
        push(events, start, start + 40)
        app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    kept = [each for each in catalog.snapshots.of("test") if each.state == "complete"]
    assert len(kept) == 2
    assert kept[-1].id > 5
    for each in kept:
        for name, plan in app._declared.plans(catalog).items():
            newest = catalog.epochs.snapshot(name).epoch
            assert replay(catalog, plan, each.parts[name].epoch, newest) == newest - each.parts[name].epoch
    catalog.close()


def test_replay_names_the_epoch_that_differs(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app)
    catalog = Catalog.open(tmp_path / "store", create=True)
    launch.declare(app._declared, catalog, app._declared.plans(catalog))
    assert catalog.snapshots.begin("test", "all") is not None  # of nothing: it keeps every epoch
    push(events, 0, 20)
    app.run(mode="offline")
    catalog._db.execute(
        """UPDATE epochs SET snapshot = replace(snapshot, '"digest": ', '"digest": 1') WHERE epoch = 2"""
    )
    plan = app._declared.plans(catalog)["counts"]
    with pytest.raises(wc.StoreError, match="not all are recorded"):
        replay(catalog, plan, -1, 99)
    with pytest.raises(wc.RunError, match="Epoch 2 of 'counts' gave other rows"):
        replay(catalog, plan, 1, 3)
    catalog.close()


def test_snapshots_and_pins_hold_streams(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app)
    push(events, 0, 20)
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    begun = catalog.snapshots.begin("test", "before")
    assert begun is not None
    assert begun.barrier == {"events": catalog.streams.marks()["events"]}
    push(events, 20, 100)
    app.run(mode="offline")
    found = catalog.snapshots.get(begun.id)
    assert found is not None
    assert found.state == "complete"
    assert catalog.epochs.snapshot("counts", found.parts["counts"].epoch).positions == {"events": 20}
    assert ("snapshot 'before' of test", 20) in [(h.who, h.seq) for h in holds(catalog, catalog.streams.get("events"))]
    assert catalog.streams.get("events").first <= 20
    assert catalog.pins.add("mine", "sums", None) is not None
    assert catalog.pins.add("mine", "sums", None) is None
    assert any(hold.who == "pin 'mine'" for hold in holds(catalog, catalog.streams.get("sums")))
    assert catalog.pins.remove("mine")
    assert not catalog.pins.remove("mine")
    catalog.close()


def test_no_more_are_on_their_way_than_told_and_late_ones_are_abandoned(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app, timeout="1us")
    push(events, 0, 20)
    engine = launch.start(app._declared, "offline")
    snapshots = engine.parts.store.catalog.snapshots
    first, second = snapshots.begin("test"), snapshots.begin("test")
    assert first is not None
    assert second is not None
    assert snapshots.begin("test") is None
    engine.parts.barriers.turn()
    assert engine.parts.barriers.turn()
    assert [each.state for each in snapshots.of("test")] == ["abandoned", "abandoned"]
    snapshots.add_part(first.id, "counts", Part(0, 0, 0))
    assert snapshots.held() == {}
    engine.run_here()
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.epochs.snapshot("counts").positions == {"events": 20}
    catalog.close()


def test_options_are_checked() -> None:
    for options in ({"epochs": 0}, {"every": 0}, {"keep": 0}, {"in_flight": 0}, {"timeout": 0}):
        with pytest.raises(wc.ConfigError, match="snapshots"):
            wc.Snapshots(**options)


def test_pins_of_several_streams_by_one_name(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app)
    push(events, 0, 20)
    app.run(mode="offline")

    def run(*words: str, fails: str = "") -> str:
        done = CliRunner().invoke(main, ["pin", *words, "--store", str(tmp_path / "store")])
        assert (done.exit_code != 0) == bool(fails)
        assert fails in done.output
        return done.output

    assert len(run("add", "--name", "everything").splitlines()) == 3
    assert "events of sums" in run("add", "counts", "sums", "--name", "some")
    run("add", "events", "sums", "--name", "some", fails="STORE.PIN_THERE")
    run("add", fails="CONFIG.BAD_OPTION")
    catalog = Catalog.open(tmp_path / "store")
    assert [(pin.name, pin.stream) for pin in catalog.pins.all()] == [
        ("everything", "counts"), ("everything", "events"), ("everything", "sums"),
        ("some", "counts"), ("some", "sums"),
    ]  # fmt: skip
    run("remove", "everything")
    assert [pin.name for pin in catalog.pins.all()] == ["some", "some"]
    catalog.close()
