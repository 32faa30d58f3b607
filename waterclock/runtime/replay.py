"""Executes recorded epochs of a vertex again, beside the store, and compares what they give.

What is needed to do it is what recovery needs: the snapshot after an epoch, and the intents behind it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from waterclock.catalog import Catalog
from waterclock.catalog.branch import branch
from waterclock.errors import ConfigError, RunError, StoreError
from waterclock.optimizer import Statistics, VertexPlan
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.store import Store
from waterclock.runtime.task import Program
from waterclock.runtime.vertex import VertexWorker


def replay(catalog: Catalog, plan: VertexPlan, first: int, last: int) -> int:
    """From the snapshot after epoch ``first`` (-1: from nothing) up to epoch ``last``; gives how many were executed.

    Nothing of the store is changed. Raises at the first epoch whose rows or whose last number differ.
    """
    vertex = plan.name
    if not any((each.name, each.identity) == (vertex, plan.identity) for each in catalog.epochs.vertices()):
        raise ConfigError("PLAN.CHANGED", name=vertex)
    if last <= first:
        return 0
    with tempfile.TemporaryDirectory(prefix="waterclock-replay-") as folder:
        store = Store(Catalog.scratch(Path(folder)), None)
        try:
            branch(catalog, store.catalog, vertex, first, last)
            declarations = {name: store.catalog.streams.get(name).declaration for name in plan.inputs}
            program = Program(folder, plan, declarations)
            worker = VertexWorker(store, program, InProcessRunner(), 1, None, Statistics())
            at = first
            while at < last:
                if not worker.turn():
                    raise RunError("RUN.INTERNAL", worker=f"replay of {vertex}", reason=f"it stands at epoch {at}")
                before, at = at, store.catalog.epochs.snapshot(vertex).epoch
                if at < before:  # which would find the same again
                    raise StoreError(
                        "STORE.DAMAGED", what=f"the state of {vertex!r}", reason=f"epoch {before + 1} cannot read it",
                        fix="Restore the store's files from a copy.",
                    )  # fmt: skip
        finally:
            store.close()
    return last - first
