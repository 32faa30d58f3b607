"""Figure 6 of the paper on asynchronous barrier snapshots: their cost by interval, against stopping the world."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench import plot
from bench.common import MASTER, Section, Table, run, scratch, spread
from bench.data import PAIR_PAYLOAD, Pairs, pair_files
from bench.expected import SLACK

KINDS = {"asynchronous": False, "synchronous": True}


@dataclass(frozen=True)
class Sizes:
    pairs: Pairs
    lives: tuple[int, int]
    """Seconds of event time that events of the left and of the right live: the state."""
    groups: int
    window: int
    epoch_rows: int
    intervals: tuple[float, ...]
    """Seconds between snapshots."""
    runs: int


FULL = Sizes(Pairs(rows=8_000_000, seconds=9_600), (4_800, 60), 100_000, 60, 100_000, (0.5, 1.0, 2.0, 5.0), 3)
QUICK = Sizes(Pairs(rows=24_000, file_rows=2_000), (600, 60), 100, 60, 2_000, (0.5,), 1)


@dataclass
class Runs:
    seconds: list[float] = field(default_factory=list)
    snapshots: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    state: list[float] = field(default_factory=list)

    def add(self, result: dict[str, Any]) -> None:
        self.seconds.append(result["seconds"])
        self.snapshots.append(result["snapshots"])
        self.waits += result["waits"]
        self.state.append(result["state"])


def waterclock_run(sizes: Sizes, every: float | None, synchronous: bool) -> dict[str, Any]:
    folder = pair_files(sizes.pairs)
    with scratch() as here:
        return run(
            "bench.snapshots_waterclock",
            {"inputs": [str(folder / side / "*.parquet") for side in ("left", "right")], "lives": sizes.lives,
             "groups": sizes.groups, "window": sizes.window, "epoch_rows": sizes.epoch_rows,
             "every": None if every is None else f"{round(every * 1000)}ms", "synchronous": synchronous,
             "store": str(here / "store"), "log": str(here / "log.txt")},
            here,
        )  # fmt: skip


def overheads(seconds: list[float], base: list[float]) -> list[float]:
    """In percent of the median without snapshots."""
    return [100 * (each / statistics.median(base) - 1) for each in seconds]


def measure(sizes: Sizes, tell: Callable[[str], None]) -> Section:
    tell("snapshots: making the files")
    pair_files(sizes.pairs)
    none = Runs()
    found: dict[tuple[str, float | None], Runs] = {(kind, every): Runs() for every in sizes.intervals for kind in KINDS}
    every_one = {("none", None): none, **found}
    rows: set[int] = set()
    for _ in range(sizes.runs):  # by turns, so that a slow minute of the machine hits all alike
        for (kind, every), runs in every_one.items():
            result = waterclock_run(sizes, every, KINDS.get(kind, False))
            runs.add(result)
            rows.add(result["rows"])
            tell(f"snapshots: {kind}, every {every} s: {result['seconds']:.2f} s, {result['snapshots']} snapshots")
    if len(rows) != 1:
        raise ValueError(f"the runs differ in their output: {sorted(rows)} rows")
    table = Table(["snapshots", "every, s", "run time, s", "overhead, %", "snapshots begun", "until complete, s",
                   "largest state, MB", "runs"])  # fmt: skip
    for (kind, interval), runs in every_one.items():
        table.rows.append(
            [kind, "-" if interval is None else f"{interval:g}", spread(runs.seconds, 2),
             "-" if interval is None else spread(overheads(runs.seconds, none.seconds), 1), spread(runs.snapshots),
             spread(runs.waits, 2) if runs.waits else "-", spread(runs.state, 0, 1e-6), str(len(runs.seconds))]
        )  # fmt: skip
    base = statistics.median(none.seconds)
    curves = {
        kind: [(every, statistics.median(found[kind, every].seconds)) for every in sizes.intervals] for kind in KINDS
    }
    curves["none"] = [(every, base) for every in sizes.intervals]
    drawing = plot.draw("Run time with snapshots", "seconds between snapshots", "run time, s", curves)
    points = [
        [kind, f"{every:g}", f"{seconds:.3f}", f"{100 * (seconds / base - 1):.2f}"]
        for kind, several in curves.items()
        for every, seconds in several
    ]
    figure = plot.save("snapshots", ["snapshots", "interval", "seconds", "overhead percent"], points, drawing)
    summary = [
        [f"snapshots every {every:g} s, overhead of run time in % (against stopping the world)",
         spread(overheads(found["asynchronous", every].seconds, none.seconds), 1),
         f"(synchronous) {spread(overheads(found['synchronous', every].seconds, none.seconds), 1)}", "-"]
        for every in sizes.intervals
    ]  # fmt: skip
    return Section("snapshots", "The cost of snapshots", table, _settings(sizes), NOTES, summary, figure)


def _settings(sizes: Sizes) -> list[str]:
    pairs = sizes.pairs
    return [
        f"program: map, join on key, map, sum by group ({sizes.groups:,}) over {sizes.window} s, map, count by "
        "hundredth of the groups: six operators and three exchanges, in three vertices",
        f"input: two streams of {pairs.rows:,} events of {16 + PAIR_PAYLOAD} bytes in Parquet files, "
        f"{pairs.seconds} s of event time, lateness allowance {SLACK / 1e6:g} s; events of the left live "
        f"{sizes.lives[0]} s, which is the state, those of the right {sizes.lives[1]} s",
        f"drain mode on {MASTER}, epochs of 2 x {sizes.epoch_rows:,} rows; recovery=checkpoint('1h'), so that only "
        "snapshots make state durable; output is synced in all runs alike",
        "synchronous: a vertex that stands at the barrier takes nothing until all stand there, their state is synced "
        "and the snapshot is complete (in the benchmark only, as Naiad does it)",
    ]


NOTES = [
    "run time: from the start of the app, its session being there, to the last commit as another process sees it",
    "until complete: of the snapshots that were kept at the end of each run",
    "state is kept as immutable runs: a snapshot syncs what was written since the one before, in both kinds; stopping "
    "the world for a copy of all state would cost more",
    "all runs gave the same number of results",
]
