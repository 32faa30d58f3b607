"""Which epochs of a vertex can be executed again, and with which plan."""

from __future__ import annotations

from dataclasses import dataclass

from waterclock.catalog import Catalog, Making
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
            raise StoreError("STORE.NO_EPOCH", epoch=epoch, vertex=self.vertex, have=self.have)
        return min(epoch - 1, self.bases.stop - 1)

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
    plans = app.plans(catalog)
    known = {each.name: each for each in catalog.epochs.vertices() if each.app == app.name and each.name in plans}
    if vertex is not None and vertex not in known:
        choices, guess = ", ".join(known) or "none", did_you_mean(vertex, list(known))
        raise ConfigError(
            "STORE.NO_VERTEX", name=vertex, app=app.name, store=catalog.root, choices=choices, guess=guess
        )
    found: list[Recorded] = []
    for name, each in known.items():
        if vertex in (None, name):
            packed = bundle.base_of(catalog.root)
            bases = range(catalog.epochs.oldest(name), each.epoch + 1) if packed is None else range(packed, packed + 1)
            found.append(Recorded(catalog, plans[name], bases, each.epoch))
    return found
