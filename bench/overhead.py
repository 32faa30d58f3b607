"""What an epoch costs beside its Spark job, and what an app costs that has nothing to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench import hopping, latency
from bench.common import Section, Table, run, scratch, spread

IDLE_SECONDS = 5.0


def measure(
    throughput: hopping.Sizes, pace: latency.Sizes, tell: Callable[[str], None], kept: dict[str, Any]
) -> Section:
    """Uses what the other benchmarks kept; runs Waterclock's side where they were not run."""
    if "latency window" not in kept:
        live = latency.Runs()
        for _ in range(pace.runs):
            tell("overhead: " + latency.waterclock_run(pace, "window", "process", live))
        kept["latency window"] = {"overhead": live.overhead, "epoch": live.epoch}
    for epoch_rows in throughput.epochs:
        if f"hopping {epoch_rows}" not in kept:
            runs = hopping.Runs()
            for _ in range(throughput.runs):
                tell(f"overhead: hopping, epochs of {epoch_rows}")
                hopping.waterclock_run(throughput, epoch_rows, runs)
            kept[f"hopping {epoch_rows}"] = {"overhead": runs.overhead, "epoch": runs.epoch}
    table = Table(["during", "epoch, ms", "of that outside the Spark job, ms", "runs"])
    summary: list[list[str]] = []
    for name, figures in kept.items():
        outside = spread(figures["overhead"], 2, 1000)
        table.rows.append([name, spread(figures["epoch"], 1, 1000), outside, str(len(figures["overhead"]))])
        summary.append([f"driver overhead per epoch, {name}, ms", outside, "-", "-"])
    notes = [
        "Waterclock's own figures (medians of the last 500 epochs of a run, from handle.status()), not measured "
        "from outside: "
        "from the start of an epoch's execution to the end of its commit, without the time in the runner"
    ]
    return Section("overhead", "Driver overhead per epoch", table, [], notes, summary)


def idle(tell: Callable[[str], None]) -> Section:
    tell("idle: an app without input")
    with scratch() as here:
        result = run("bench.idle_waterclock", {"store": str(here / "store"), "seconds": IDLE_SECONDS}, here)
    table = Table(["seconds without input", "Spark jobs", "epochs", "CPU s (driver, JVM, workers)"])
    table.rows.append([f"{IDLE_SECONDS:g}", str(result["jobs"]), str(result["epochs"]), f"{result['cpu']:.2f}"])
    notes = [f"the scheduler's own count of jobs, {result['before']} before (warming up and one pushed row)"]
    summary = [[f"Spark jobs of an idle app in {IDLE_SECONDS:g} s", str(result["jobs"]), "-", "-"]]
    return Section("idle", "An idle app", table, [], notes, summary)
