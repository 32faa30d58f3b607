"""AS OF: a time, an epoch or a snapshot gives one cut through all streams; what is not known is said."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

import waterclock as wc
from waterclock.asking.asof import AsOf, Cut, resolve
from waterclock.catalog import Catalog
from waterclock.catalog.postgres import Postgres
from waterclock.catalog.sqlite import Sqlite
from waterclock.errors import WaterclockError
from waterclock.runtime import keeper
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.recovery import roll_back
from waterclock.runtime.store import Store
from waterclock.time import SECOND, show_instant

pytestmark = pytest.mark.usefixtures("each_database")
MakeApp = Callable[..., wc.App]
START = 1_790_000_000 * SECOND


class Clock:
    """Set by hand; every look at it moves it on a little."""

    def __init__(self) -> None:
        self.now = START

    def look(self) -> int:
        self.now += 10
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for kind in (Sqlite, Postgres):
        monkeypatch.setattr(kind, "now", lambda _: made.look())
    return made


def declare(make_app: MakeApp, **options: object) -> tuple[wc.App, wc.SourceStream]:
    app = make_app(epoch_rows=5)
    events = app.stream("events", {"n": "bigint"}, time="n", late="drop", max_ahead=None, **options)  # type: ignore[arg-type]
    events.tumbling(4).agg(rows=wc.count()).into("counts", **options)  # type: ignore[arg-type]
    app.read("counts").tumbling(8).agg(rows=wc.sum("rows")).into("sums")
    return app, events


def push(events: wc.SourceStream, start: int, end: int) -> None:
    events.push([{"n": n} for n in range(start, end)])


def at(store: Path, asked: AsOf | str | int) -> Cut:
    catalog = Catalog.open(store)
    try:
        return resolve(catalog, AsOf.of(asked))
    finally:
        catalog.close()


def ends(cut: Cut) -> dict[str, int]:
    return {stream: mark.seq for stream, mark in cut.marks.items()}


def test_a_time_gives_what_was_committed_then(make_app: MakeApp, tmp_path: Path, clock: Clock) -> None:
    app, events = declare(make_app)
    seen: list[tuple[int, dict[str, int]]] = []
    for start in range(0, 60, 20):
        clock.now += 3 * SECOND
        push(events, start, start + 20)
        app.run(mode="offline")
        catalog = Catalog.open(tmp_path / "store")
        seen.append((clock.now, {name: seq for name, (seq, _) in catalog.streams.marks().items()}))
        catalog.close()
    clock.now += 3 * SECOND
    for time, marks in seen:
        for later in (0, SECOND):
            assert ends(at(tmp_path / "store", time + later)) == marks
    assert len({tuple(marks.items()) for _, marks in seen}) == 3


def test_merged_segments_keep_whole_seconds(
    make_app: MakeApp, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "GROUP", 4)
    app, events = declare(make_app)
    app.run(mode="offline")
    came: list[tuple[int, int]] = []
    for n in range(40):
        clock.now += SECOND * 3 // 10
        push(events, n, n + 1)
        came.append((clock.now, n + 1))
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    for _ in range(5):
        Keeper(Store(catalog, None), ["counts", "sums"]).tidy()
    row = catalog.streams.get("events")
    levels = [segment.level for segment in catalog.streams.segments("events", 0, row.next)]
    assert max(levels) > 1
    asked = [time for time in range(came[0][0] // SECOND * SECOND + SECOND, clock.now, SECOND)]
    for time in asked:
        wanted = max((end for when, end in came if when <= time), default=0)
        assert resolve(catalog, AsOf(time=time), ["events"], ()).mark("events").seq == wanted, show_instant(time)
    between = next(one for (one, _), (two, _) in itertools.pairwise(came) if one // SECOND == two // SECOND)
    with pytest.raises(WaterclockError, match=r"ASOF\.BETWEEN(.|\n)*Whole seconds can be asked") as error:
        resolve(catalog, AsOf(time=between), ["events"], ()).mark("events")
    assert show_instant(between // SECOND * SECOND) in error.value.hint
    last = came[-1]
    assert resolve(catalog, AsOf(time=clock.now), ["events"], ()).mark("events").seq == last[1]
    catalog.close()


def test_what_is_computed_again_came_when_it_first_came(make_app: MakeApp, tmp_path: Path, clock: Clock) -> None:
    app, events = declare(make_app)
    push(events, 0, 20)
    app.run(mode="offline")
    clock.now += 2 * SECOND
    between = clock.now
    before = ends(at(tmp_path / "store", between))
    assert before["counts"] > 0
    catalog = Catalog.open(tmp_path / "store")
    catalog._db.execute("UPDATE vertices SET stored_epoch = -1, durable_epoch = -1 WHERE name = 'counts'")
    catalog._db.execute("DELETE FROM runs")
    roll_back(Store(catalog, None), "counts")
    with pytest.raises(WaterclockError, match="is being computed again"):
        at(tmp_path / "store", between).mark("counts")
    catalog.close()
    clock.now += 2 * SECOND
    app, _ = declare(make_app)
    app.run(mode="offline")
    assert ends(at(tmp_path / "store", between)) == before
    assert at(tmp_path / "store", between).epoch("counts") >= 0


def test_an_epoch_gives_what_was_read_and_made(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app)
    push(events, 0, 3)
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.snapshots.begin("test", "all") is not None  # keeps every epoch behind
    app, events = declare(make_app)
    push(events, 3, 60)
    app.run(mode="offline")
    for epoch, snapshot in catalog.epochs.history("counts"):
        cut = at(tmp_path / "store", f"epoch {epoch} of counts")
        assert ends(cut)["events"] == snapshot.positions["events"]
        assert ends(cut)["counts"] == snapshot.output_end
        below = catalog.epochs.snapshot("sums", cut.epoch("sums"))
        assert below.positions.get("counts", 0) <= snapshot.output_end
        assert ends(cut)["sums"] == below.output_end
    for epoch, snapshot in catalog.epochs.history("sums"):
        cut = at(tmp_path / "store", f"epoch {epoch} of sums")
        assert ends(cut)["counts"] == snapshot.positions["counts"]
        above = catalog.epochs.snapshot("counts", cut.epoch("counts"))
        assert above.output_end <= snapshot.positions["counts"]
        assert ends(cut)["events"] >= above.positions.get("events", 0)
    catalog.close()


def test_a_snapshot_gives_its_barriers(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app)
    push(events, 0, 20)
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    begun = catalog.snapshots.begin("test", "before")
    assert begun is not None
    with pytest.raises(WaterclockError, match="not complete yet"):
        at(tmp_path / "store", "snapshot before")
    app, events = declare(make_app)
    push(events, 20, 60)
    app.run(mode="offline")
    found = catalog.snapshots.get(begun.id)
    assert found is not None
    cut = at(tmp_path / "store", "snapshot before")
    assert ends(cut) | {} == {"events": 20, **{name: part.output_end for name, part in found.parts.items()}} | {
        name: seq for name, seq in ends(cut).items() if name not in ("events", "counts", "sums")
    }
    assert cut.epoch("sums") == found.parts["sums"].epoch
    assert ends(at(tmp_path / "store", f"snapshot {begun.id}")) == ends(cut)
    other = wc.App("other", tmp_path / "store")
    other.stream("alone", {"n": "bigint"}, time="n", max_ahead=None).push([{"n": 1}])
    with pytest.raises(WaterclockError, match=r"ASOF\.NOT_TOLD.*'alone'.*no stream that the queries of 'test'"):
        at(tmp_path / "store", "snapshot before").mark("alone")
    catalog.close()


def test_what_cannot_be_asked(make_app: MakeApp, tmp_path: Path, clock: Clock) -> None:
    app, events = declare(make_app)
    app.history = 0
    store = tmp_path / "store"
    push(events, 0, 20)
    app.run(mode="offline")
    push(events, 20, 60)
    app.run(mode="offline")
    clock.now += 10 * SECOND
    catalog = Catalog.open(store)
    Keeper(Store(catalog, None), ["counts", "sums"]).tidy()
    catalog.close()
    for asked, message in (
        (clock.now + 1000 * SECOND, "ASOF.FUTURE"),
        (5, r"ASOF\.BEFORE.*1970"),
        ("epoch 999 of counts", r"has not done an epoch 999(.|\n)*Known epochs"),
        ("epoch 0 of count", r"STORE\.NO_OUTPUT.*'count'(.|\n)*Did you mean 'counts'"),
        ("epoch 0 of sums", r"Epoch 0 of 'sums' is no longer known(.|\n)*Snapshots"),
        ("snapshot nothing", r"STORE\.NO_SNAPSHOT"),
        ("yesterday", "CONFIG.BAD_OPTION"),
    ):
        with pytest.raises(WaterclockError, match=message):
            at(store, asked)
