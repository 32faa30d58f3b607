"""Equal epochs with little and with ten times as much state: the time of an epoch must not follow the state."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from bench import answers
from bench.algebra import Query, commits, waterclock
from bench.common import MASTER, Section, Table, spread
from bench.data import PAIR_PAYLOAD, Pairs

SECOND = 1_000_000
TARGET = 1.5
TIMES = 10


@dataclass(frozen=True)
class Sizes:
    pairs: Pairs
    epoch_seconds: int
    """Event time of an epoch of the operators with one input."""
    window: int
    """In such epochs, for the small state; ten times as long for the great one."""
    counted: int
    """The last epochs of a run, a whole number of great hops."""
    runs: int

    @property
    def epoch_rows(self) -> int:
        """Of all inputs together."""
        return self.pairs.rows * self.epoch_seconds // self.pairs.seconds


FULL = Sizes(Pairs(rows=4_000_000, file_rows=50_000, seconds=400, behind=10), 10, 2, 20, 3)
QUICK = Sizes(Pairs(rows=80_000, file_rows=1_000, seconds=400, behind=10), 10, 2, 20, 1)


@dataclass
class Runs:
    median: list[float] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    state: list[float] = field(default_factory=list)


def queries(sizes: Sizes, times: int) -> list[Query]:
    """The same input for all; only lifetimes and windows grow, and for hopping the keys with them."""
    pairs, rows = sizes.pairs, sizes.epoch_rows
    life = times * sizes.window * sizes.epoch_seconds * SECOND
    hop, keys = life // sizes.window, times * rows
    lives, window = (life, life), {"keys": keys, "hop": hop}
    return [
        Query("join", pairs, lives, rows // 2, lambda: answers.pairs(pairs, lives)),
        Query("anti join", pairs, lives, rows // 2, lambda: answers.pairs_anti(pairs, lives)),
        Query("hopping", pairs, (None,), rows, lambda: answers.buckets(pairs, keys, hop), window),
    ]


def epoch_times(result: dict[str, Any], rows: int, epoch_rows: int, counted: int) -> list[float]:
    """Seconds from commit to commit of the last full epochs."""
    between = pairwise(commits(result, rows))
    full = [later[0] - earlier[0] for earlier, later in between if later[1] - earlier[1] == epoch_rows]
    if len(full) < counted:
        raise ValueError(f"{len(full)} full epochs, {counted} are to be counted")
    return full[-counted:]


def one_run(sizes: Sizes, query: Query, into: Runs) -> None:
    result = waterclock(query)
    times = epoch_times(result, query.rows, sizes.epoch_rows, sizes.counted)
    into.median.append(statistics.median(times))
    into.mean.append(statistics.mean(times))
    into.state.append(max(result["state"]))


def measure(sizes: Sizes, tell: Callable[[str], None]) -> Section:
    tell("growth: making the files")
    found: dict[str, dict[int, Runs]] = {}
    for _ in range(sizes.runs):  # by turns, so that a slow minute of the machine hits all alike
        for times in (1, TIMES):
            for query in queries(sizes, times):
                runs = found.setdefault(query.name, {}).setdefault(times, Runs())
                one_run(sizes, query, runs)
                tell(f"growth: {query.name}, {times} times the state: {1000 * runs.median[-1]:.1f} ms an epoch")
    table = Table(["operator", "state", "state rows", "epoch, median ms", "epoch, mean ms", "runs"])
    summary: list[list[str]] = []
    for name, both in found.items():
        for times, runs in both.items():
            times_s = "S" if times == 1 else f"{times} S"
            figures = [spread(runs.median, 1, 1000), spread(runs.mean, 1, 1000), str(len(runs.mean))]
            table.rows.append([name, times_s, spread(runs.state), *figures])
        for what in ("median", "mean"):
            small, great = (statistics.median(getattr(both[times], what)) for times in (1, TIMES))
            line = f"{name}, {what} epoch with {TIMES} times the state, as a multiple (target at most {TARGET:g})"
            summary.append([line, f"{great / small:.2f}", "-", "-"])
    return Section("growth", "Epochs as state grows", table, _settings(sizes), NOTES, summary)


def _settings(sizes: Sizes) -> list[str]:
    pairs, window = sizes.pairs, sizes.window * sizes.epoch_seconds
    return [
        f"input: the two streams of the join benchmark with {pairs.rows:,} events each of {16 + PAIR_PAYLOAD} bytes, "
        f"{pairs.seconds} s of event time, matches {pairs.behind} s behind; for hopping the left one alone",
        f"epochs of {sizes.epoch_rows:,} rows (all inputs together), the last {sizes.counted} of a run are counted",
        f"join and anti join: events of both sides live {window} s (S) and {TIMES * window} s ({TIMES} S)",
        f"hopping: count by key, windows of two hops; {sizes.epoch_rows:,} keys and windows of {window} s (S), "
        f"{TIMES * sizes.epoch_rows:,} keys and windows of {TIMES * window} s ({TIMES} S)",
        f"Waterclock: drain mode on {MASTER}, files read in place, everything else at its default",
    ]


NOTES = [
    "the time of an epoch is that from commit to commit, seen by another process every 20 ms",
    "the input is the same for S and for ten times S, and so is the number of results of a join epoch",
    f"hopping closes a window in every epoch (S), or one of {TIMES} times as many keys in every {TIMES}th ({TIMES} S): "
    "on average the same number of results, which only the mean shows",
    "every run's output was compared with the answer; state rows: the most after any commit, dead ones that were not "
    "merged away included",
]
