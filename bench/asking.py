"""Ad hoc questions beside a running program: how long an answer takes, and what it costs the program."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from bench import expected
from bench.common import MASTER, Section, Table, hear, run, scratch, spread, start
from bench.data import Events, Load, event_files, records
from bench.latency import PATIENCE, wanted_rows

QUESTIONS = {
    "count by key": "SELECT key, COUNT(*) AS n, SUM(value) AS total FROM archive GROUP BY key ORDER BY n DESC LIMIT 10",
    "largest of a tenth of the time": (
        "SELECT MAX(value) AS most FROM archive WHERE START() >= TIMESTAMP '2025-01-01T00:01:00Z' "
        "AND START() < TIMESTAMP '2025-01-01T00:01:20Z'"
    ),
}
PAUSE = 1.0
"""Seconds between questions."""


@dataclass(frozen=True)
class Sizes:
    load: Load
    warm: int
    """Seconds that are not counted; then half of the rest without questions, half with them."""
    events: Events
    runs: int


FULL = Sizes(Load(seconds=50, rate=100_000), 10, Events(), 3)
QUICK = Sizes(Load(seconds=10, rate=5_000), 2, Events(rows=200_000, file_rows=20_000), 1)


@dataclass(frozen=True)
class Run:
    before: float
    """Median latency of results before the first question, and while they were asked."""
    beside: float
    answers: dict[str, list[float]]


def one(sizes: Sizes) -> Run:
    load = sizes.load
    with scratch() as here:
        log = here / "log.txt"
        run("bench.asking_archive", {"store": str(here / "store"), "files": str(event_files(sizes.events))}, here)
        first = load.rate * (sizes.warm + (load.seconds - sizes.warm) // 2)
        asked: dict[str, Any] = {
            "store": str(here / "store"), "questions": QUESTIONS, "pause": PAUSE, "first": first,
            "last": load.rate * load.seconds, "rows": sizes.events.rows,
        }  # fmt: skip
        asker = start("bench.asking_waterclock", asked, log)
        hear(asker, "ready")
        given = {
            "sender": "process", "load": asdict(load), "workload": "window", "wanted": wanted_rows(load, "window"),
            "patience": PATIENCE, "log": str(log), "target": str(here / "found.parquet"), "store": str(here / "store"),
        }  # fmt: skip
        result = run("bench.latency_waterclock", given, here)
        answers = hear(asker, "answers")
        asker.wait()
        found = pl.read_parquet(here / "found.parquet").with_columns(start=pl.col("_vs"))
    wanted = expected.tumbling(records(load, result["start_ms"]))
    expected.compare(found.select("start", "key", "n"), wanted.select("start", "key", "n"), "the program")
    timed = found.with_columns(end=(pl.col("start") + expected.SECOND) / 1e6)
    timed = timed.filter(pl.col("start") / 1e6 >= result["start_ms"] / 1000 + sizes.warm)
    latency = timed.with_columns(latency=pl.col("seen") - pl.col("end"))
    began, ended = answers["began"], answers["ended"]
    return Run(
        _median(latency.filter(pl.col("seen") < began)),
        _median(latency.filter((pl.col("end") >= began) & (pl.col("end") <= ended))),
        answers["seconds"],
    )


def _median(rows: pl.DataFrame) -> float:
    return float(rows["latency"].median())  # type: ignore[arg-type]


def measure(sizes: Sizes, tell: Callable[[str], None]) -> Section:
    event_files(sizes.events)
    runs: list[Run] = []
    for _ in range(sizes.runs):
        runs.append(one(sizes))
        took = ", ".join(f"{name} {statistics.median(each):.2f} s" for name, each in runs[-1].answers.items())
        tell(f"asking: {took}; p50 {1000 * runs[-1].before:.0f} ms before, {1000 * runs[-1].beside:.0f} ms beside")
    table = Table(["question", "answer, s", "slowest, s", "answers", "runs"])
    summary: list[list[str]] = []
    for name in QUESTIONS:
        medians, every = [statistics.median(each.answers[name]) for each in runs], [each.answers[name] for each in runs]
        table.rows.append(
            [name, spread(medians, 2), f"{max(max(each) for each in every):.2f}",
             spread([float(len(each)) for each in every]), str(len(runs))]
        )  # fmt: skip
        rows = f"{sizes.events.rows:,}"
        summary.append([f"question over {rows} stored rows, {name}, s (target below 2)", spread(medians, 2), "-", "-"])
    changes = [100 * (each.beside / each.before - 1) for each in runs]
    before, beside = [each.before for each in runs], [each.beside for each in runs]
    table.rows.append(["latency before, p50 ms", spread(before, 0, 1000), "-", "-", str(len(runs))])
    table.rows.append(["latency beside questions, p50 ms", spread(beside, 0, 1000), "-", "-", str(len(runs))])
    summary.append(["median latency beside questions, change in % (target below 20)", spread(changes, 1), "-", "-"])
    return Section("asking", "Questions beside a running program", table, _settings(sizes), NOTES, summary)


def _settings(sizes: Sizes) -> list[str]:
    load = sizes.load
    return [
        f"program: count by key over windows of one second, live on {MASTER}, {load.rate:,} events/s pushed by a "
        f"process of its own for {load.seconds} s; latency is from the end of the window to the commit, as another "
        "process sees it",
        f"archive: another stream of the same store, {sizes.events.rows:,} events of 110 bytes in Parquet files",
        f"questions: by one process, {PAUSE:g} s apart, one kind after the other, in the second half of the time "
        f"behind the first {sizes.warm} s; " + "; ".join(f"{name}: {text}" for name, text in QUESTIONS.items()),
    ]


NOTES = [
    "an answer is timed in a process that has asked once before: without the start of Python, with opening the store",
    "the count by key was compared with the number of events in the archive, the program's results with the answer",
]
