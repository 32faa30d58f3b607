"""The join of StreamScope's evaluation: 100-byte events of two streams, each with one match; rows per second."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from bench import answers
from bench.algebra import Query, commits, prints, waterclock
from bench.common import MASTER, SPARK_SETTINGS, Section, Table, ratio, run, scratch, spread
from bench.data import DISORDER, PAIR_PAYLOAD, Pairs, pair_files
from bench.expected import SLACK, compare
from bench.hopping import NOTES as HOPPING_NOTES
from bench.hopping import spark_commits, steady

LIVES = (120_000_000, 60_000_000)
FORMATS = {"rocksdb": (2, 3, 4), "in-memory": (2,)}
"""State stores, with the formats of join state that work with them; the fastest of each is tried out first."""
MORE_SETTINGS = {"spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false"}
"""It saves a lookup for every row written; for that, rocksdb's rows of state are not known."""
HEAP = {"spark.driver.memory": "10g"}
"""With 4 GB, batches of 2 x 1,000,000 rows are a quarter slower, for garbage collection."""
TARGET = 30.0


@dataclass(frozen=True)
class Sizes:
    pairs: Pairs
    longer: Pairs
    """The same stream, longer: for Waterclock, which is through with the other before it is warm."""
    epochs: tuple[int, ...]
    """Rows of each side."""
    runs: int
    tryout: int
    """Rows of each side, to find the fastest format of Structured Streaming's state."""


FULL = Sizes(
    Pairs(rows=2_000_000, seconds=2_400),
    Pairs(rows=8_000_000, seconds=9_600),
    (200_000, 500_000, 1_000_000),
    3,
    300_000,
)
QUICK = Sizes(
    Pairs(rows=24_000, file_rows=2_000), Pairs(rows=48_000, file_rows=2_000, seconds=2_400), (4_000,), 1, 12_000
)


@dataclass(frozen=True)
class Drained:
    """One run of one engine, whose output was right."""

    commits: list[tuple[float, int]]
    """When, and rows of both sides taken by then."""
    started: float
    state: list[int]


@dataclass
class Runs:
    rates: list[float] = field(default_factory=list)
    batch_rows: list[float] = field(default_factory=list)
    total: list[float] = field(default_factory=list)
    state: list[float] = field(default_factory=list)
    """The most rows of state after a commit."""

    def add(self, run: Drained, epoch_rows: int) -> None:
        rate, rows = steady(run.commits, 2 * epoch_rows)
        self.rates.append(rate)
        self.batch_rows.append(rows)
        self.total.append(run.commits[-1][0] - run.started)
        self.state.append(max(run.state))


def waterclock_drain(pairs: Pairs, epoch_rows: int) -> Drained:
    query = Query("join", pairs, LIVES, epoch_rows, lambda: answers.pairs(pairs, LIVES))
    result = waterclock(query)
    return Drained(commits(result, query.rows), result["started"], result["state"])


def spark_drain(pairs: Pairs, epoch_rows: int, state: str, version: int) -> Drained:
    settings = {"spark.sql.streaming.join.stateFormatVersion": str(version), **MORE_SETTINGS, **HEAP}
    folder = pair_files(pairs)
    with scratch() as here:
        result = run(
            "bench.join_spark",
            {"folder": str(folder), "files": epoch_rows // pairs.file_rows, "state": state, "lives": LIVES,
             "settings": settings, "target": str(here / "out"), "checkpoint": str(here / "checkpoint")},
            here, reads=[folder],
        )  # fmt: skip
        if result["format"] != version:  # Spark may fall back to another one without a word
            raise ValueError(f"asked for state format {version}, Structured Streaming used {result['format']}")
        found = prints(pl.read_parquet(here / "out" / "*.parquet"))
        compare(found, answers.pairs(pairs, LIVES), f"Structured Streaming join {epoch_rows} {state}")
    state_rows = [int(progress["state"]) for progress in result["progress"]]
    return Drained(spark_commits(result, 2 * pairs.rows), float(result["offsets"][0][1]), state_rows)


def fastest_formats(sizes: Sizes, tell: Callable[[str], None]) -> dict[str, int]:
    """By one run of each over the first part of the stream."""
    pairs = sizes.pairs
    first = pairs.of(sizes.tryout)
    chosen: dict[str, int] = {}
    for state, versions in FORMATS.items():
        rates: dict[int, float] = {}
        for version in versions if len(versions) > 1 else ():
            runs = Runs()
            epoch_rows = min(sizes.epochs[0], sizes.tryout // 3)
            runs.add(spark_drain(first, epoch_rows, state, version), epoch_rows)
            rates[version] = runs.rates[0]
            tell(f"join: tryout of Structured Streaming, {state}, state format {version}: {runs.rates[0]:,.0f} rows/s")
        chosen[state] = max(rates, key=lambda version: rates[version]) if rates else versions[0]
    return chosen


def measure(sizes: Sizes, tell: Callable[[str], None]) -> Section:
    tell("join: making the files and the answer")
    for pairs in (sizes.pairs, sizes.longer):
        answers.pairs(pairs, LIVES)
    formats = chosen = fastest_formats(sizes, tell)
    table = Table(["rows of each side an epoch", "system", "rows/s", "rows per commit", "all rows, s", "state rows",
                   "runs"])  # fmt: skip
    summary: list[list[str]] = []
    every: dict[str, list[list[float]]] = {"ours": [], "theirs": []}
    """Rates by size."""
    for epoch_rows in sizes.epochs:
        ours, theirs = Runs(), {state: Runs() for state in formats}
        pairs = sizes.pairs.of(max(sizes.pairs.rows, 4 * epoch_rows))
        for turn in range(sizes.runs):  # by turns, so that a slow minute of the machine hits all alike
            ours.add(waterclock_drain(sizes.longer, epoch_rows), epoch_rows)
            tell(f"join: waterclock, 2 x {epoch_rows}: {ours.rates[-1]:,.0f} rows/s")
            for state, runs in theirs.items():
                if turn and runs.rates[0] < max(other.rates[0] for other in theirs.values()):
                    continue  # the slower store: one run shows that it is
                runs.add(spark_drain(pairs, epoch_rows, state, formats[state]), epoch_rows)
                tell(f"join: Structured Streaming, {state}, 2 x {epoch_rows}: {runs.rates[-1]:,.0f} rows/s")
        best = max(theirs, key=lambda state: statistics.median(theirs[state].rates))
        formats = {best: formats[best]}  # the other one had its turn with the smallest size
        every["ours"].append(ours.rates)
        every["theirs"].append(theirs[best].rates)
        for name, runs in {"Waterclock": ours, **{f"Structured Streaming, {s}": r for s, r in theirs.items()}}.items():
            table.rows.append(
                [f"{epoch_rows:,}", name, spread(runs.rates), spread(runs.batch_rows), spread(runs.total, 2),
                 spread(runs.state) if max(runs.state) else "-", str(len(runs.rates))]
            )  # fmt: skip
        summary.append(
            [f"join, epochs of 2 x {epoch_rows:,} rows, rows/s (target {TARGET:g}x)", spread(ours.rates),
             f"{spread(theirs[best].rates)} ({best})", ratio(ours.rates, theirs[best].rates)]
        )  # fmt: skip
    ours_best, theirs_best = (max(rates, key=statistics.median) for rates in every.values())
    summary.append(
        [f"join, each with the size that suits it best, rows/s (target {TARGET:g}x)", spread(ours_best),
         spread(theirs_best), ratio(ours_best, theirs_best)]
    )  # fmt: skip
    return Section("join", "Join of two streams", table, _settings(sizes, chosen), NOTES, summary)


def _settings(sizes: Sizes, formats: dict[str, int]) -> list[str]:
    pairs = sizes.pairs
    live = LIVES[0] / 1e6 / pairs.seconds
    return [
        f"input: two streams of {pairs.rows:,} events of {16 + PAIR_PAYLOAD} bytes (key bigint, unique; ts timestamp "
        f"in µs; payload of {PAIR_PAYLOAD} characters), {pairs.seconds} s of event time, out of order by up to "
        f"{2 * DISORDER / 1e6:g} s, Parquet (snappy), {pairs.file_rows:,} rows a file, in the page cache; for "
        f"Waterclock the same streams go on to {sizes.longer.rows:,} events in {sizes.longer.seconds} s, for it would "
        "be through in a second, and for batches of which there would be fewer than four, to four of them",
        f"an event of the left lives [t, t + {LIVES[0] / 6e7:g} min), its match on the right has the same key and "
        f"lives [t + {pairs.behind / 60:g}, t + {(pairs.behind + LIVES[1] / 1e6) / 60:g} min); both streams run "
        f"through the same event time, so {LIVES[0] / 6e7:g} minutes are {live:.0%} of a stream; of each side "
        f"{pairs.unmatched:,} events have no match because it lies before the start or behind the end",
        f"query: inner join on key and overlap; a result has both payloads and the common lifetime; lateness allowance "
        f"{SLACK / 1e6:g} s on both sides",
        f"Waterclock: drain mode on {MASTER}, files read in place, output kept as a stream of the store, epoch_rows as "
        "in the table, everything else at its default",
        f"Structured Streaming: {MASTER}, stream-stream inner join with watermarks and the overlap as a condition on "
        "both timestamps (so that it can drop state), maxFilesPerTrigger for the same rows per batch, "
        "trigger availableNow, append mode, Parquet file sink, checkpoint on the same disk; "
        + ", ".join(f"{name}={value}" for name, value in {**SPARK_SETTINGS, **MORE_SETTINGS, **HEAP}.items()),
        "state stores: "
        + ", ".join(f"{state} (spark.sql.streaming.join.stateFormatVersion={v})" for state, v in formats.items())
        + f"; of rocksdb's formats {FORMATS['rocksdb']} the one that was fastest with {sizes.tryout:,} rows of each "
        "side; the ratio is to the better store; the slower one ran with the smallest size only",
    ]


NOTES = [
    "rows of both inputs are counted",
    *HOPPING_NOTES[:2],
    "not included: start of Python, JVM and session, the first batch, and batches behind the last rows",
    *HOPPING_NOTES[3:6],
    "state rows: the most after any commit, both sides together; dead ones that were not merged away included",
    "every run's output was compared with the answer, all columns of it",
]
