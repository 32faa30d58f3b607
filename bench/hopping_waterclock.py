"""Hopping count and sum on Waterclock: drains the files in place, output kept as a stream of the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

import waterclock as wc
from bench.common import MASTER, arguments, say
from bench.drain import drain
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
    store = given["store"]
    seen = drain(declare(store, wc.files(given["files"]), given["epoch_rows"]), Path(given["log"]))
    catalog = Catalog.open(store)
    rows = StreamReader(catalog, "out").read(0, catalog.streams.get("out").next)
    rows.select("key", "n", "total", start=pl.col("_vs")).write_parquet(given["target"])
    say("result", **seen)


if __name__ == "__main__":
    main()
