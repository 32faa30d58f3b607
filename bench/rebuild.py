"""How long it takes to have lost state again: by the number of key ranges lost, and by the age of the checkpoint."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass

from bench import plot
from bench.common import MASTER, Section, Table, run, scratch, spread
from bench.data import PAIR_PAYLOAD, Load
from bench.rebuild_waterclock import RANGES


@dataclass(frozen=True)
class Sizes:
    rate: int
    """Events of each side in a second."""
    base: int
    """Seconds of input in the checkpoint."""
    behind: tuple[int, ...]
    """Seconds of input since the checkpoint."""
    lost: tuple[int, ...]
    """Key ranges, of all."""
    lives: tuple[int, int]
    match: int
    mode: str
    runs: int


FULL = Sizes(50_000, 30, (1, 5, 10, 30), (1, 2, 4, 8), (20, 10), 2, "live", 3)
QUICK = Sizes(1_000, 3, (1, 2), (1, 8), (3, 2), 1, "offline", 1)


def waterclock_run(sizes: Sizes, behind: int) -> list[dict[str, float]]:
    with scratch() as here:
        given = {**asdict(sizes), "load": asdict(Load(rate=sizes.rate)), "behind": behind, "folder": str(here)}
        found: list[dict[str, float]] = run("bench.rebuild_waterclock", given, here)["found"]
    return found


def measure(sizes: Sizes, tell: Callable[[str], None]) -> Section:
    found: dict[tuple[int, int], list[dict[str, float]]] = {}
    for behind in sizes.behind:
        for figures in waterclock_run(sizes, behind):
            found.setdefault((behind, int(figures["lost"])), []).append(figures)
        for lost in sizes.lost:
            seconds = [each["rebuild"] for each in found[behind, lost]]
            tell(f"rebuild: {behind} s behind the checkpoint, {lost} of {RANGES} ranges: {spread(seconds, 3)} s")
    table = Table(["input since the checkpoint, s", "its events", "ranges lost", "keys computed", "state lost, MB",
                   "finding out, s", "rebuild, s", "runs"])  # fmt: skip
    middle: dict[tuple[int, int], float] = {}
    for (behind, lost), several in found.items():
        middle[behind, lost] = statistics.median(each["rebuild"] for each in several)
        table.rows.append(
            [str(behind), f"{2 * sizes.rate * behind:,}", f"{lost} of {RANGES}", f"{several[0]['share']:.0%}",
             f"{several[0]['bytes'] / 1e6:,.1f}", spread([each["check"] for each in several], 3),
             spread([each["rebuild"] for each in several], 3), str(len(several))]
        )  # fmt: skip
    drawing = plot.draw(
        "Rebuilding lost state", "seconds of input since the checkpoint", "seconds until it is there again",
        {f"{lost} of {RANGES} key ranges lost": [(behind, middle[behind, lost]) for behind in sizes.behind]
         for lost in sizes.lost},
    )  # fmt: skip
    points = [[behind, lost, f"{seconds:.4f}"] for (behind, lost), seconds in middle.items()]
    figure = plot.save("rebuild", ["seconds since the checkpoint", "ranges lost", "rebuild"], points, drawing)
    least, most = sizes.lost[0], sizes.lost[-1]
    oldest = sizes.behind[-1]
    summary = [
        [f"rebuild, {oldest} s of input since the checkpoint, {lost} of {RANGES} key ranges lost, s",
         spread([each["rebuild"] for each in found[oldest, lost]], 3), "-", "-"]
        for lost in (least, most)
    ]  # fmt: skip
    return Section("rebuild", "Rebuilding lost state", table, _settings(sizes), NOTES, summary, figure)


def _settings(sizes: Sizes) -> list[str]:
    where = f"on {MASTER}" if sizes.mode != "offline" else "in one process, without Spark"
    return [
        f"query: the join of the benchmark of recovery; two streams of {sizes.rate:,} events/s of {16 + PAIR_PAYLOAD} "
        f"bytes, which live {sizes.lives[0]} s and {sizes.lives[1]} s; {sizes.base} s of them in the last checkpoint",
        f"{RANGES} key ranges; the state runs since the checkpoint of so many of them are overwritten with zeros",
        f"rebuild() alone, {where}, in a process that has done it once before; each time on a copy of the same store",
    ]


NOTES = [
    "not included: the start of a process; finding out, which is reading what was not synced, is shown by itself",
    "keys computed: of the key space; what a lost run shares with others is lost with it",
]
