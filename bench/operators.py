"""Stateful operators of the temporal algebra on Waterclock alone: rows per second of the steady part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bench import answers
from bench.algebra import Query, commits, waterclock
from bench.answers import over
from bench.common import MASTER, Section, Table, spread
from bench.data import DISORDER, PAYLOAD, Events
from bench.hopping import NOTES as HOPPING_NOTES
from bench.hopping import steady

SLIDING, TIMEOUT = 10_000_000, 1_000_000
ANTI, CLIP = (1_000_000, 500_000), (10_000_000, 1)
TARGET = 500_000


@dataclass(frozen=True)
class Sizes:
    events: Events
    """Of the operators with one input; those with two get half as many on each side."""
    epoch_rows: int
    """Of all inputs together."""
    runs: int

    @property
    def sides(self) -> tuple[Events, Events]:
        one = self.events
        half = Events(one.rows // 2, one.file_rows // 2, one.keys, one.seconds, 11)
        return half, Events(one.rows // 2, one.file_rows // 2, one.keys, one.seconds, 12)


FULL = Sizes(Events(rows=5_000_000, file_rows=250_000), 500_000, 3)
QUICK = Sizes(Events(rows=50_000, file_rows=5_000, keys=500, seconds=40), 10_000, 1)


@dataclass
class Runs:
    rates: list[float] = field(default_factory=list)
    total: list[float] = field(default_factory=list)
    state: list[float] = field(default_factory=list)


def queries(sizes: Sizes) -> list[Query]:
    one, two, rows = (sizes.events,), sizes.sides, sizes.epoch_rows
    return [
        Query("snapshot", one, (None,), rows, over(one, answers.snapshot, SLIDING), {"size": SLIDING}),
        Query("session", one, (None,), rows, over(one, answers.session, TIMEOUT), {"timeout": TIMEOUT}),
        Query("anti join", two, ANTI, rows // 2, over(two, answers.anti, ANTI)),
        Query("clip join", two, CLIP, rows // 2, over(two, answers.clip, CLIP)),
    ]


def one_run(query: Query, warm: int, into: Runs) -> None:
    result = waterclock(query)
    seen = commits(result, query.rows)
    into.rates.append(steady(seen, warm)[0])
    into.total.append(seen[-1][0] - result["started"])
    into.state.append(max(result["state"]))


def measure(sizes: Sizes, tell: Callable[[str], None]) -> Section:
    tell("operators: making the files and the answers")
    found = [(query, query.answer().height, Runs()) for query in queries(sizes)]
    for _ in range(sizes.runs):  # by turns, so that a slow minute of the machine hits all alike
        for query, _, runs in found:
            one_run(query, sizes.epoch_rows, runs)
            tell(f"operators: {query.name}: {runs.rates[-1]:,.0f} rows/s")
    table = Table(["operator", "rows/s", "all rows, s", "results", "state rows", "runs"])
    summary: list[list[str]] = []
    for query, results, runs in found:
        table.rows.append([query.name, spread(runs.rates), spread(runs.total, 2), f"{results:,}", spread(runs.state),
                           str(len(runs.rates))])  # fmt: skip
        summary.append([f"{query.name}, rows/s (target {TARGET:,})", spread(runs.rates), "-", "-"])
    return Section("operators", "Operators", table, _settings(sizes), NOTES, summary)


def _settings(sizes: Sizes) -> list[str]:
    events = sizes.events
    return [
        f"input: {events.rows:,} rows of {24 + PAYLOAD} bytes as for hopping ({events.keys:,} uniform keys, "
        f"{events.seconds} s of event time, out of order by up to {2 * DISORDER / 1e6:g} s); for the joins as two "
        "streams of half as many rows each, over the same time",
        f"snapshot: sliding count and sum of a value by key over {SLIDING / 1e6:g} s, a result for every change; "
        f"session: count and sum of each session by key, timeout {TIMEOUT / 1e6:g} s",
        f"anti join: left events live {ANTI[0] / 1e6:g} s, right ones {ANTI[1] / 1e6:g} s; the parts of left events "
        "with their whole payload during which no right one of the key lives",
        f"clip join: left events live {CLIP[0] / 1e6:g} s, cut short where the next right one of the key starts; with "
        "their whole payload",
        f"Waterclock: drain mode on {MASTER}, files read in place, output kept as a stream of the store, epochs of "
        f"{sizes.epoch_rows:,} rows (both inputs together), everything else at its default",
    ]


NOTES = ["rows of both inputs are counted", HOPPING_NOTES[0], HOPPING_NOTES[3], HOPPING_NOTES[5],
         "every run's output was compared with the answer, all columns of it",
         "state rows: the most after any commit; dead ones that were not merged away included"]  # fmt: skip
