"""Open-loop latency at a fixed rate: Grep, and a count by key over windows of one second."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from bench import expected
from bench.common import MASTER, SPARK_SETTINGS, Section, Table, percentile, ratio, run, scratch, spread
from bench.data import TICK_MS, Load, Records, records

SLIP = 0.01
"""A run is void when one batch in a hundred is late by more than this share of the schedule by the sender's fault."""
PATIENCE = 60.0
CUTS = (50.0, 95.0, 99.0, 100.0)


@dataclass(frozen=True)
class Sizes:
    load: Load
    warm: int
    """Events of the first so many seconds are not counted."""
    runs: int


FULL = Sizes(Load(seconds=30), 10, 3)
QUICK = Sizes(Load(seconds=5, rate=10_000), 2, 1)

WORKLOADS = {
    "grep": {"event": "grep, from the intended time of the event"},
    "window": {
        "event": "1 s count, from the intended time of the last event",
        "end": "1 s count, from the end of the window",
    },
}
OURS = {"process": "sender in its own process"}
THEIRS = {
    "grep": (("socket", "in-memory"), ("files", "in-memory")),
    "window": (("socket", "in-memory"), ("files", "in-memory")),
}


@dataclass
class Runs:
    """Per measure and percentile, a figure (ms) for each run that is not void."""

    figures: dict[str, dict[float, list[float]]] = field(default_factory=dict)
    durable: list[float] = field(default_factory=list)
    """Medians until the result is known to survive a power cut, where that is another moment."""
    senders: list[dict[str, float]] = field(default_factory=list)
    epoch: list[float] = field(default_factory=list)
    overhead: list[float] = field(default_factory=list)
    void: int = 0

    def add(self, measure: str, seconds: Sequence[float]) -> None:
        cuts = self.figures.setdefault(measure, {cut: [] for cut in CUTS})
        for cut in CUTS:
            cuts[cut].append(1000 * percentile(seconds, cut))

    def medians(self, measure: str) -> list[float]:
        return self.figures.get(measure, {}).get(50.0, [])


def wanted_rows(load: Load, workload: str) -> int:
    """The same for every start of the schedule on a whole second."""
    sent = records(load, 0)
    return (expected.grep(sent) if workload == "grep" else expected.tumbling(sent)).height


def latencies(found: pl.DataFrame, sent: Records, workload: str, warm_until: float, what: str) -> dict[str, pl.Series]:
    """Checks the answer; gives seconds from intended time to ``seen`` for the results behind the warm-up."""
    if workload == "grep":
        wanted = expected.grep(sent)
        expected.compare(found.select("text"), wanted.select("text"), what)
        timed = found.with_columns(last=pl.col("text").str.slice(0, 13).cast(pl.Int64) / 1e3)
        timed = timed.filter(pl.col("last") >= warm_until)
        return {"event": (timed["seen"] - timed["last"]), **_durable(timed)}
    wanted = expected.tumbling(sent)
    expected.compare(found.select("start", "key", "n"), wanted.select("start", "key", "n"), what)
    joined = found.join(wanted.select("start", "key", last=pl.col("last") / 1e6), on=["start", "key"])
    timed = joined.with_columns(end=(pl.col("start") + expected.SECOND) / 1e6)
    timed = timed.filter(pl.col("start") / 1e6 >= warm_until)
    return {"event": timed["seen"] - timed["last"], "end": timed["seen"] - timed["end"], **_durable(timed)}


def _durable(timed: pl.DataFrame) -> dict[str, pl.Series]:
    if "durable" not in timed.columns:
        return {}
    return {"durable": (timed["durable"] - timed["last"]).drop_nulls()}


def _one(
    module: str,
    given: dict[str, Any],
    sizes: Sizes,
    workload: str,
    into: Runs,
    shape: Callable[[pl.DataFrame], pl.DataFrame],
) -> str:
    what = f"{module} {workload} {given}"
    with scratch() as here:
        given = {
            **given, "load": asdict(sizes.load), "workload": workload, "wanted": wanted_rows(sizes.load, workload),
            "patience": PATIENCE, "log": str(here / "log.txt"), "target": str(here / "found.parquet"),
            "store": str(here / "store"), "folder": str(here / "in"), "checkpoint": str(here / "checkpoint"),
        }  # fmt: skip
        result = run(module, given, here)
        found = shape(pl.read_parquet(here / "found.parquet"))
    sent = records(sizes.load, result["start_ms"])
    measured = latencies(found, sent, workload, result["start_ms"] / 1000 + sizes.warm, what)
    sender: dict[str, float] = {name: v for name, v in result["sender"].items() if name != "kind"}
    into.senders.append(sender)
    if sender["slip"] > SLIP:
        into.void += 1
        return f"void, the sender slipped by {sender['slip']:.1%}"
    durable = measured.pop("durable", None)
    if durable is not None and durable.len():
        into.durable.append(1000 * percentile(durable.to_list(), 50))
    for measure, seconds in measured.items():
        into.add(measure, seconds.to_list())
    if result.get("overhead") is not None:
        into.overhead.append(result["overhead"])
        into.epoch.append(result["latency"])
    else:
        into.epoch.append(statistics.median(result["batch_ms"]) / 1000 if result.get("batch_ms") else 0.0)
    return f"p50 {into.medians('event')[-1]:,.0f} ms"


def waterclock_run(sizes: Sizes, workload: str, sender: str, into: Runs) -> str:
    def shape(found: pl.DataFrame) -> pl.DataFrame:
        return found if workload == "grep" else found.with_columns(start=pl.col("_vs"))

    return _one("bench.latency_waterclock", {"sender": sender}, sizes, workload, into, shape)


def spark_run(sizes: Sizes, workload: str, source: str, state: str, into: Runs) -> str:
    given = {"source": source, "state": state}
    return _one("bench.latency_spark", given, sizes, workload, into, lambda found: found)


def measure(sizes: Sizes, tell: Callable[[str], None], kept: dict[str, Any]) -> Section:
    cuts = ["p50", "p95", "p99", "max"]
    table = Table(["measure", "system", *(f"{cut}, ms" for cut in cuts), "runs", "void", "epoch or batch, ms"])
    summary: list[list[str]] = []
    slips: list[str] = []
    for workload, measures in WORKLOADS.items():
        ours = {sender: Runs() for sender in OURS}
        theirs = {variant: Runs() for variant in THEIRS[workload]}
        for _ in range(sizes.runs):
            for sender, runs in ours.items():
                tell(f"latency: {workload}, waterclock, sender in a {sender}: "
                     + waterclock_run(sizes, workload, sender, runs))  # fmt: skip
            for (source, state), runs in theirs.items():
                tell(f"latency: {workload}, Structured Streaming, {source}, {state}: "
                     + spark_run(sizes, workload, source, state, runs))  # fmt: skip
        if workload == "window":
            kept["latency window"] = {"overhead": ours["process"].overhead, "epoch": ours["process"].epoch}
        named = {f"Waterclock, push, {OURS[s]}": runs for s, runs in ours.items()}
        for (source, state), runs in theirs.items():
            named[f"Structured Streaming, {source}" + (f", {state} state" if workload == "window" else "")] = runs
        for name, runs in named.items():
            slips.append(_sender_line(workload, name, runs))
        for measure_name, title in measures.items():
            for name, runs in named.items():
                figures = runs.figures.get(measure_name, {cut: [] for cut in CUTS})
                table.rows.append(
                    [title, name, *(spread(figures[cut], 1) for cut in CUTS), str(len(figures[50.0])), str(runs.void),
                     spread(runs.epoch, 1, 1000)]
                )  # fmt: skip
            valid = [v for v in theirs if theirs[v].medians(measure_name)]
            if not valid:
                summary.append([f"{title}, p50 ms", spread(ours["process"].medians(measure_name), 1), "void", "-"])
                continue
            best = min(valid, key=lambda v: statistics.median(theirs[v].medians(measure_name)))
            for cut in (50.0, 99.0):
                mine = ours["process"].figures.get(measure_name, {}).get(cut, [])
                other = theirs[best].figures[measure_name][cut]
                via = best[0] if workload == "grep" else f"{best[0]}, {best[1]}"
                summary.append(
                    [f"{title}, p{cut:.0f} ms", spread(mine, 1), f"{spread(other, 1)} ({via})", ratio(other, mine)]
                )
        for sender, runs in ours.items():
            slips.append(f"{workload}, Waterclock, {OURS[sender]}: p50 from the last event until the output was "
                         f"seen to be durable (fsync) {spread(runs.durable, 1)} ms")  # fmt: skip
    return Section("latency", "Open-loop latency", table, _settings(sizes), [*NOTES, *slips], summary)


def _sender_line(workload: str, name: str, runs: Runs) -> str:
    def of(key: str, scale: float, digits: int) -> str:
        return spread([sender[key] for sender in runs.senders], digits, scale)

    return (
        f"sender of {workload}, {name}: slip {of('slip', 100, 3)} %; {of('own_late', 100, 2)} % of the batches "
        f"over 10 ms late by its own fault;  handed over late by p50 "
        f"{of('late_p50', 1000, 1)}, "
        f"p99 {of('late_p99', 1000, 1)}, max {of('late_max', 1000, 1)} ms; a send takes {of('send_p50', 1000, 2)} ms; "
        f"CPU {of('cpu', 1, 1)} s"
    )


def _settings(sizes: Sizes) -> list[str]:
    load = sizes.load
    return [
        f"load: {load.rate:,} records/s for {load.seconds} s in batches of {load.batch} every {TICK_MS} ms, "
        f"the first {sizes.warm} s not counted; {load.keys:,} uniform keys, records of 100 bytes, in order, no "
        f"lateness allowance",
        f"grep: records that contain a word, {load.hits:.0%} of all. 1 s count: tumbling count by key, event time "
        f"is the "
        "intended time",
        f"Waterclock: live mode on {MASTER}, all settings at their defaults; typed columns (ts, key, text) pushed",
        f"Structured Streaming: {MASTER}, lines of text parsed in the query, trigger as fast as possible, append mode, "
        "memory sink, checkpoint on the same disk; sources: socket, and text files renamed into a folder each 100 ms; "
        + ", ".join(f"{name}={value}" for name, value in SPARK_SETTINGS.items()),
    ]


NOTES = [
    "latency is from the intended time in the sender's schedule, whether or not the sender kept it, to the "
    "commit of the result; "
    "for a window once from its last event and once from its end",
    "a window cannot close before the first event of the next second, which is due at the window's end; its last event "
    "is due 10 ms before that",
    "Waterclock's time is when another process, which looks every 2 ms, sees the result among the committed "
    "output stream. "
    "Structured Streaming's is the modification time of the batch's file in the commits folder (file times are coarse, "
    "by some ms), without the time of a reader",
    "the ratio takes Waterclock with the sender in another process, and the faster of Structured Streaming's variants",
    "a push returns when the rows are durable (fsync); it may hold up the sender, whose overdue batches then go out "
    "together, counted from their intended times. The socket source keeps nothing and cannot recover, and the "
    "memory sink is lost with "
    "the driver: both favour Structured Streaming. Files are the fault-tolerant source here; their 100 ms are "
    "part of the latency",
    "not measured: Structured Streaming's real-time mode, continuous mode and asynchronous progress tracking; some "
    "of them may be faster than what is shown, above all for grep",
    "a run is void when the 99th percentile of the sender's own lateness (what a send still under way does not "
    "explain) is over 1 % of the schedule's length; a slow send never voids a run, it counts as latency",
    "sender, engine and observer share the machine's cores",
]
