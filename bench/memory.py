"""A join with many live rows: the memory of all processes of the engine together, sampled while they run."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import psutil

from bench import answers
from bench.algebra import Query, commits, waterclock
from bench.common import MASTER, Section, Table, spread
from bench.data import PAIR_PAYLOAD, Pairs

DAY = 86_400_000_000
LIVES = (DAY, DAY)
TARGET = 3.0
GIB = 2**30
KINDS = ("Pss", "Pss_Anon", "Pss_File", "Pss_Shmem", "Rss", "Private_Clean", "Private_Dirty")
_LINE = re.compile(r"(\w+): +(\d+) kB")


@dataclass(frozen=True)
class Sizes:
    pairs: Pairs
    epoch_rows: int
    """Of each side."""
    runs: int


FULL = Sizes(Pairs(rows=5_000_000, file_rows=250_000), 250_000, 3)
QUICK = Sizes(Pairs(rows=24_000, file_rows=2_000), 4_000, 1)


class Sampler:
    """Adds up the memory of a process and all below it, again and again. The benchmark's own watcher is left out."""

    def __init__(self, pause: float = 0.25) -> None:
        self.samples: list[dict[str, int]] = []
        self._pause = pause
        self._over = threading.Event()

    def __call__(self, pid: int) -> Sampler:
        self._thread = threading.Thread(target=self._sample, args=(pid,), daemon=True)
        return self

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def peak(self) -> dict[str, int]:
        """The sample with the greatest proportional size."""
        return max(self.samples, key=lambda sample: sample["Pss"])

    def _sample(self, pid: int) -> None:
        while not self._over.wait(self._pause):
            total = dict.fromkeys((*KINDS, "processes"), 0)
            for process in family(pid):
                for kind, size in memory_of(process).items():
                    total[kind] += size
                total["processes"] += 1
            if total["Pss"]:
                self.samples.append(total)


def family(pid: int) -> list[int]:
    found = []
    try:
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            try:
                if "bench.watch" not in process.cmdline():
                    found.append(process.pid)
            except psutil.Error:
                pass  # it ended meanwhile
    except psutil.Error:
        pass
    return found


def memory_of(pid: int) -> dict[str, int]:
    """Bytes by kind. Pages that several processes share count in ``Pss`` once over all of them."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return {}
    return {kind: int(kb) * 1024 for kind, kb in _LINE.findall(text) if kind in KINDS}


@dataclass
class Runs:
    peaks: list[dict[str, int]] = field(default_factory=list)
    state: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    def gib(self, *kinds: str) -> str:
        return spread([sum(peak[kind] for kind in kinds) / GIB for peak in self.peaks], 2)

    def cells(self) -> list[str]:
        """For the columns of ``COLUMNS``."""
        kinds = (("Pss",), ("Private_Clean", "Private_Dirty"), ("Pss_Anon",), ("Pss_File", "Pss_Shmem"), ("Rss",))
        return [*(self.gib(*kind) for kind in kinds), spread([peak["processes"] for peak in self.peaks])]


COLUMNS = ["peak PSS, GiB", "of that private", "anonymous", "mapped files and shared", "RSS added up, GiB", "processes"]
PEAK_NOTES = [
    "PSS (/proc/PID/smaps_rollup) of driver, JVM and Python workers added up, 4 times a second: private memory, and "
    "shared memory counted once; the columns behind it are of the same moment",
    "RSS added up counts what processes share several times",
    "mapped files belong to the page cache: the kernel may take them back",
]


def one_run(query: Query, into: Runs) -> None:
    sampler = Sampler()
    result = waterclock(query, sampler)
    seen = commits(result, query.rows)
    into.peaks.append(sampler.peak())
    into.state.append(max(result["state"]))
    into.rates.append(seen[-1][1] / (seen[-1][0] - result["started"]))


def measure(sizes: Sizes, tell: Callable[[str], None]) -> Section:
    tell("memory: making the files and the answer")
    query = Query("join", sizes.pairs, LIVES, sizes.epoch_rows, lambda: answers.pairs(sizes.pairs, LIVES))
    query.answer()
    runs = Runs()
    for _ in range(sizes.runs):
        one_run(query, runs)
        tell(f"memory: {runs.peaks[-1]['Pss'] / GIB:.2f} GiB with {runs.state[-1]:,.0f} rows of state")
    table = Table(["live rows", *COLUMNS, "rows/s from first to last", "runs"])
    table.rows.append([spread(runs.state), *runs.cells(), spread(runs.rates), str(len(runs.peaks))])
    live = f"{2 * sizes.pairs.rows:,}"
    summary = [[f"join with {live} live rows, peak PSS in GiB (target below {TARGET:g})", runs.gib("Pss"), "-", "-"]]
    settings = [
        f"input: the two streams of the join benchmark with {sizes.pairs.rows:,} events each of {16 + PAIR_PAYLOAD} "
        f"bytes, all of which live longer than the run: {live} live rows at its end",
        f"Waterclock: drain mode on {MASTER}, files read in place, epochs of 2 x {sizes.epoch_rows:,} rows, everything "
        "else at its default",
    ]
    notes = [*PEAK_NOTES, "every run's output was compared with the answer"]
    return Section("memory", "Memory of a large join", table, settings, notes, summary)
