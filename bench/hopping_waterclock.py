"""Hopping count and sum on Waterclock: drains the files in place, output kept as a stream of the store."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import polars as pl

import waterclock as wc
from bench.common import MASTER, arguments, hear, say, start
from bench.expected import HOP, SIZE, SLACK
from waterclock.catalog import Catalog
from waterclock.runtime.log import StreamReader


def declare(store: str, files: Any, epoch_rows: int) -> wc.App:
    app = wc.App("hopping", store, master=MASTER, epoch_rows=epoch_rows)
    events = app.stream(
        "events", {"key": int, "ts": "timestamp", "value": int, "payload": str}, time="ts", source=files,
        slack=f"{SLACK}us",
    )  # fmt: skip
    windows = events.group_by("key").hopping(f"{SIZE}us", f"{HOP}us", result="window")
    windows.agg(n=wc.count(), total=wc.sum(wc.col("value"))).into("out")
    return app


def main() -> None:
    given = arguments()
    from waterclock.connect.files import files

    store = given["store"]
    app = declare(store, files(given["files"]), given["epoch_rows"])
    Catalog.open(store, create=True).close()
    watcher = start(
        "bench.watch", {"store": store, "what": "commits", "stream": "events", "pause": 0.005}, Path(given["log"])
    )
    hear(watcher, "ready")
    before = time.time()
    handle = app.run(mode="drain")
    ready = time.time()
    handle.wait()
    ended = time.time()
    watcher.stdin.write("stop\n")  # type: ignore[union-attr]
    watcher.stdin.flush()  # type: ignore[union-attr]
    seen = hear(watcher, "commits")
    watcher.wait()
    status = handle.status().vertices[0]
    catalog = Catalog.open(store)
    rows = StreamReader(catalog, "out").read(0, catalog.streams.get("out").next)
    rows.select("key", "n", "total", start=pl.col("_vs")).write_parquet(given["target"])
    say(
        "result", commits=seen["commits"], started=seen["started"], startup=ready - before, ended=ended,
        epochs=status.epoch + 1, overhead=status.overhead, latency=status.latency,
    )  # fmt: skip


if __name__ == "__main__":
    main()
