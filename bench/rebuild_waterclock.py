"""Makes a store with a join whose last checkpoint lies behind, takes state of some key ranges away, and rebuilds it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import waterclock as wc
from bench.common import MASTER, arguments, say
from bench.data import BASE, TICK_MS, Load
from bench.loss import destroy, fresh
from bench.recovery_sender import rows
from waterclock.catalog import Catalog
from waterclock.hashing import SPACE, ranges
from waterclock.launch import _vertex, runner_of
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.rebuild import rebuild
from waterclock.runtime.recovery import check_tail
from waterclock.runtime.runner import Runner
from waterclock.runtime.store import Store

RANGES = 8


def declare(store: Path, lives: Sequence[int], epoch_rows: int) -> tuple[wc.App, list[wc.SourceStream]]:
    app = wc.App("rebuild", store, master=MASTER, epoch_rows=epoch_rows)
    left, right = (
        app.stream(name, {"key": int, "ts": "timestamp", "payload": str}, time="ts", duration=f"{life}s")
        for name, life in zip(("left", "right"), lives, strict=True)
    )
    left.join(right, on="key").into("out", recovery=wc.checkpoint("1h"))
    return app, [left, right]


def make(store: Path, load: Load, given: dict[str, Any]) -> None:
    """Seconds of input until the checkpoint, an epoch each, and then ``behind`` more, of which no state is synced."""
    app, streams = declare(store, given["lives"], load.rate)
    app.run(mode="offline")
    catalog = Catalog.open(store)
    catalog.epochs.set_tasks("out", RANGES)
    catalog.close()
    second = 1000 // TICK_MS
    saving, closing = Keeper._is_due, Keeper.close
    for first, last in ((0, given["base"]), (given["base"], given["base"] + given["behind"])):
        for at in range(first, last):
            for number, stream in enumerate(streams):
                part = at * second, (at + 1) * second
                stream.push(rows(load, given["match"], bool(number), *part, BASE // 1000))
        app.run(mode="offline")
        Keeper._is_due = lambda *_: False  # type: ignore[method-assign]
        Keeper.close = Keeper.sync  # type: ignore[method-assign, assignment]
    Keeper._is_due, Keeper.close = saving, closing  # type: ignore[method-assign]


def measure(store: Path, given: dict[str, Any], lost: int, runner: Runner) -> dict[str, float]:
    app, _ = declare(store, given["lives"], wc.App("default").epoch_rows)
    catalog = Catalog.open(store)
    borders = ranges(RANGES)[:lost]
    hit = [
        run.blob
        for run in fresh(catalog, catalog.epochs.get("out"))
        if any(run.least_hash < high and low <= run.greatest_hash for low, high in borders)
    ]
    destroyed = destroy(store, hit)
    held = Store(catalog, None)
    plan = app._declared.plans(catalog)["out"]
    began = time.perf_counter()
    check_tail(held, plan)
    checked = time.perf_counter()
    keys = catalog.epochs.get("out").lost or ()
    worker = _vertex(app._declared, held, plan, runner)
    started = time.perf_counter()
    rebuild(held, worker.program, runner, worker._split, worker.max_rows)
    done = time.perf_counter()
    if not keys or catalog.epochs.get("out").lost is not None:
        raise RuntimeError("there was nothing to rebuild, or it was not rebuilt")
    held.close()
    share = sum(high - low for low, high in keys) / SPACE
    return {"lost": lost, "check": checked - began, "rebuild": done - started, "share": share, "bytes": destroyed}


def _link_streams(source: str, target: str) -> None:
    """Streams are only read here; state is destroyed."""
    (os.link if "streams" in Path(source).parts else shutil.copy2)(source, target)


def main() -> None:
    given = arguments()
    here, load = Path(given["folder"]), Load(**given["load"])
    make(here / "store", load, given)
    app, _ = declare(here / "store", given["lives"], load.rate)
    runner = runner_of(app._declared, given["mode"])
    found: list[dict[str, float]] = []
    for number, lost in enumerate([given["lost"][0], *given["lost"] * given["runs"]]):
        copy = here / f"copy{number}"
        shutil.copytree(here / "store", copy, copy_function=_link_streams)
        figures = measure(copy, given, lost, runner)
        found += [figures] if number else []  # the first one is warm-up
        shutil.rmtree(copy)
    runner.close()
    say("result", found=found)


if __name__ == "__main__":
    main()
