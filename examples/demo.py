"""Runs examples/alerts.py on Spark, kills it half way with SIGKILL, starts it again, and proves that nothing is amiss.

The expected results are computed here with plain Polars, straight from the event generator: no code of waterclock's
operators, state or recovery takes part. They must equal what the output streams and the sink's file hold, window by
window.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import alerts as app
import polars as pl
from rich.console import Console
from rich.live import Live
from rich.table import Table

from waterclock.catalog import Catalog
from waterclock.runtime.log import StreamReader
from waterclock.time import show_instant

HERE = Path(__file__).parent
SECOND = 1_000_000
SPARK_START = 9
"""Seconds that two starts of Spark add to the length of the streams, roughly."""
PLAIN_EVERY = 3.0
OUTPUTS = ("alerts_per_user", "activity")
SINK = "alerts_per_user.jsonl"
SOURCES = {"alerts": app.ALERT_RATE, "process_events": app.PROCESS_RATE}

console = Console()


class Demo:
    def __init__(self, folder: Path, seconds: int) -> None:
        self.seconds = max(4, seconds - SPARK_START)
        self.store = folder / "store"
        self.folder = folder
        if folder.exists() and not {path.name for path in folder.iterdir()} <= {"store", "run1.log", "run2.log"}:
            raise SystemExit(f"{folder} holds other things than this demo's: name another folder with --out.")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.catalog = Catalog.open(self.store, create=True)
        self.began = time.monotonic()
        self.plain_at = 0.0
        self.runs = 0
        self.rows_at_start = 0

    # -- running -------------------------------------------------------------------------------------------

    def start(self) -> subprocess.Popen[bytes]:
        self.runs += 1
        self.rows_at_start = self.taken()
        command = ["run", str(HERE / "alerts.py"), "--store", str(self.store), "--mode", "drain"]
        console.print(f"[bold]$ waterclock {' '.join(command)}[/bold]", highlight=False, soft_wrap=True)
        with open(self.folder / f"run{self.runs}.log", "wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "waterclock.cli.main", *command],
                env={**os.environ, "ALERTS_SECONDS": str(self.seconds)}, stdout=log, stderr=log,
            )  # fmt: skip

    def watch(self, child: subprocess.Popen[bytes], kill_at: float | None) -> None:
        """Shows the store until the child ends, or until its streams are ``kill_at`` seconds long."""
        with Live(console=console, refresh_per_second=8, transient=True) as live:
            while child.poll() is None:
                if console.is_terminal:
                    live.update(self.table())
                elif time.monotonic() - self.plain_at >= PLAIN_EVERY:
                    self.plain_at = time.monotonic()
                    live.console.print(self.line(), highlight=False, soft_wrap=True)
                if kill_at is not None and self.length() >= kill_at:
                    child.send_signal(signal.SIGKILL)
                    child.wait()
                    break
                time.sleep(0.05)
        console.print(self.table() if console.is_terminal else self.line(), highlight=False, soft_wrap=True)
        if kill_at is None and child.returncode != 0:
            console.print((self.folder / f"run{self.runs}.log").read_text(), highlight=False, markup=False)
            raise SystemExit(f"The app ended with exit code {child.returncode}.")

    def length(self) -> float:
        """Seconds of events so far; 0 before the first epoch."""
        if any(epoch < 0 for epoch in self.epochs().values()):
            return 0.0
        return self.taken() / app.ALERT_RATE

    def taken(self) -> int:
        return self.catalog.streams.marks().get("alerts", (0, 0))[0]

    def epochs(self) -> dict[str, int]:
        committed = {vertex.name: vertex.epoch for vertex in self.catalog.epochs.vertices()}
        return {name: committed.get(name, -1) for name in OUTPUTS}

    # -- showing -------------------------------------------------------------------------------------------

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        marks, epochs = self.catalog.streams.marks(), self.epochs()
        shown: list[tuple[str, str, str, str, str]] = []
        for name in (*SOURCES, *OUTPUTS):
            number, cti = marks.get(name, (0, -(2**63)))
            epoch = backlog = ""
            if name in OUTPUTS and epochs[name] >= 0:
                at = self.catalog.epochs.snapshot(name).positions
                epoch, backlog = f"{epochs[name]:,}", f"{sum(marks[s][0] - n for s, n in at.items()):,}"
            shown.append((name, f"{number:,}", epoch, backlog, show_instant(cti)[11:21] or show_instant(cti)))
        return shown

    @property
    def doing(self) -> str:
        return "starting Spark" if self.taken() == self.rows_at_start else "running"

    def table(self) -> Table:
        title = f"{time.monotonic() - self.began:.1f} s, process {self.runs} of 2, {self.doing}"
        table = Table(title=title, title_justify="left")
        for column in ("stream", "rows", "epoch", "backlog", "complete up to"):
            table.add_column(column, justify="left" if column == "stream" else "right", min_width=12)
        for row in self.rows():
            table.add_row(*row)
        return table

    def line(self) -> str:
        parts = [f"{name} {rows}" + (f" (epoch {epoch})" if epoch else "") for name, rows, epoch, _, _ in self.rows()]
        what = f"{self.doing} ..." if self.taken() == self.rows_at_start else "rows: " + ", ".join(parts)
        return f"{time.monotonic() - self.began:5.1f} s  {what}"

    # -- proving -------------------------------------------------------------------------------------------

    def generated(self, stream: str) -> pl.DataFrame:
        """All events of a source, made again; only the time of its first event is taken from the store."""
        rate = SOURCES[stream]
        start = self.catalog.streams.get(stream).position["start"]
        n = pl.int_range(rate * self.seconds, eager=True).alias("n")
        times = (start + n * SECOND // rate).cast(pl.Datetime("us", "UTC")).alias("ts")
        make = app.make_alerts if stream == "alerts" else app.make_process_events
        return make(pl.DataFrame([n, times])).with_columns(t=pl.col("ts").to_physical())

    def expected(self) -> dict[str, pl.DataFrame]:
        severe = self.generated("alerts").filter(pl.col("severity") >= 4)
        started = self.generated("process_events").filter(pl.col("kind") == "start")
        # A second belongs to the five windows that end 1 .. 5 seconds after its start; an answer holds for one second.
        ends = pl.concat(
            severe.with_columns(valid_from=pl.col("t") // SECOND * SECOND + k * SECOND) for k in range(1, 6)
        )
        recent = ends.group_by("valid_from", "user").agg(alerts=pl.len().cast(pl.Int64), worst=pl.max("severity"))
        both = pl.concat([severe.select("t", "user", alert=1), started.select("t", "user", alert=0)])
        window = pl.col("t") // (5 * SECOND) * (5 * SECOND)
        busy = both.group_by(window.alias("valid_from"), "user").agg(
            events=pl.len().cast(pl.Int64), alerts=pl.sum("alert").cast(pl.Int64)
        )
        return {
            "alerts_per_user": recent.with_columns(valid_to=pl.col("valid_from") + SECOND),
            "activity": busy.with_columns(valid_to=pl.col("valid_from") + 5 * SECOND),
        }

    def found(self, stream: str) -> pl.DataFrame:
        rows = StreamReader(self.catalog, stream).read(0, self.catalog.streams.get(stream).next)
        return rows.rename({"_vs": "valid_from", "_ve": "valid_to"})

    def delivered(self) -> pl.DataFrame:
        """What the sink of alerts_per_user wrote."""
        times = pl.col("valid_from", "valid_to").str.to_datetime(time_unit="us", time_zone="UTC").to_physical()
        return pl.read_ndjson(self.store / SINK).with_columns(times)

    def prove(self) -> bool:
        proof = Table(title="PROOF: expected (plain Polars, from the generator) against found", title_justify="left")
        for column in ("rows of", "expected", "found", "missing", "repeated", "wrong", ""):
            proof.add_column(column, justify="left" if column in ("rows of", "") else "right")
        good = True
        for name, rate in SOURCES.items():
            row = self.catalog.streams.get(name)
            same = row.next == rate * self.seconds and row.counters == {"rows": row.next}
            good &= same
            proof.add_row(name, f"{rate * self.seconds:,}", f"{row.next:,}", *[""] * 3, _mark(same))
        expected = self.expected()
        found = {name: self.found(name) for name in OUTPUTS} | {SINK: self.delivered()}
        for name, rows in found.items():
            holds, cells = compare(expected[name.removesuffix(".jsonl")], rows)
            good &= holds
            proof.add_row(name, *cells, _mark(holds))
        console.print(proof)
        return good

    def busiest(self) -> Table:
        rows = self.found("activity").group_by("user").agg(pl.sum("events", "alerts"))
        table = Table(title="The busiest users", title_justify="left")
        for column in ("user", "events", "severe alerts", ""):
            table.add_column(column, justify="left" if column in ("user", "") else "right")
        top = rows.sort("events", "user", descending=[True, False]).head(5)
        most = int(top["events"][0])
        for user, events, severe in top.iter_rows():
            table.add_row(user, f"{events:,}", f"{severe:,}", "█" * round(20 * events / most))
        return table


def compare(expected: pl.DataFrame, found: pl.DataFrame) -> tuple[bool, list[str]]:
    """Both as sets of rows with how often each occurs."""
    columns = sorted(expected.columns)
    left = expected.group_by(columns).agg(wanted=pl.len().cast(pl.Int64))
    right = found.group_by(columns).agg(there=pl.len().cast(pl.Int64))
    both = left.join(right, on=columns, how="full", coalesce=True).fill_null(0)
    wanted, there = pl.col("wanted"), pl.col("there")
    missing, repeated, wrong = both.select(
        missing=(wanted - there).clip(0).sum(),
        repeated=pl.when(wanted > 0).then((there - wanted).clip(0)).sum(),
        wrong=pl.when(wanted == 0).then(there).sum(),
    ).row(0)
    cells = [f"{expected.height:,}", f"{found.height:,}", f"{missing:,}", f"{repeated:,}", f"{wrong:,}"]
    return expected.height > 0 and not (missing or repeated or wrong), cells


def _mark(good: bool) -> str:
    return "[green]ok[/green]" if good else "[red bold]FAILED[/red bold]"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30, help="about how long it takes (default: 30)")
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="where the store goes (default: ./demo-out)")
    options = parser.parse_args()
    demo = Demo(options.out, options.seconds)
    console.print(
        f"Two live streams, {sum(SOURCES.values()):,} events a second for {demo.seconds} s, counted per user.\n"
        "Spark starts, which takes some seconds ...", highlight=False,
    )  # fmt: skip

    child = demo.start()
    try:
        kill_at = demo.seconds * random.uniform(0.35, 0.65)
        demo.watch(child, kill_at)
        before = demo.epochs()
        flying = {name: demo.catalog.epochs.pending(name) for name in OUTPUTS}
        console.print(f"\n[red bold]kill -9 {child.pid}[/red bold], {kill_at:.2f} s into the streams (a random moment)")
        for name, intent in flying.items():
            what = f"epoch {intent.epoch} was in flight" if intent else "between two epochs"
            console.print(f"  {name}: epochs 0..{before[name]} were committed, {what}", highlight=False)
        console.print("The events of the pause wait: the source catches up. Starting again ...\n")
        child = demo.start()
        demo.watch(child, None)
    except KeyboardInterrupt:
        child.terminate()
        child.wait()
        return 130

    after = demo.epochs()
    for name in OUTPUTS:
        console.print(f"  {name}: epochs {before[name] + 1}..{after[name]} after the kill", highlight=False)
    console.print()
    good = demo.prove()
    console.print(demo.busiest())
    if good:
        console.print("[green bold]Nothing lost, nothing repeated[/green bold], in spite of kill -9. Look around:")
        console.print(f"  waterclock tail alerts_per_user --store {demo.store}", highlight=False, soft_wrap=True)
    else:
        console.print("[red bold]The proof failed.[/red bold] The store is kept for a look at it:", str(demo.store))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
