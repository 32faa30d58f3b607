"""What an app has declared, and the plans that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import polars as pl

from waterclock.catalog import Catalog, Making
from waterclock.catalog.leases import app_lease
from waterclock.connect.base import Sink, Source
from waterclock.optimizer import Statistics, VertexPlan, cut, optimize, share
from waterclock.optimizer.cycles import longest
from waterclock.optimizer.lives import POINT, Life
from waterclock.plan import Node, codes_of, user_code
from waterclock.plan.strategy import Strategy
from waterclock.runtime.barriers import Snapshots
from waterclock.runtime.metrics.alerts import Alerts
from waterclock.streams import Declaration
from waterclock.time import FOREVER
from waterclock.usercode.libraries import libraries_of


@dataclass(frozen=True)
class Declared:
    """All that an app has said until now; its fields are those of ``App``."""

    name: str
    store: str
    catalog: str | None
    streams: Mapping[str, tuple[Declaration, Source | None]]
    tables: Mapping[str, tuple[Declaration, pl.DataFrame]]
    outputs: Mapping[str, tuple[VertexPlan, Sink | None]]
    recovery: Mapping[str, Strategy]
    retentions: Mapping[str, int]
    """Of outputs that are not kept for ever."""
    optimize: bool
    statistics: Statistics
    epoch_rows: int
    tasks: int | None
    master: str
    spark: Mapping[str, str]
    alerts: Alerts
    metrics_port: int | None
    lease_micros: int
    duplicate_slow: bool
    snapshots: Snapshots
    history: int
    attached: Mapping[str, int | str]
    """Streams of other apps, and where to begin: ``beginning``, ``now``, or a time."""

    @property
    def lease(self) -> str:
        return app_lease(self.name)

    def open(self) -> Catalog:
        return Catalog.open(self.store, create=True, url=self.catalog)

    def vertices(self, catalog: Catalog) -> dict[str, tuple[str, ...]]:
        """Those of the app that the store knows, and what they read."""
        return {vertex.name: vertex.inputs for vertex in catalog.epochs.vertices() if vertex.app == self.name}

    def parts(self, known: Mapping[str, tuple[str, ...]]) -> dict[str, Node]:
        """The outputs as they are written, but for what they read from streams that they share, and these streams."""
        roots = {name: plan.root for name, (plan, _) in self.outputs.items()}
        if not self.optimize:
            return roots
        shared = share(roots, known, self.statistics)
        return shared.streams | shared.outputs

    def plans(self, catalog: Catalog) -> dict[str, VertexPlan]:
        """What runs: optimized, and computed once where outputs share it."""
        return {name: self.cut(name, root) for name, root in self.parts(self.vertices(catalog)).items()}

    def cut(self, name: str, root: Node) -> VertexPlan:
        return cut(name, self.optimized(root), in_place=self.optimize)

    def optimized(self, root: Node) -> Node:
        return optimize(root) if self.optimize else root


def making_of(plan: VertexPlan) -> Making:
    codes = {code.name: code for found in user_code(plan.root) for code in codes_of(found)}
    digests = {name: code.digest for name, code in codes.items()}
    libraries = {"waterclock": version("waterclock"), **libraries_of(codes.values())}
    return Making(digests, libraries, tuple(node.id for node in plan.nodes))


def lives_of(streams: Mapping[str, tuple[Declaration, Any]], outputs: Mapping[str, Node]) -> dict[str, Life]:
    """Of declared streams and of outputs, each of which reads those before it."""
    found: dict[str, Life] = {}
    for name, (declaration, _) in streams.items():
        found |= {side: _declared(declaration) for side in declaration.side_streams()}
        found |= {name: _declared(declaration), declaration.bad_stream: POINT}
    for name, root in outputs.items():
        found[name] = longest(name, root, found)
    return found


def _declared(declaration: Declaration) -> Life:
    if declaration.end is not None:
        return Life(None, f"column {declaration.end} of {declaration.name} says (null: for ever)")
    return Life(FOREVER if declaration.static else declaration.duration)
