"""Executes recorded epochs of a vertex again, beside the store, and compares what they give.

What is needed to do it is what recovery needs: the snapshot after an epoch, and the intents behind it.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import polars as pl

from waterclock.catalog import Catalog, Intent, Snapshot
from waterclock.catalog.branch import branch, in_place
from waterclock.errors import ConfigError, RunError, StoreError
from waterclock.hashing import SPACE
from waterclock.operators.registry import operator_of
from waterclock.optimizer import Statistics, VertexPlan
from waterclock.runtime.files import decoded
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.log import StreamReader
from waterclock.runtime.pieces import Pieces, pieces_of
from waterclock.runtime.recovery import beyond_repair
from waterclock.runtime.store import Store
from waterclock.runtime.task import Program, Report, Step
from waterclock.runtime.vertex import VertexWorker
from waterclock.state import Table, in_order, live_in
from waterclock.state.table import ID
from waterclock.storage import Damaged
from waterclock.time import BEGINNING

Keys = Mapping[int, tuple[int, int]]
"""By stage: the range of keys of one of its tasks."""


@contextmanager
def readable(vertex: str, changed: bool = False) -> Iterator[None]:
    """What cannot be read is damaged; or, of a plan that has changed, the state of another one."""
    try:
        yield
    except Damaged as damage:
        raise beyond_repair(damage) from None
    except pl.exceptions.PolarsError as error:
        if not changed:
            raise
        raise ConfigError("PLAN.UNLIKE_STATE", vertex=vertex) from error


class Unmended(InProcessRunner):
    """Damage is said: what it needs to be mended is not here."""

    def run(self, program: Program, step: Step, following: Step | None = None) -> list[Report]:
        with readable(program.plan.name):
            return super().run(program, step)


class Closing(ABC):
    """After ``with`` it is closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...


class Replay(Closing):
    """A vertex that stands behind epoch ``first`` (-1: nothing) and can go on to ``last``. The store is not changed."""

    def __init__(
        self, catalog: Catalog, plan: VertexPlan, first: int, last: int, *, check: bool = True,
        names: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.vertex = plan.name
        self.plan = plan
        self.last = last
        self._changed = bool(names)
        self._folder = tempfile.TemporaryDirectory(prefix="waterclock-replay-")
        self._store = Store(Catalog.scratch(Path(self._folder.name)), None)
        try:
            scratch, places = self._store.catalog, in_place(catalog.root)
            branch(catalog, scratch, plan.name, first, last, places, names=names, check=check)
            self.snapshot = scratch.epochs.snapshot(plan.name)
            if self._changed:
                self.state()  # of another plan it may not fit, which a run would notice late or never
        except BaseException:
            self.close()
            raise
        declarations = {name: self._store.catalog.streams.get(name).declaration for name in plan.inputs}
        program = Program(self._folder.name, plan, declarations)
        self._worker = VertexWorker(self._store, program, Unmended(), 1, None, Statistics())

    def close(self) -> None:
        self._store.close()
        self._folder.cleanup()

    def step(self) -> Snapshot:
        """Executes the next epoch."""
        before = self.snapshot
        while self.snapshot.epoch == before.epoch:
            with readable(self.vertex, self._changed):
                worked = self._worker.turn()
            if not worked:
                reason = f"it stands at epoch {before.epoch}"
                raise RunError("RUN.INTERNAL", worker=f"replay of {self.vertex}", reason=reason)
            self.snapshot = self._store.catalog.epochs.snapshot(self.vertex)
        if self.snapshot.epoch < before.epoch:  # which would find the same again
            raise StoreError(
                "STORE.DAMAGED", what=f"the state of {self.vertex!r}",
                reason=f"epoch {before.epoch + 1} cannot read it", fix="Restore the store's files from a copy.",
            )  # fmt: skip
        return self.snapshot

    def input(self, stream: str, start: int, end: int) -> pl.DataFrame:
        with readable(self.vertex):
            return StreamReader(self._store.catalog, stream).read(start, end)

    def output(self) -> pl.DataFrame:
        """Of the last epoch."""
        end, rows = self.snapshot.output_end, self.snapshot.output_rows
        return StreamReader(self._store.catalog, self.vertex).read(end - rows, end)

    def state(self, keys: Keys | None = None) -> dict[str, dict[str, pl.DataFrame]]:
        """What is remembered now, by stateful node and table."""
        with readable(self.vertex, self._changed):
            return state_of(self._store.catalog, self.plan, self.snapshot, keys=keys)

    def pieces(self, intent: Intent) -> Pieces:
        """What each reading task of an epoch takes."""
        return pieces_of(self._store.catalog, intent)[0]


def state_of(
    catalog: Catalog, plan: VertexPlan, at: Snapshot, names: Mapping[str, str] | None = None, keys: Keys | None = None
) -> dict[str, dict[str, pl.DataFrame]]:
    """The live rows after an epoch, by stateful node of the plan and table; ``names``: what the catalog calls nodes,
    ``keys``: only the nodes of these stages, and only these keys."""
    runs = [run for _, run in catalog.epochs.runs(plan.name, at.epoch)]
    found: dict[str, dict[str, pl.DataFrame]] = {}
    for node in plan.nodes:
        if keys is not None and node.stage not in keys:
            continue
        called = (names or {}).get(node.id, node.id)
        mine = tuple(run for run in runs if run.operator == called)
        operator = operator_of(node.node)
        for spec in operator.tables:
            low = at.lows.get(f"{called}:{spec.name}", BEGINNING)
            part = (0, SPACE) if keys is None or spec.shared else keys[node.stage]
            blobs = [run.blob for run in live_in(mine, spec.name, part)]
            live = Table(decoded(str(catalog.root), blobs), part, low, spec.mortal, at.epoch).all()
            if live is not None:
                whole = operator.fold(spec.name, in_order(live))  # a sum may lie in parts in several runs
                found.setdefault(node.id, {})[spec.name] = whole.drop(ID, strict=False)
    return found


def replay(catalog: Catalog, plan: VertexPlan, first: int, last: int) -> int:
    """From the snapshot after epoch ``first`` (-1: from nothing) up to epoch ``last``; gives how many were executed.

    Raises at the first epoch whose rows or whose last number differ.
    """
    if not any((each.name, each.identity) == (plan.name, plan.identity) for each in catalog.epochs.vertices()):
        raise ConfigError("PLAN.CHANGED", name=plan.name)
    if last <= first:
        return 0
    with Replay(catalog, plan, first, last) as again:
        while again.snapshot.epoch < last:
            again.step()
    return last - first
