"""Whatever the program, the cuts and the crashes: a global snapshot that is complete is consistent."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import waterclock as wc
from tests.properties.test_app import quick
from waterclock import launch
from waterclock.catalog import Catalog, GlobalSnapshot
from waterclock.optimizer import VertexPlan
from waterclock.reference import Event, bag_difference, final
from waterclock.runtime.engine import Engine
from waterclock.runtime.log import StreamReader
from waterclock.runtime.replay import replay
from waterclock.schema import VE, VS

SOURCES = ("s0", "s1")


def program(folder: str, shape: list[tuple[int, int, int]], epoch_rows: int) -> wc.App:
    """Each vertex reads one or two of the sources and of the vertices before it: chains, diamonds, fans."""
    app = wc.App("random", Path(folder) / "store", epoch_rows=epoch_rows, snapshots=wc.Snapshots(keep=3))
    known = [app.stream(name, {"n": "bigint"}, time="n", late="drop", max_ahead=None, retention=5) for name in SOURCES]
    for number, (kind, left, right) in enumerate(shape):
        one, other = known[left % len(known)], known[right % len(known)]
        if kind == 0:
            made = one.filter(wc.col("n") % 3 != 0).union(other)
        elif kind == 1:
            made = one.union(other).tumbling(2 + number).agg(n=wc.sum("n"))
        else:
            made = one.select("n", k=wc.col("n") % 2).group_by("k").hopping(6, 2).agg(n=wc.count()).select("n")
        made.into(f"v{number}", retention=5 if number == 0 else None)
        known.append(app.read(f"v{number}"))
    return app


class World:
    """An app whose workers get turns as chance has it; its process may die between any two."""

    def __init__(self, folder: str, shape: list[tuple[int, int, int]], epoch_rows: int, chance: random.Random) -> None:
        self.folder, self.shape, self.epoch_rows, self.chance = folder, shape, epoch_rows, chance
        self.pushed: dict[str, list[int]] = {name: [] for name in SOURCES}
        self.checked: set[int] = set()
        self.start()

    def start(self) -> None:
        self.app = program(self.folder, self.shape, self.epoch_rows)
        self.engine: Engine = launch.start(self.app._declared, "offline")
        self.plans: dict[str, VertexPlan] = {v.vertex: v.program.plan for v in self.engine.parts.vertices}
        for vertex in self.engine.parts.vertices:
            vertex.single_threaded = True

    @property
    def catalog(self) -> Catalog:
        return self.engine.parts.store.catalog

    def step(self) -> None:
        parts = self.engine.parts
        match self.chance.choices(["push", "vertex", "begin", "sync", "tidy", "crash"], [8, 40, 3, 4, 3, 1])[0]:
            case "push":
                name = self.chance.choice(SOURCES)
                last = max([0, *self.pushed[name]])
                rows = [last + self.chance.randrange(3) for _ in range(self.chance.randrange(1, 5))]
                rows.sort()
                self.app.source(name).push([{"n": n} for n in rows])
                self.pushed[name] += rows
            case "vertex":
                self.chance.choice(parts.vertices).turn()
            case "begin":
                name = self.chance.choice([None, None, f"kept {self.chance.random()}"])
                self.catalog.snapshots.begin("random", name, between_epochs=self.chance.random() < 0.6)
            case "sync":
                parts.keeper.sync()
                parts.barriers.turn()
            case "tidy":
                parts.keeper.tidy()
            case "crash":
                parts.store.close()
                self.start()
        self.check()

    def check(self) -> None:
        for each in self.catalog.snapshots.all():
            if each.state == "complete" and each.id not in self.checked:
                self.checked.add(each.id)
                self.consistent(each)

    def consistent(self, each: GlobalSnapshot) -> None:
        arrived: dict[str, list[Event]] = {}
        ctis: dict[str, int] = {}
        for name, (seq, cti) in each.barrier.items():
            arrived[name] = [(n, n + 1, {"n": n}) for n in self.pushed[name][:seq]]
            ctis[name] = cti
        for name, plan in self.plans.items():
            part = each.parts[name]
            snapshot = self.catalog.epochs.snapshot(name, part.epoch)
            assert (snapshot.epoch, snapshot.output_end, snapshot.cti) == (part.epoch, part.output_end, part.cti)
            for stream in plan.inputs:
                assert (snapshot.positions.get(stream, 0), snapshot.ctis.get(stream)) in (
                    each.mark(stream), (0, None),
                )  # fmt: skip
                assert snapshot.positions.get(stream, 0) == each.mark(stream)[0]  # type: ignore[index]
            expected, cti = final(plan.root, arrived, ctis)
            assert cti == part.cti
            arrived[name], ctis[name] = expected, cti
            assert len(expected) == part.output_end
            if self.catalog.streams.get(name).first == 0:
                found = StreamReader(self.catalog, name).read(0, part.output_end)
                events = [(line.pop(VS), line.pop(VE), line) for line in found.iter_rows(named=True)]
                assert not bag_difference(events, expected)

    def finish(self) -> None:
        """Runs to the end, and does again what every retained snapshot lets one do again."""
        while any([*(v.turn() for v in self.engine.parts.vertices), self.engine.parts.keeper.sync(),
                   self.engine.parts.barriers.turn()]):  # fmt: skip
            pass
        self.engine.parts.keeper.tidy()
        self.check()
        retained = self.catalog.snapshots.retained()
        assert all(each.state == "complete" for each in retained), "all that were begun came to their end"
        for each in retained:
            for name, plan in self.plans.items():
                newest = self.catalog.epochs.snapshot(name).epoch
                assert replay(self.catalog, plan, each.parts[name].epoch, newest) == newest - each.parts[name].epoch
        self.engine.parts.store.close()


SHAPES: Any = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=4)


def explore(shape: list[tuple[int, int, int]], epoch_rows: int, seed: int, steps: int) -> int:
    with tempfile.TemporaryDirectory(prefix="wc-") as folder:
        world = World(folder, shape, epoch_rows, random.Random(seed))
        for _ in range(steps):
            world.step()
        world.finish()
        return len(world.checked)


@quick(60)
@given(SHAPES, st.sampled_from([1, 2, 5, 1000]), st.integers(0, 2**32))
def test_complete_snapshots_are_consistent(shape: list[tuple[int, int, int]], epoch_rows: int, seed: int) -> None:
    explore(shape, epoch_rows, seed, 150)


def test_some_are_completed() -> None:
    """The property above would hold if none ever were."""
    chain = [(0, 0, 1), (1, 2, 2), (0, 0, 3)]
    assert sum(explore(chain, 5, seed, 200) for seed in range(3)) >= 6


@pytest.mark.soak
@settings(quick(400), derandomize=False)
@given(SHAPES, st.sampled_from([1, 2, 5, 1000]), st.integers(0, 2**32))
def test_complete_snapshots_are_consistent_at_length(
    shape: list[tuple[int, int, int]], epoch_rows: int, seed: int
) -> None:
    explore(shape, epoch_rows, seed, 400)
