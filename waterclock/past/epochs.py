"""Which epochs of a vertex can be executed again, and with which plan."""

from __future__ import annotations

from dataclasses import dataclass

from waterclock.catalog import Catalog, Making, Vertex
from waterclock.declared import Declared, making_of
from waterclock.errors import ConfigError, StoreError, did_you_mean
from waterclock.optimizer import VertexPlan
from waterclock.past import bundle


@dataclass(frozen=True)
class Recorded:
    """A vertex of a store, as its program describes it now."""

    catalog: Catalog
    plan: VertexPlan
    bases: range
    """Its state after any of these epochs is there (-1: none yet)."""
    last: int
    """The newest epoch."""
    packed: bool
    """It is one of a bundle."""

    @property
    def vertex(self) -> str:
        return self.plan.name

    @property
    def first(self) -> int:
        """The oldest epoch that can be executed."""
        return self.bases.start + 1

    def base_of(self, epoch: int) -> int:
        """The nearest epoch before it to start from."""
        if not self.first <= epoch <= self.last:
            raise self.missing(epoch)
        return min(epoch - 1, self.bases.stop - 1)

    def missing(self, epoch: int) -> StoreError:
        """Why it cannot be executed."""
        code = "NOT_IN_BUNDLE" if self.packed else "NEVER_WAS" if epoch > self.last else "NO_EPOCH"
        return StoreError(f"STORE.{code}", epoch=epoch, vertex=self.vertex, have=self.have)

    def epoch_of(self, row: int) -> int:
        """The epoch that gave a row of the output."""
        for epoch, snapshot in self.catalog.epochs.history(self.vertex, self.bases.start):
            if snapshot.output_end - snapshot.output_rows <= row < snapshot.output_end:
                return epoch
        raise StoreError("STORE.NO_ROW", row=row, vertex=self.vertex, have=self.have)

    @property
    def have(self) -> str:
        if self.last < self.first:
            return "no epoch of it is recorded here"
        if self.last == self.first:
            return f"epoch {self.first} can be executed again"
        return f"epochs {self.first} to {self.last} can be executed again"

    def changed(self, epoch: int) -> tuple[Making, Making]:
        """With what the epoch was made, and with what it would be now."""
        now = making_of(self.plan)
        return self.catalog.makings.at(self.vertex, epoch) or now, now

    def names(self, epoch: int) -> dict[str, str]:
        """Stateful nodes that had another identity then, and what they are called now."""
        then, now = self.changed(epoch)
        if len(then.nodes) != len(now.nodes):
            raise ConfigError("PLAN.UNLIKE", vertex=self.vertex, then=len(then.nodes), now=len(now.nodes))
        return {old: new for old, new in zip(then.nodes, now.nodes, strict=True) if old != new}


def recorded(app: Declared, catalog: Catalog, vertex: str | None = None) -> list[Recorded]:
    """The vertices of an app that a store knows; or the one that is named."""
    plans, every, there = app.plans(catalog), catalog.epochs.vertices(), bundle.about(catalog.root)
    known = {each.name: each for each in every if each.app == app.name and each.name in plans}
    store = catalog.root if there is None else there.path
    apps = ", ".join(sorted({each.app for each in every} - {app.name}))
    others = f" It has results of: {apps}." if apps and not known else ""
    if vertex is not None and vertex not in known:
        choices, guess = ", ".join(known) or "none", did_you_mean(vertex, list(known))
        raise ConfigError(
            "STORE.NO_VERTEX", name=vertex, app=app.name, store=store, choices=choices, guess=guess, others=others
        )
    if not known:
        raise ConfigError("STORE.NOTHING_RECORDED", app=app.name, store=store, others=others)
    found: list[Recorded] = []
    for name, each in known.items():
        if vertex in (None, name):
            _check_inputs(plans[name], each)
            bases = range(there.base, there.base + 1) if there else range(catalog.epochs.oldest(name), each.epoch + 1)
            found.append(Recorded(catalog, plans[name], bases, each.epoch, there is not None))
    return found


def _check_inputs(plan: VertexPlan, then: Vertex) -> None:
    if set(plan.inputs) != set(then.inputs):
        told = {"now": ", ".join(sorted(plan.inputs)), "then": ", ".join(sorted(then.inputs))}
        raise ConfigError("PLAN.UNLIKE_INPUT", vertex=plan.name, **told)
