"""Five programs with and without the optimizer: what goes through exchanges, and how long they take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import polars as pl

from bench.algebra import output
from bench.common import MASTER, Section, Table, ratio, run, scratch, spread
from bench.data import PAYLOAD, Events, event_files
from bench.expected import compare
from bench.optimizer_waterclock import PROGRAMS, inputs, outputs

MB = 1e6
WAYS = {True: "with", False: "without"}


@dataclass(frozen=True)
class Sizes:
    events: Events
    """Of each stream."""
    epoch_rows: int
    runs: int


FULL = Sizes(Events(rows=1_000_000, file_rows=50_000, seed=31), 250_000, 3)
QUICK = Sizes(Events(rows=20_000, file_rows=2_000, keys=1_000, seconds=20, seed=31), 5_000, 1)


@dataclass
class Runs:
    rows: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    """Bytes."""
    seconds: list[float] = field(default_factory=list)


def one_run(sizes: Sizes, program: str, optimize: bool, into: Runs) -> dict[str, pl.DataFrame]:
    """The outputs, to be compared."""
    with scratch() as here:
        result = run(
            "bench.optimizer_waterclock",
            {"program": program, "optimize": optimize, "files": files(sizes), "epoch_rows": sizes.epoch_rows,
             "store": str(here / "store"), "log": str(here / "log.txt")},
            here,
        )  # fmt: skip
        into.rows.append(result["sent_rows"])
        into.sent.append(result["sent_bytes"])
        into.seconds.append(result["ended"] - result["ready"])
        return {name: output(here / "store", name) for name in outputs(program)}


def files(sizes: Sizes) -> dict[str, str]:
    two = {"a": sizes.events, "b": replace(sizes.events, seed=sizes.events.seed + 1)}
    return {name: str(event_files(events) / "in" / "*.parquet") for name, events in two.items()}


def measure(sizes: Sizes, tell: Callable[[str], None]) -> Section:
    tell("optimizer: making the files")
    files(sizes)
    table = Table(["program", "optimizer", "rows through exchanges", "MB through exchanges", "s", "runs"])
    summary: list[list[str]] = []
    for program in PROGRAMS:
        runs = {optimize: Runs() for optimize in WAYS}
        for _ in range(sizes.runs):  # by turns, so that a slow minute of the machine hits both alike
            found = {optimize: one_run(sizes, program, optimize, runs[optimize]) for optimize in WAYS}
            for name, rows in found[True].items():
                compare(rows, found[False][name], f"optimizer, {program}, {name}")
        for optimize, way in WAYS.items():
            one = runs[optimize]
            table.rows.append([program, way, spread(one.rows), spread(one.sent, 1, 1 / MB), spread(one.seconds, 2),
                               str(len(one.rows))])  # fmt: skip
        with_it, without = runs[True], runs[False]
        tell(f"optimizer: {program}: {spread(with_it.seconds, 2)} s with, {spread(without.seconds, 2)} s without")
        figures = {"MB through exchanges": ([n / MB for n in with_it.sent], [n / MB for n in without.sent]),
                   "s": (with_it.seconds, without.seconds)}  # fmt: skip
        for what, (mine, other) in figures.items():
            summary.append([f"optimizer, {program}, {what}", spread(mine, 2), f"(without) {spread(other, 2)}",
                            ratio(other, mine)])  # fmt: skip
    return Section("optimizer", "The optimizer", table, _settings(sizes), NOTES, summary)


def _settings(sizes: Sizes) -> list[str]:
    events = sizes.events
    return [
        f"input: one or two streams of {events.rows:,} rows of {24 + PAYLOAD} bytes as for hopping ({events.keys:,} "
        f"keys, {events.seconds} s of event time), each event lives 500 ms",
        *(f"{name} ({' and '.join(inputs(name))}): {' '.join(text.split())}" for name, text in PROGRAMS.items()),
        f"Waterclock: drain mode on {MASTER}, epochs of {sizes.epoch_rows:,} rows of each input; everything else at "
        "its default but optimize=False where the table says without",
    ]


NOTES = [
    "rows and bytes through exchanges: what went from a stage of an epoch to a later one, here between threads; "
    "aggregates are folded before they are sent, so it depends a little on how epochs were cut",
    "s is wall clock from the start of the engine, on a Spark that is there, to the end of the run",
    "the outputs with and without were compared, all columns of them",
]
