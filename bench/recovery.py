"""StreamScope's figure 15: the latency of a join around a failure, by strategy of recovery, at a fixed rate.

The driver is killed with its JVM and its workers. Where it is started again, all that was not synced is destroyed
too, as by a power cut; where another driver stands by, the store stays as it is.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import psutil

from bench import plot
from bench.bounded import FORMAT
from bench.common import (
    MASTER,
    SPARK_SETTINGS,
    ChildFailed,
    Section,
    Settled,
    Table,
    hear,
    ratio,
    scratch,
    settle,
    spread,
    start,
    written,
)  # fmt: skip
from bench.data import PAIR_PAYLOAD, TICK_MS, Load
from bench.expected import compare
from bench.join import MORE_SETTINGS
from bench.latency_waterclock import next_start
from bench.loss import destroy, undurable
from bench.recovery_sender import EVERY, files, first_match, matches, rows, wanted
from waterclock.catalog import Catalog

PATIENCE = 120.0
BACK = 2.0
"""Latency is back when it is below so many times its median before the failure."""
SLICE = 0.5
"""Seconds of the figure's points."""


@dataclass(frozen=True)
class Sizes:
    load: Load
    """Of each side."""
    kill: int
    """When, in seconds of the schedule."""
    warm: int
    """Before the failure, results from this second on are counted."""
    behind: int
    lives: tuple[int, int]
    """Seconds that an event of the left, and of the right, lives."""
    stores: tuple[str, ...]
    runs: int


FULL = Sizes(Load(seconds=45), 20, 10, 2, (20, 10), ("in-memory", "rocksdb"), 3)
QUICK = Sizes(Load(seconds=25, rate=200), 15, 3, 1, (4, 2), ("in-memory",), 1)


@dataclass(frozen=True)
class Way:
    """How Waterclock goes on."""

    strategy: str
    standby: bool

    @property
    def title(self) -> str:
        beside = "two drivers" if self.strategy == "replicate" else "warm standby"
        return f"{self.strategy}, {beside if self.standby else 'restarted'}"


WAYS = (Way("checkpoint", False), Way("replay", False), Way("replicate", True), Way("checkpoint", True))


@dataclass(frozen=True)
class Outage:
    """What a failure did to the results."""

    usual: float
    """The median latency before."""
    worst: float
    recovery: float | None
    """Seconds from the failure to the first commit in time of events that were sent after it; None: not in this run."""
    gap: float
    """The longest time without a commit, from the last one before the failure on."""
    curve: list[tuple[float, float]]
    """Second of the schedule when the latest event was sent, and median latency."""

    @staticmethod
    def of(found: pl.DataFrame, start: float, killed: float, warm: float) -> Outage:
        """``found``: a row per result, with the times when its latest event was ``sent`` and it was ``seen``."""
        rows = found.with_columns(latency=pl.col("seen") - pl.col("sent"))
        before = rows.filter((pl.col("seen") >= start + warm) & (pl.col("seen") < killed))
        if not before.height:
            raise ValueError("no result was seen before the failure")
        usual = float(before["latency"].median())  # type: ignore[arg-type]
        # Not what was on its way: the results of events that were sent after the failure.
        later = rows.filter(pl.col("sent") >= killed).group_by("seen").agg(pl.col("latency").median()).sort("seen")
        back = later.filter(pl.col("latency") <= BACK * usual)["seen"]
        times = rows["seen"].unique().sort()
        times = times.filter(times >= before["seen"].max())
        second = ((pl.col("sent") - start) / SLICE).floor() * SLICE
        curve = rows.group_by(second.alias("second")).agg(pl.col("latency").median()).sort("second").rows()
        return Outage(
            usual, float(rows.filter(pl.col("seen") >= killed)["latency"].max() or 0.0),  # type: ignore[arg-type]
            float(back[0]) - killed if back.len() else None,
            float(times.diff().max() or 0.0), curve,  # type: ignore[arg-type]
        )  # fmt: skip


@dataclass
class Runs:
    outages: list[Outage] = field(default_factory=list)
    destroyed: list[float] = field(default_factory=list)
    """Bytes that were not synced."""

    @property
    def recoveries(self) -> list[float]:
        return [outage.recovery for outage in self.outages if outage.recovery is not None]

    @property
    def middle(self) -> Outage:
        return sorted(self.outages, key=lambda each: each.recovery or float("inf"))[len(self.outages) // 2]


def kill(child: subprocess.Popen[str]) -> None:
    """With all that it started: Python's workers are in groups of their own."""
    try:
        family = psutil.Process(child.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    if child.poll() is None:
        os.kill(child.pid, signal.SIGKILL)
    for each in family:
        try:
            each.kill()
        except psutil.NoSuchProcess:
            pass
    child.wait()


@contextmanager
def ended(log: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Children in the list are gone afterwards; an error is shown with what they said last."""
    children: list[subprocess.Popen[str]] = []
    try:
        yield children
    except Exception as error:
        raise ChildFailed(f"{error}\n{log.read_text()[-4000:] if log.exists() else ''}") from error
    finally:
        for child in children:
            kill(child)


def waterclock_run(sizes: Sizes, way: Way, into: Runs) -> Outage:
    with scratch() as here, ended(log := here / "log.txt") as children:
        store, target = here / "store", here / "found.parquet"
        asked = {"store": str(store), "lives": sizes.lives, "strategy": way.strategy, "standby": False, "driver": "a"}

        def child(module: str, given: dict[str, Any], ready: bool = True) -> subprocess.Popen[str]:
            children.append(start(module, given, log, own_group=True))
            if ready:
                hear(children[-1], "ready")
            return children[-1]

        first = child("bench.recovery_waterclock", asked)
        if way.standby:
            child("bench.recovery_waterclock", {**asked, "standby": True, "driver": "b"})
        sender = child("bench.recovery_sender", {**_sent(sizes), "how": "push", "store": str(store)})
        load = sizes.load
        watched = {"store": str(store), "what": "rows", "wanted": matches(load, sizes.behind), "pause": 0.005,
                   "target": str(target), "deadline": time.time() + load.seconds + PATIENCE}  # fmt: skip
        watcher = child("bench.watch", watched)
        start_ms = next_start()
        _begin(sender, start_ms)
        catalog = Catalog.open(store)
        killed = _kill_at(first, start_ms / 1000 + sizes.kill)
        if not way.standby:
            into.destroyed.append(destroy(store, undurable(catalog)))
            child("bench.recovery_waterclock", asked, ready=False)
        catalog.close()
        hear(sender, "sent")
        hear(watcher, "rows")
        found = pl.read_parquet(target).select("key", "seen", start=pl.col("_vs"))
        answer = wanted(load, sizes.behind, start_ms)
        return _judged(sizes, found, answer, start_ms, killed, f"waterclock {way.title}")


def spark_run(sizes: Sizes, state: str) -> Outage:
    with scratch() as here, ended(log := here / "log.txt") as children:
        for side in ("left", "right"):
            (here / "in" / side).mkdir(parents=True)
        asked = {"folder": str(here / "in"), "state": state, "version": FORMAT[state], "lives": sizes.lives,
                 "target": str(here / "out"), "checkpoint": str(here / "checkpoint")}  # fmt: skip
        first = start("bench.recovery_spark", asked, log, own_group=True)
        children.append(first)
        hear(first, "ready")
        _first_batch(sizes, here)
        sender = start("bench.recovery_sender", {**_sent(sizes), "how": "files", "folder": str(here / "in")}, log)
        children.append(sender)
        hear(sender, "ready")
        start_ms = next_start()
        answer = wanted(sizes.load, sizes.behind, start_ms)
        _begin(sender, start_ms)
        killed = _kill_at(first, start_ms / 1000 + sizes.kill)
        children.append(start("bench.recovery_spark", asked, log, own_group=True))
        hear(sender, "sent")
        deadline = time.time() + PATIENCE
        while (found := committed(here / "out", here / "checkpoint")).height < answer.height:
            if time.time() > deadline:
                break
            time.sleep(1.0)
        return _judged(sizes, found, answer, start_ms, killed, f"Structured Streaming {state}")


def _first_batch(sizes: Sizes, here: Path) -> None:
    """An event of each side, without a match: the first batch takes seconds, which is not what is measured."""
    for number, side in enumerate(("left", "right")):
        event = rows(sizes.load, sizes.behind, False, 0, 1, int(time.time() * 1000)).head(1)
        files(here / "in", side, 99_999_999, event.with_columns(key=pl.lit(-1_000_000_000 - number, pl.Int64)))
    deadline = time.time() + PATIENCE
    while not written(here / "checkpoint" / "commits"):
        if time.time() > deadline:
            raise ChildFailed("Structured Streaming has not committed a batch")
        time.sleep(0.1)


def committed(target: Path, checkpoint: Path) -> pl.DataFrame:
    """What the log of the file sink names, with the time when the batch was noted in the log of commits."""
    times = written(checkpoint / "commits")
    log = target / "_spark_metadata"
    frames = [pl.DataFrame(schema={"key": pl.Int64, "start": pl.Int64, "seen": pl.Float64})]
    known: set[str] = set()
    batches = {int(path.name.removesuffix(".compact")): path for path in log.glob("[0-9]*")} if log.exists() else {}
    for batch, path in sorted(batches.items()):
        # A compacted log has the files of all batches until then.
        named = [json.loads(line)["path"].removeprefix("file://") for line in path.read_text().splitlines()[1:]]
        for file in named:
            if file not in known and batch in times:
                frames.append(pl.read_parquet(file, columns=["key", "start"]).with_columns(seen=pl.lit(times[batch])))
        if batch in times:
            known.update(named)
    return pl.concat(frames)


def _sent(sizes: Sizes) -> dict[str, Any]:
    return {"load": asdict(sizes.load), "behind": sizes.behind, "lives": sizes.lives}


def _begin(sender: subprocess.Popen[str], start_ms: int) -> None:
    assert sender.stdin is not None
    sender.stdin.write(f"{start_ms}\n")
    sender.stdin.flush()


def _kill_at(child: subprocess.Popen[str], at: float) -> float:
    time.sleep(max(0.0, at - time.time()))
    if child.poll() is not None:
        raise ChildFailed(f"{child.args!r} ended before it was killed")
    killed = time.time()
    kill(child)
    return killed


def _judged(sizes: Sizes, found: pl.DataFrame, answer: pl.DataFrame, start_ms: int, killed: float, what: str) -> Outage:
    compare(found.select("key", "start"), answer, what)
    rows = found.select("seen", sent=pl.col("start") / 1e6)
    return Outage.of(rows, start_ms / 1000, killed, sizes.warm)


def measure(sizes: Sizes, tell: Callable[[str], None]) -> Section:
    ours = {way: Runs() for way in WAYS}
    theirs = {state: Runs() for state in sizes.stores}
    for _ in range(sizes.runs):
        for way, runs in ours.items():
            _settle()
            runs.outages.append(waterclock_run(sizes, way, runs))
            tell(f"recovery: waterclock, {way.title}: {_line(runs.outages[-1])}")
        for state, runs in theirs.items():
            _settle()
            runs.outages.append(spark_run(sizes, state))
            tell(f"recovery: Structured Streaming, {state}, restarted: {_line(runs.outages[-1])}")
    named = {("Waterclock", way.title): runs for way, runs in ours.items()}
    named |= {("Structured Streaming", f"{state}, restarted"): runs for state, runs in theirs.items()}
    table = Table(["system", "strategy", "latency before, ms", "recovery, s", "longest gap, s", "highest latency, s",
                   "destroyed, MB", "back", "runs"])  # fmt: skip
    for (system, strategy), runs in named.items():
        table.rows.append(
            [system, strategy, spread([each.usual for each in runs.outages], 0, 1000), spread(runs.recoveries, 2),
             spread([each.gap for each in runs.outages], 2), spread([each.worst for each in runs.outages], 2),
             spread(runs.destroyed, 1, 1e-6) if runs.destroyed else "-", str(len(runs.recoveries)),
             str(len(runs.outages))]
        )  # fmt: skip
    best = min(theirs, key=lambda state: statistics.median(theirs[state].recoveries or [float("inf")]))
    summary = [
        [f"recovery after SIGKILL, {way.title}, s", spread(runs.recoveries, 2),
         f"{spread(theirs[best].recoveries, 2)} ({best}, restarted)", ratio(theirs[best].recoveries, runs.recoveries)]
        for way, runs in ours.items()
    ]  # fmt: skip
    for way, runs in ours.items():
        mine, other = ([each.gap for each in some.outages] for some in (runs, theirs[best]))
        summary.append(
            [f"longest time without results, {way.title}, s", spread(mine, 2), f"{spread(other, 2)} ({best})",
             ratio(other, mine)]
        )  # fmt: skip
    points = [
        [system, strategy, f"{second:g}", f"{latency:.4f}"]
        for (system, strategy), runs in named.items()
        for second, latency in runs.middle.curve
    ]
    drawing = plot.draw(
        "Latency of a join around a failure", "second in which the latest event was sent", "median latency, s",
        {f"{system}: {way}".replace("Structured Streaming", "Spark"): runs.middle.curve
         for (system, way), runs in named.items()},
        log_y=True, mark=(sizes.kill, "SIGKILL"),
    )  # fmt: skip
    figure = plot.save("recovery", ["engine", "strategy", "second", "latency"], points, drawing)
    return Section("recovery", "Latency around a failure", table, _settings(sizes), NOTES, summary, figure)


def _settle() -> None:
    if Settled.wanted:
        settle(())


def _line(outage: Outage) -> str:
    back = "not back" if outage.recovery is None else f"back after {outage.recovery:.2f} s"
    return f"{back}, gap {outage.gap:.2f} s, {1000 * outage.usual:,.0f} ms before"


def _settings(sizes: Sizes) -> list[str]:
    load = sizes.load
    return [
        f"load: {2 * load.rate:,} events/s, half of them on each side, of {16 + PAIR_PAYLOAD} bytes, for "
        f"{load.seconds} s, open loop, by a process of its own, one send of each side every {EVERY * TICK_MS} ms; the "
        "event time is the intended time of sending",
        f"query: inner join on key and overlap; an event of the left lives {sizes.lives[0]} s, of the right "
        f"{sizes.lives[1]} s, its match was sent {sizes.behind} s before; "
        f"{first_match(load, sizes.behind):,} events of the right have none",
        f"at second {sizes.kill} the driver with its JVM and workers gets SIGKILL; results from second {sizes.warm} on "
        f"are the latency before. Recovered: the first commit of events sent after the kill whose median latency is at "
        f"most {BACK:g} times that",
        f"Waterclock: live mode on {MASTER}, defaults; rows are pushed. Restarted: what was committed and not synced "
        "is overwritten with zeros (state behind the last checkpoint, with replay all state; output that was not "
        "stored), then the same command runs at once. Two drivers, warm standby: another process with its own Spark "
        "runs from the start, nothing is destroyed; with replicate it computes each epoch too, as a standby it only "
        "waits to take over",
        f"Structured Streaming: {MASTER}, Parquet files renamed into two folders, watermarks of 0 s, append mode, "
        "Parquet file sink, trigger as fast as possible, checkpoint on the same disk, nothing destroyed; "
        "the same command runs at once; formats of state "
        + ", ".join(f"{FORMAT[state]} ({state})" for state in sizes.stores) + "; "
        + ", ".join(f"{name}={value}" for name, value in {**SPARK_SETTINGS, **MORE_SETTINGS}.items()),
    ]  # fmt: skip


NOTES = [
    "the latency of a result is from the intended time of its latest event to its commit, as another process sees it "
    "(every 5 ms) for Waterclock, by the time of the batch's file in the log of commits for Structured Streaming; "
    "a result that was rolled back counts when it was committed again",
    "a restart of Structured Streaming is the start of Python, JVM and session, the first batches, and working off "
    "what came meanwhile; Waterclock computes in the driver until its Spark has started",
    "the curve is that of the run with the median recovery; every run's output was compared with the answer: each "
    "match once, none missing",
    "all processes share the machine's cores: a second driver takes from the first",
]
