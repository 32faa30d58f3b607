"""Nexmark: how fast the queries of examples/nexmark drain files, beside those that Structured Streaming can express."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from bench import nexmark_data
from bench.algebra import commits, output, prints
from bench.common import MASTER, PROVIDERS, SPARK_SETTINGS, Section, Table, ratio, run, scratch, spread
from bench.expected import compare
from bench.hopping import NOTES as HOPPING_NOTES
from bench.hopping import spark_commits, steady
from bench.nexmark_data import KINDS, House, house_files, last_time
from bench.nexmark_spark import QUERIES, REFUSED
from bench.nexmark_waterclock import inputs

ALL = ("q0", "q1", "q2", "q3", "q4", "q5", "q7", "q8", "q9", "q11", "q13", "q14", "q15", "q16", "q17", "q18", "q20",
       "q21", "q22")  # fmt: skip
STATELESS = ("q0", "q1", "q2", "q13", "q14", "q21", "q22")
"""The state store makes no difference to them: they run once."""
ANSWERS = {"q4": nexmark_data.q4, "q18": nexmark_data.q18}
"""Of what Structured Streaming cannot express."""
CLOSES = {"q5": "endtime", "q7": "dateTime", "q8": "endtime", "q9": "expires", "q11": "endtime"}
SIDE_ROWS = 10_000
LAST = 15_000_000
"""More than a window, a session's gap and the wait for late events together."""


@dataclass(frozen=True)
class Sizes:
    house: House
    epoch_events: int
    """Events of all kinds whose rows make a batch."""
    runs: int

    @property
    def compared(self) -> int:
        """The time up to which windows, sessions and auctions are compared: at the end some stay open, elsewhere."""
        batch = self.epoch_events * 1_000_000 // self.house.rate
        return last_time(self.house) - batch - LAST - self.house.longest


FULL = Sizes(House(events=2_000_000, rate=10_000, file_events=50_000, disorder=5_000), 250_000, 3)
QUICK = Sizes(House(events=30_000, rate=150, file_events=1_500, disorder=50), 6_000, 1)


@dataclass
class Runs:
    rates: list[float] = field(default_factory=list)
    batch_rows: list[float] = field(default_factory=list)
    total: list[float] = field(default_factory=list)

    def add(self, seen: list[tuple[float, int]], warm: int, started: float) -> None:
        rate, rows = steady(seen, warm)
        self.rates.append(rate)
        self.batch_rows.append(rows)
        self.total.append(seen[-1][0] - started)


@dataclass
class Query:
    name: str
    kinds: tuple[str, ...]
    ours: Runs = field(default_factory=Runs)
    theirs: dict[str, Runs] = field(default_factory=dict)

    def cut(self, sizes: Sizes) -> pl.Expr:
        """The rows that both engines must have given when the input is used up."""
        if self.name in CLOSES:
            return pl.col(CLOSES[self.name]) <= sizes.compared
        if self.name in ("q15", "q16", "q17"):
            return pl.col("day").eq(prints(pl.DataFrame({"day": [sizes.house.midnight]}))["day"][0])
        return pl.lit(True)


def waterclock_run(sizes: Sizes, queries: list[Query], here: Path) -> None:
    """All queries in one process; the outputs stay in ``here`` to be compared."""
    house = sizes.house
    # For each input: as many as its most frequent kind has in a batch.
    epoch_rows = {query.name: max(house.rows((kind,), sizes.epoch_events) for kind in query.kinds) for query in queries}
    result = run(
        "bench.nexmark_waterclock",
        {"folder": str(house_files(house)), "stores": str(here), "queries": [query.name for query in queries],
         "epoch_rows": epoch_rows, "log": str(here / "log.txt")},
        here, reads=[house_files(house)],
    )  # fmt: skip
    for query in queries:
        seen = result["queries"][query.name]
        side = SIDE_ROWS if query.name == "q13" else 0  # the rows of its table come with the first batch
        warm = house.rows(query.kinds, sizes.epoch_events) + side
        query.ours.add(commits(seen, house.rows(query.kinds) + side), warm, seen["started"])
        if query.name in ANSWERS:
            compare(found(here, query.name), prints(ANSWERS[query.name](house)), f"Waterclock {query.name}")


def spark_run(sizes: Sizes, queries: list[Query], state: str, ours: Path) -> dict[str, str]:
    """All queries in one session, each compared with what Waterclock gave; the forms that were refused."""
    house = sizes.house
    with scratch() as here:
        result = run(
            "bench.nexmark_spark",
            {"folder": str(house_files(house)), "files": sizes.epoch_events // house.file_events, "state": state,
             "queries": [query.name for query in queries], "longest": house.longest, "here": str(here)},
            here, reads=[house_files(house)],
        )  # fmt: skip
        for query in queries:
            rows = pl.read_parquet(here / "out" / query.name / "*.parquet")
            theirs = prints(rows.with_columns(pl.selectors.datetime().dt.epoch("us"))).filter(query.cut(sizes))
            mine = found(ours, query.name).filter(query.cut(sizes)).select(theirs.columns)
            if not mine.height:
                raise ValueError(f"{query.name}: there is nothing to compare")
            compare(theirs, mine, f"Structured Streaming {query.name} {state}")
            seen = spark_commits(result["queries"][query.name], house.rows(query.kinds))
            warm, started = house.rows(query.kinds, sizes.epoch_events), result["queries"][query.name]["offsets"][0][1]
            query.theirs.setdefault(state, Runs()).add(seen, warm, float(started))
    refused: dict[str, str] = result["refused"]
    if missing := REFUSED.keys() - refused.keys():
        raise ValueError(f"Structured Streaming now runs what it is said to refuse: {sorted(missing)}")
    return refused


def found(stores: Path, query: str) -> pl.DataFrame:
    """What Waterclock gave: times in microseconds, texts as prints."""
    return output(stores / query, query).with_columns(pl.selectors.datetime().dt.epoch("us"))


def measure(sizes: Sizes, tell: Callable[[str], None]) -> Section:
    tell("nexmark: making the files")
    house_files(sizes.house)
    queries = [Query(name, tuple(kind for kind in inputs(name) if kind in KINDS)) for name in ALL]
    both = [query for query in queries if query.name in QUERIES]
    refused: dict[str, str] = {}
    for _ in range(sizes.runs):  # by turns, so that a slow minute of the machine hits all alike
        with scratch() as here:
            waterclock_run(sizes, queries, here)
            tell("nexmark: waterclock, rows/s: " + ", ".join(f"{q.name} {q.ours.rates[-1]:,.0f}" for q in queries))
            for number, state in enumerate(PROVIDERS):
                some = [query for query in both if number == 0 or query.name not in STATELESS]
                refused = spark_run(sizes, some, state, here)
                rates = ", ".join(f"{q.name} {q.theirs[state].rates[-1]:,.0f}" for q in some)
                tell(f"nexmark: Structured Streaming, {state}, rows/s: {rates}")
    table = Table(["query", "rows", "system", "rows/s", "rows per commit", "all rows, s", "runs"])
    summary: list[list[str]] = []
    for query in queries:
        rows = f"{sizes.house.rows(query.kinds):,}"
        names = {
            state: "Structured Streaming" + ("" if query.name in STATELESS else f", {state}") for state in PROVIDERS
        }
        for system, runs in [("Waterclock", query.ours), *((names[s], runs) for s, runs in query.theirs.items())]:
            table.rows.append([query.name, rows, system, spread(runs.rates), spread(runs.batch_rows),
                               spread(runs.total, 2), str(len(runs.rates))])  # fmt: skip
        summary.append(_line(query))
    return Section("nexmark", "Nexmark", table, _settings(sizes), [*NOTES, *_refused(refused)], summary)


def _line(query: Query) -> list[str]:
    name = f"Nexmark {query.name}, rows/s"
    if not query.theirs:
        return [name, spread(query.ours.rates), "no form known", "-"]
    best = max(query.theirs, key=lambda state: statistics.median(query.theirs[state].rates))
    store = "" if query.name in STATELESS else f" ({best})"
    theirs = query.theirs[best].rates
    return [name, spread(query.ours.rates), spread(theirs) + store, ratio(query.ours.rates, theirs)]


def _refused(refused: dict[str, str]) -> list[str]:
    shown = "; ".join(f"{name}: {condition}" for name, condition in refused.items())
    return [
        "what Structured Streaming refuses, with the condition of its error, tried in every run: " + shown,
        "so no form is known of q4 (an average that goes on for ever, of winners that are themselves an aggregate) and "
        "of q18 (each bid until the next of its key) in SQL or data frames; code of one's own over state was not tried",
        "other forms than ours: q5, q7 and q9 gather rows in an aggregate (max_by, collect_list) since ranks are "
        "refused; q7 and q9 would give one of equally good bids, and the data have no such ties; q9 bounds how long an "
        "auction lasts, which the data allow, since otherwise its state and its answer would have no end; q15 and q16 "
        "take the size of sets; q11 has a gap shorter by a microsecond, since a bid at the very "
        "end of a session is in it",
    ]


def _settings(sizes: Sizes) -> list[str]:
    house = sizes.house
    batch = ", ".join(f"{house.rows((kind,), sizes.epoch_events):,} {kind}" for kind in KINDS)
    return [
        f"input: the first {house.events:,} events of examples/nexmark/generator.py ({house.rows(('person',)):,} "
        f"people, {house.rows(('auction',)):,} auctions, {house.rows(('bid',)):,} bids), {house.rate:,} a second of "
        f"event time, so {house.seconds:g} s, which cross midnight after three quarters; shuffled in groups of "
        f"{house.disorder:,} ({house.disorder / house.rate:.2g} s), Parquet, {house.file_events:,} events a file, "
        "the same files for all",
        "queries: the programs of examples/nexmark as they are; a row counts once for each stream that the query "
        "reads; lateness allowance 1 s on both sides",
        f"Waterclock: drain mode on {MASTER}, output kept as a stream of the store, epoch_rows for a batch of the "
        "most frequent kind of events (of each input, so auctions and people run ahead of bids), "
        "everything else at its default; all queries one after another in one process",
        f"Structured Streaming: {MASTER}, maxFilesPerTrigger={sizes.epoch_events // house.file_events} for each input "
        f"(batches of {batch}), trigger availableNow, append mode, Parquet file sink, checkpoint on the same disk; all "
        "queries one after another in one session for each state store; "
        + ", ".join(f"{name}={value}" for name, value in SPARK_SETTINGS.items()),
        "state stores: rocksdb and in-memory; the ratio is to the better one; queries without state run once",
    ]  # fmt: skip


NOTES = [
    *HOPPING_NOTES[:2],
    "not included: start of Python, JVM and session, the first batch, and what follows the last rows; the queries by "
    "day give their second day only then",
    *HOPPING_NOTES[3:6],
    "every run's output of Structured Streaming was compared with Waterclock's, all columns; of windows, sessions and "
    f"auctions those that end a batch, the longest auction and {LAST / 1e6:g} s before the last event, of the queries "
    "by day the first day. q4 and q18 were compared with plain Polars. tests/docs compare all with plain loops",
]
