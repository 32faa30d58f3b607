"""The program that the crash tests start, kill and start again.

A source whose events are a pure function of their number feeds two vertices, one behind the other, with every kind
of maintenance happening often, so that each crash point is reached many times.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["POLARS_MAX_THREADS"] = "1"  # two programs run at a time

import polars as pl

import waterclock as wc
from waterclock import crashpoints
from waterclock.catalog.epochs import Epochs
from waterclock.connect.base import Chunk
from waterclock.runtime import files, keeper
from waterclock.streams import Declaration

CHUNKS = 40
ROWS = 50
EVERY_EPOCH = wc.checkpoint(epochs=1)
"""So that trimming and compaction, which wait for it, happen in a short run."""


def rows(chunk: int) -> pl.DataFrame:
    numbers = [chunk * ROWS + i for i in range(ROWS)]
    return pl.DataFrame(
        {
            "user": [f"u{(n * 7919) % 13}" for n in numbers],
            "amount": [(n * 104729) % 1000 - 500 for n in numbers],
            "ts": [n * 10_000 - (n * 31) % 300_000 for n in numbers],
            "until": [None if n % 97 == 0 else n * 10_000 + 1 + (n * 13) % 700_000 for n in numbers],
        },
        schema={"user": pl.String, "amount": pl.Int64, "ts": pl.Int64, "until": pl.Int64},
    )


@dataclass
class Numbered:
    """Chunk after chunk; position is the next one."""

    def open(self, declaration: Declaration, position: Any) -> Numbered:
        self.next = position or 0
        self.finished = self.waiting = False
        return self

    def poll(self, cti: int, now: int) -> Chunk | None:
        if self.next >= CHUNKS:
            self.finished = True
            return None
        self.next += 1
        return Chunk(self.next, f"chunk {self.next - 1}", rows(self.next - 1))

    def close(self) -> None:
        pass


def build(store: str, sink: str, **options: Any) -> wc.App:
    app = wc.App("crash", store, epoch_rows=170, **options)
    events = app.stream(
        "events",
        {"user": str, "amount": int, "ts": "bigint", "until": "bigint"},
        time="ts",
        end="until",
        source=Numbered(),
        slack=400_000,
        late="fail",
        retention=2_000_000,
    )
    amount = wc.col("amount")
    shown = events.filter(amount > -300).clip_join(events.filter(amount > 450), on="user")  # state that is removed
    shown = shown.anti_join(events.filter(amount < -450), on="user")  # and time that is held back
    big = shown.group_by("user").hopping("1s", "500ms", result="window")
    big.agg(n=wc.count(), total=wc.sum("amount"), top=wc.max("amount")).into("per_user", recovery=EVERY_EPOCH)
    totals = app.read("per_user").filter(wc.col("n") > 1).tumbling("2s").agg(users=wc.count(), n=wc.sum("n"))
    totals.to(wc.jsonl(sink), name="totals", recovery=EVERY_EPOCH)
    return app


def preload(app: wc.App) -> None:
    log = app._log("events")
    source = Numbered().open(log.row.declaration, log.row.position)
    while (chunk := source.poll(0, 0)) is not None:
        log.append(chunk)


def child(log: Path, crash: str | None, arguments: Sequence[str]) -> None:
    """In a process of its own: all it says goes to ``log``."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.pop("WATERCLOCK_CRASH", None)
    if crash is not None:
        os.environ["WATERCLOCK_CRASH"] = crash  # for Spark's workers
    crashpoints.arm(crash)
    main(arguments)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("sink")
    parser.add_argument("--mode", default="offline")
    parser.add_argument("--catalog", help="the URL of a database; otherwise SQLite")
    parser.add_argument(
        "--preload", action="store_true", help="take all input first: epochs are then cut alike in every run"
    )
    parser.add_argument("--never-sync", action="store_true", help="epochs are committed and never become durable")
    args = parser.parse_args(arguments)
    # Small limits, so that files of their own, merges, compaction and trimming all happen in a short run.
    files.INLINE = 600
    keeper.GROUP = 3
    keeper.Keeper.__init__.__defaults__ = (0.0, 0.0)
    app = build(args.store, args.sink, catalog=args.catalog, master="local[2,4]")
    if args.preload:
        preload(app)
        Epochs.forget = lambda *_: None  # type: ignore[method-assign]  # the test reads every epoch's digest
    if args.never_sync:
        keeper.Keeper.sync = lambda *_, **__: False  # type: ignore[method-assign]
    handle = app.run(mode=args.mode)
    handle.wait()
