"""A process of its own that watches a store from outside: when was which epoch committed, which row visible."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import polars as pl

from bench.common import arguments, say
from waterclock.catalog import Catalog
from waterclock.runtime.log import StreamReader

VERTEX = "out"


def commits(catalog: Catalog, pause: float, name: str = VERTEX) -> None:
    """Until the parent says anything: the time, the input rows and the state rows of each commit that is seen."""
    over = threading.Event()

    def listen() -> None:
        input()
        over.set()

    threading.Thread(target=listen, daemon=True).start()
    seen: list[tuple[float, int]] = []
    state: list[int] = []
    started: float | None = None
    there = False
    while True:
        last_look = over.is_set()
        there = there or any(vertex.name == name for vertex in catalog.epochs.vertices())
        if there:
            taken = sum(catalog.epochs.snapshot(name).positions.values())
            if started is None and catalog.epochs.pending(name) is not None:
                started = time.time()
            if taken > (seen[-1][1] if seen else 0):
                seen.append((time.time(), taken))
                state.append(catalog.epochs.state_size(name)[1])
        if last_look:
            break
        time.sleep(pause)
    say("commits", commits=seen, state=state, started=started)


def rows(catalog: Catalog, wanted: int, deadline: float, pause: float, target: Path) -> None:
    """Until ``wanted`` rows are there: each with the time when it was seen to be committed, and to be durable.

    While it watches it only looks at two numbers, so as not to take part in what it measures.
    """
    visible: list[tuple[int, float]] = []
    durable: list[tuple[int, float]] = []
    surplus_until: float | None = None
    while time.time() < min(deadline, surplus_until or deadline):
        row = catalog.streams.get(VERTEX)
        now = time.time()
        for mark, seen in ((row.next, visible), (row.durable, durable)):
            _note(seen, mark, now)
        if surplus_until is None and row.next >= wanted:
            surplus_until = now + 1.0  # rows that should not be there would come now
        time.sleep(pause)
    frame = StreamReader(catalog, VERTEX).read(0, visible[-1][0] if visible else 0)
    frame.with_columns(_seen(visible, frame.height, "seen"), _seen(durable, frame.height, "durable")).write_parquet(
        target
    )
    say("rows", rows=frame.height, looks=len(visible))


def _note(seen: list[tuple[int, float]], mark: int, now: float) -> None:
    """Rows that were rolled back are there when they have been computed again; those before them stay."""
    before = now
    while seen and mark < seen[-1][0]:
        before = seen.pop()[1]
    if mark > (seen[-1][0] if seen else 0):
        seen.append((mark, before))


def _seen(marks: list[tuple[int, float]], height: int, name: str) -> pl.Series:
    """For each row, the time of the first mark behind it."""
    times: list[float | None] = []
    for end, at in marks:
        times += [at] * (min(end, height) - len(times))
    times += [None] * (height - len(times))
    return pl.Series(name, times, dtype=pl.Float64)


def main() -> None:
    given = arguments()
    catalog = Catalog.open(given["store"])
    say("ready")
    if given["what"] == "commits":
        commits(catalog, given["pause"], given["vertex"])
    else:
        rows(catalog, given["wanted"], given["deadline"], given["pause"], Path(given["target"]))


if __name__ == "__main__":
    main()
