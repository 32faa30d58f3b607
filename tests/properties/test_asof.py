"""As of any epoch and any whole second, a store gives what was there then: noted while it ran, through compaction,
garbage collection and rollbacks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

import waterclock as wc
from waterclock.asking.asof import AsOf, Cut, resolve
from waterclock.catalog import Catalog
from waterclock.catalog.sqlite import Sqlite
from waterclock.catalog.streams import Streams
from waterclock.runtime import keeper
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.recovery import roll_back
from waterclock.runtime.store import Store
from waterclock.time import SECOND

STREAMS = ("events", "counts", "sums")
START = 1_790_000_000 * SECOND


class World:
    """A clock that is set by hand, and all that was committed by it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = START
        self.came: list[tuple[int, str, int]] = []
        """When, which stream, and how many events it had then."""
        self.pushed = 0
        self.pace = 1

    @contextmanager
    def at_work(self) -> Iterator[None]:
        real = Streams.append

        def look(_: Sqlite) -> int:
            self.now += self.pace
            return self.now

        def noted(
            streams: Streams, name: str, expected: int, segments: list[object], *rest: object, **more: object
        ) -> bool:
            done = real(streams, name, expected, segments, *rest, **more)  # type: ignore[arg-type]
            if done:
                self.came.append((self.now, name, expected + sum(s.rows for s in segments)))  # type: ignore[attr-defined]
            return done

        with (
            patch.object(Sqlite, "now", look),
            patch.object(Streams, "append", noted),
            patch.object(keeper, "GROUP", 3),
        ):
            yield

    def app(self) -> tuple[wc.App, wc.SourceStream]:
        app = wc.App("test", self.folder, epoch_rows=4, optimize=False)
        events = app.stream("events", {"n": "bigint"}, time="n", late="drop", max_ahead=None, retention=150)
        events.tumbling(4).agg(rows=wc.count()).into("counts")
        app.read("counts").tumbling(8).agg(rows=wc.sum("rows")).into("sums")
        return app, events

    def push(self, rows: int) -> None:
        for _ in range(rows):
            self.app()[1].push([{"n": self.pushed}])
            self.pushed += 1

    def run(self) -> None:
        self.app()[0].run(mode="offline")

    def tidy(self) -> None:
        with self.catalog() as catalog:
            Keeper(Store(catalog, None), ["counts", "sums"], orphan_age=0.0).tidy()

    def roll_back(self) -> None:
        """As after a power cut: what was not synced is computed again."""
        with self.catalog() as catalog:
            vertex = catalog.epochs.get("counts")
            known = [epoch for epoch, _ in catalog.epochs.history("counts")]
            if vertex.epoch < 1 or len(known) < 2 or catalog.snapshots.all():
                return
            mark = known[len(known) // 2]
            catalog._db.execute(
                "UPDATE vertices SET stored_epoch = ?, durable_epoch = ? WHERE name = 'counts'", mark, mark
            )
            if mark < vertex.epoch:
                self.now += 3 * SECOND // 2
                roll_back(Store(catalog, None), "counts")
        self.run()

    @contextmanager
    def catalog(self) -> Iterator[Catalog]:
        catalog = Catalog.open(self.folder)
        try:
            yield catalog
        finally:
            catalog.close()

    def had(self, stream: str, time: int) -> int:
        return max((end for when, name, end in self.came if name == stream and when <= time), default=0)


Steps = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(1, 12)),
        st.tuples(st.just("pass"), st.integers(0, 2 * SECOND)),
        st.tuples(st.just("pace"), st.sampled_from([1, 10_000, 300_000])),
        st.tuples(st.sampled_from(["run", "run", "tidy", "roll_back"]), st.just(0)),
    ),
    min_size=3,
    max_size=25,
)


def test_what_was_written_again_and_then_merged(tmp_path: Path) -> None:
    """The mark that a rollback leaves open ends inside the segments that are merged."""
    world = World(tmp_path)
    with world.at_work():
        for rows in (18, 1, 2):
            world.push(rows)
            world.run()
        world.roll_back()
        world.push(4)
        world.run()
        world.now += SECOND
        world.tidy()
        with world.catalog() as catalog:
            for second in range(world.came[0][0] // SECOND + 1, world.now // SECOND + 1):
                cut = resolve(catalog, AsOf(time=second * SECOND), STREAMS, ())
                assert _told(cut, "counts", catalog) == world.had("counts", second * SECOND)


@settings(max_examples=100, deadline=None)
@given(Steps, st.data())
def test_a_whole_second_is_what_was_committed_by_then(steps: list[tuple[str, int]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        with world.at_work():
            world.push(1)
            world.run()
            for what, number in steps:
                if what == "push":
                    world.push(number)
                elif what == "pass":
                    world.now += number
                elif what == "pace":
                    world.pace = number
                else:
                    getattr(world, what)()
            last = world.now
            with world.catalog() as catalog:
                first = world.came[0][0] // SECOND + 1
                for second in range(first, min(last // SECOND, first + 60) + 1):
                    cut = resolve(catalog, AsOf(time=second * SECOND), STREAMS, ())
                    for stream in STREAMS:
                        assert _told(cut, stream, catalog) in (None, world.had(stream, second * SECOND)), stream
                    if world.pushed <= 150:  # retention has removed nothing
                        rows = wc.query(world.folder, "SELECT n FROM events ORDER BY n", as_of=second * SECOND)
                        assert rows["n"].to_list() == list(range(world.had("events", second * SECOND)))
                # Any other time is right or refused.
                near = st.tuples(st.sampled_from([when for when, _, _ in world.came]), st.integers(0, 2))
                for time in {when + behind for when, behind in data.draw(st.lists(near, max_size=30))}:
                    cut = resolve(catalog, AsOf(time=time), STREAMS, ())
                    for stream in STREAMS:
                        assert _told(cut, stream, catalog, exact=False) in (None, world.had(stream, time)), stream


def _told(cut: Cut, stream: str, catalog: Catalog, exact: bool = True) -> int | None:
    """None only where retention has removed the events, or, if it need not be exact, where merging has."""
    refused = cut._untold.get(stream)
    if refused is None:
        return cut.mark(stream).seq
    assert refused.code in ({"ASOF.TRIMMED"} if exact else {"ASOF.TRIMMED", "ASOF.BETWEEN"}), refused
    assert refused.code != "ASOF.TRIMMED" or catalog.streams.get(stream).first > 0
    return None


@settings(max_examples=25, deadline=None)
@given(Steps)
def test_an_epoch_is_what_was_there_then(steps: list[tuple[str, int]]) -> None:
    """Every row that counts has its causes among those that count, and the vertex itself is exact."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        with world.at_work():
            world.push(1)
            world.run()
            with world.catalog() as catalog:
                assert catalog.snapshots.begin("test", "all") is not None
            for what, number in steps:
                if what == "push":
                    world.push(number)
                elif what in ("run", "tidy"):
                    getattr(world, what)()
            with world.catalog() as catalog:
                known = {name: catalog.epochs.history(name) for name in ("counts", "sums")}
                for name, history in known.items():
                    for epoch, snapshot in history:
                        cut = resolve(catalog, AsOf(epoch=(name, epoch)))
                        assert cut.mark(name).seq == snapshot.output_end
                        assert cut.epoch(name) == epoch
                        made = {n: catalog.epochs.snapshot(n, cut.epoch(n)) for n in known}
                        assert made["counts"].positions.get("events", 0) <= cut.mark("events").seq
                        assert made["counts"].output_end <= cut.mark("counts").seq
                        assert made["sums"].positions.get("counts", 0) <= cut.mark("counts").seq
