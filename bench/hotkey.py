"""One key with 30 % of the rows: a join and an aggregate stay right, and their memory is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bench import answers
from bench.algebra import Query
from bench.answers import over
from bench.common import MASTER, Section, Table, spread
from bench.data import PAYLOAD, Events
from bench.memory import COLUMNS, GIB, PEAK_NOTES, Runs, one_run

HOT = 0.3
LIVES = (20_000, 20_000)
SLIDING = 10_000_000


@dataclass(frozen=True)
class Sizes:
    events: Events
    """Of each side of the join, and of the aggregate."""
    epoch_rows: int
    """Of each input."""
    runs: int


FULL = Sizes(Events(rows=1_000_000, file_rows=50_000, seed=21, hot=HOT), 250_000, 3)
QUICK = Sizes(Events(rows=20_000, file_rows=2_000, keys=500, seconds=20, seed=21, hot=HOT), 5_000, 1)


def queries(sizes: Sizes) -> list[Query]:
    one, rows = (sizes.events,), sizes.epoch_rows
    two = (sizes.events, replace(sizes.events, seed=sizes.events.seed + 1))
    return [
        Query("join of values", two, LIVES, rows, over(two, answers.join, LIVES)),
        Query("snapshot", one, (None,), rows, over(one, answers.snapshot, SLIDING), {"size": SLIDING}),
    ]


def measure(sizes: Sizes, tell: Callable[[str], None]) -> Section:
    tell("hotkey: making the files and the answers")
    found = [(query, query.answer().height, Runs()) for query in queries(sizes)]
    for _ in range(sizes.runs):  # by turns, so that a slow minute of the machine hits all alike
        for query, _, runs in found:
            one_run(query, runs)
            tell(f"hotkey: {query.name}: {runs.peaks[-1]['Pss'] / GIB:.2f} GiB")
    table = Table(["query", "results", *COLUMNS, "rows/s from first to last", "runs"])
    summary: list[list[str]] = []
    for query, results, runs in found:
        table.rows.append([query.name, f"{results:,}", *runs.cells(), spread(runs.rates), str(len(runs.peaks))])
        summary.append([f"hot key, {query.name}, peak PSS in GiB", runs.gib("Pss"), "-", "-"])
    events = sizes.events
    settings = [
        f"input: {events.rows:,} rows of {24 + PAYLOAD} bytes as for hopping ({events.keys:,} keys, {events.seconds} s "
        f"of event time), for the join on each side; {HOT:.0%} of the rows go to one key",
        f"join: values of the pairs of a key that overlap, events of both sides live {LIVES[0] / 1e3:g} ms; snapshot: "
        f"sliding count and sum by key over {SLIDING / 1e6:g} s, a result for every change",
        f"Waterclock: drain mode on {MASTER}, files read in place, epochs of {sizes.epoch_rows:,} rows of each input, "
        "everything else at its default",
    ]
    notes = [*PEAK_NOTES, "every run's output was compared with the answer, all columns of it"]
    return Section("hotkey", "A hot key", table, settings, notes, summary)
