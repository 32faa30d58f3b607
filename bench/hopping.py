"""Hopping count and sum by key over Parquet files: rows per second of the steady part."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from bench.common import MASTER, PROVIDERS, SPARK_SETTINGS, Section, Table, ratio, run, scratch, spread
from bench.data import DISORDER, PAYLOAD, Events, event_files
from bench.expected import closed_by, compare, hopping_answer, last_watermark


@dataclass(frozen=True)
class Sizes:
    events: Events
    epochs: tuple[int, ...]
    runs: int


FULL = Sizes(Events(), (500_000, 2_500_000), 3)
QUICK = Sizes(Events(rows=100_000, file_rows=10_000, keys=500), (20_000, 50_000), 1)


@dataclass
class Runs:
    """Rows per second of several runs of one engine with one setting."""

    rates: list[float] = field(default_factory=list)
    batch_rows: list[float] = field(default_factory=list)
    total: list[float] = field(default_factory=list)
    """Seconds from the first intent to the last commit with rows, warm-up included."""
    overhead: list[float] = field(default_factory=list)
    epoch: list[float] = field(default_factory=list)


def steady(commits: Sequence[tuple[float, int]], warm: int) -> tuple[float, float]:
    """Rows per second from the first commit at or behind ``warm`` rows to the last commit, and rows per commit."""
    counted = [(at, rows) for at, rows in commits if rows >= warm]
    (start, first), (end, last) = counted[0], counted[-1]
    if len(counted) < 2:
        raise ValueError("there is nothing behind the warm-up")
    return (last - first) / (end - start), (last - first) / (len(counted) - 1)


def waterclock_run(sizes: Sizes, epoch_rows: int, into: Runs) -> None:
    folder = event_files(sizes.events)
    with scratch() as here:
        result = run(
            "bench.hopping_waterclock",
            {"store": str(here / "store"), "files": str(folder / "in" / "*.parquet"), "epoch_rows": epoch_rows,
             "target": str(here / "found.parquet"), "log": str(here / "log.txt")},
            here, reads=[folder],
        )  # fmt: skip
        compare(pl.read_parquet(here / "found.parquet"), hopping_answer(sizes.events), f"waterclock {epoch_rows}")
    commits = [(float(at), int(rows)) for at, rows in result["commits"]]
    if commits[-1][1] != sizes.events.rows:
        raise ValueError(f"the watcher saw {commits[-1][1]} of {sizes.events.rows} rows committed")
    rate, rows = steady(commits, epoch_rows)
    into.rates.append(rate)
    into.batch_rows.append(rows)
    into.total.append(commits[-1][0] - result["started"])
    into.overhead.append(result["overhead"])
    into.epoch.append(result["latency"])


def spark_run(sizes: Sizes, epoch_rows: int, state: str, into: Runs) -> None:
    events = sizes.events
    folder = event_files(events)
    with scratch() as here:
        result = run(
            "bench.hopping_spark",
            {"folder": str(folder / "in"), "files": epoch_rows // events.file_rows, "state": state,
             "target": str(here / "out"), "checkpoint": str(here / "checkpoint")},
            here, reads=[folder],
        )  # fmt: skip
        wanted = closed_by(hopping_answer(events), last_watermark(folder))
        compare(pl.read_parquet(here / "out" / "*.parquet"), wanted, f"Structured Streaming {epoch_rows} {state}")
    commits = spark_commits(result, events.rows)
    rate, rows = steady(commits, epoch_rows)
    into.rates.append(rate)
    into.batch_rows.append(rows)
    into.total.append(commits[-1][0] - float(result["offsets"][0][1]))


def spark_commits(result: dict[str, Any], rows: int) -> list[tuple[float, int]]:
    """When each batch with rows was committed, and how many rows were taken by then."""
    taken = {int(p["batch"]): int(p["rows"]) for p in result["progress"] if p["rows"]}
    if sum(taken.values()) != rows:
        raise ValueError(f"progress names {sum(taken.values())} of {rows} rows")
    at = {int(batch): float(time) for batch, time in result["commits"]}
    commits: list[tuple[float, int]] = []
    for batch in sorted(taken):  # batches without rows come behind the last of these and are left out
        commits.append((at[batch], taken[batch] + (commits[-1][1] if commits else 0)))
    return commits


def polars_run(sizes: Sizes) -> float:
    folder = event_files(sizes.events)
    with scratch() as here:
        given = {"files": str(folder / "in" / "*.parquet"), "target": str(here / "found.parquet")}
        result = run("bench.hopping_polars", given, here, reads=[folder])
        compare(pl.read_parquet(here / "found.parquet"), hopping_answer(sizes.events), "polars")
    return sizes.events.rows / float(result["seconds"])


def measure(sizes: Sizes, tell: Callable[[str], None], kept: dict[str, Any]) -> Section:
    tell("hopping: making the files and the reference answer")
    hopping_answer(sizes.events)
    floor = [polars_run(sizes) for _ in range(sizes.runs)]
    tell(f"hopping: polars floor {spread(floor)} rows/s")
    table = Table(["epoch rows", "system", "rows/s", "rows per commit", "all rows, s", "runs"])
    table.rows.append(["-", "floor: Polars in one process, batch", spread(floor), "-", "-", str(sizes.runs)])
    summary: list[list[str]] = []
    for epoch_rows in sizes.epochs:
        ours, theirs = Runs(), {state: Runs() for state in PROVIDERS}
        for _ in range(sizes.runs):  # by turns, so that a slow minute of the machine hits all alike
            waterclock_run(sizes, epoch_rows, ours)
            tell(f"hopping: waterclock, epochs of {epoch_rows}: {ours.rates[-1]:,.0f} rows/s")
            for state, runs in theirs.items():
                spark_run(sizes, epoch_rows, state, runs)
                tell(f"hopping: Structured Streaming, {state}, {epoch_rows}: {runs.rates[-1]:,.0f} rows/s")
        kept[f"hopping {epoch_rows}"] = {"overhead": ours.overhead, "epoch": ours.epoch}
        best = max(theirs, key=lambda state: statistics.median(theirs[state].rates))
        for name, runs in {"Waterclock": ours, **{f"Structured Streaming, {s}": r for s, r in theirs.items()}}.items():
            table.rows.append(
                [f"{epoch_rows:,}", name, spread(runs.rates), spread(runs.batch_rows), spread(runs.total, 2),
                 str(len(runs.rates))]
            )  # fmt: skip
        summary.append(
            [f"hopping, {epoch_rows:,}-row epochs, rows/s", spread(ours.rates),
             f"{spread(theirs[best].rates)} ({best})", ratio(ours.rates, theirs[best].rates)]
        )  # fmt: skip
        share = f"{statistics.median(ours.rates) / statistics.median(floor):.0%} of the floor"
        summary.append([f"hopping, {epoch_rows:,}-row epochs, against the floor (Polars, batch)", spread(ours.rates),
                        f"(floor) {spread(floor)}", share])  # fmt: skip
    return Section("hopping", "Hopping count and sum", table, _settings(sizes), NOTES, summary)


def _settings(sizes: Sizes) -> list[str]:
    events = sizes.events
    return [
        f"input: {events.rows:,} rows of {24 + PAYLOAD} bytes (key bigint of {events.keys:,} uniform keys, ts "
        f"timestamp "
        f"in µs, value bigint, payload of {PAYLOAD} characters), {events.seconds} s of event time, out of order "
        f"by up to "
        f"{2 * DISORDER / 1e6:g} s, Parquet (snappy), {events.file_rows:,} rows a file, the same files for all, in the "
        "page cache",
        "query: count(*) and sum(value) by key, windows of 10 s every 5 s; lateness allowance 1 s on both sides",
        f"Waterclock: drain mode on {MASTER}, files read in place, output kept as a stream of the store, epoch_rows as "
        "in the table, everything else at its default",
        f"Structured Streaming: {MASTER}, file source with maxFilesPerTrigger for the same rows per batch, "
        "trigger availableNow, append mode, Parquet file sink, checkpoint on the same disk; "
        + ", ".join(f"{name}={value}" for name, value in SPARK_SETTINGS.items()),
        "state stores: rocksdb (with changelog checkpointing) and in-memory (the default HDFS-backed one); the "
        "ratio is "
        "to the better one",
    ]


NOTES = [
    "rows/s is wall clock: rows between the commit of the first batch (warm-up, at least one batch) and the "
    "commit of the last "
    "batch with rows, divided by the time between these two commits",
    "commit times are taken outside the engines: Waterclock's by another process that looks into the catalog "
    "every 20 ms; "
    "Structured Streaming's are the modification times of the files in its checkpoint's commits folder",
    "not included: start of Python, JVM and session, the first batch, and what closes the last windows behind the last "
    "rows (Structured Streaming's last batch without rows; Waterclock's end of stream, unless it falls into the "
    "last epoch)",
    "included: reading and decoding the files, state, its checkpoints, output written and committed exactly once",
    "a commit is visible, not necessarily synced to disk: Waterclock syncs behind the commits; whether Structured "
    "Streaming does was not checked",
    "Waterclock takes what is there, up to epoch_rows: rows per commit says what its epochs really had",
    "every run's output was compared with the reference; Structured Streaming never emits the windows that its last "
    "watermark leaves open, so it has the last windows less to write",
]
