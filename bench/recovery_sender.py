"""Two streams that match one to one, sent at a fixed rate: pushed, or as files. The event time is the send time."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl

from bench.common import arguments, say
from bench.data import PAIR_PAYLOAD, TICK_MS, Load
from bench.sender import pace

EVERY = 10
"""Ticks of a send: ten sends a second of each side."""


def first_match(load: Load, behind: int) -> int:
    """So many events of the right have no match: theirs would have come before the start."""
    return behind * 1000 // TICK_MS * load.batch


def matches(load: Load, behind: int) -> int:
    return load.batches * load.batch - first_match(load, behind)


def rows(load: Load, behind: int, right: bool, first: int, end: int, start_ms: int) -> pl.DataFrame:
    """Of the ticks ``[first, end)``: an event of the right matches the left one ``behind`` seconds before."""
    number = np.arange(first * load.batch, end * load.batch, dtype=np.int64)
    ts = pl.Series("ts", (start_ms + number // load.batch * TICK_MS) * 1000).cast(pl.Datetime("us", "UTC"))
    key = pl.Series("key", number - (first_match(load, behind) if right else 0))
    payload = (key.hash(load.seed).cast(pl.String).str.pad_end(PAIR_PAYLOAD, "x")).alias("payload")
    return pl.DataFrame([key, ts, payload])


def wanted(load: Load, behind: int, start_ms: int) -> pl.DataFrame:
    """The answer: each match, from the event of the right on."""
    right = rows(load, behind, True, 0, load.batches, start_ms).filter(pl.col("key") >= 0)
    return right.select("key", start=pl.col("ts").dt.timestamp("us"))


def files(folder: Path, side: str, first: int, frame: pl.DataFrame) -> None:
    """Renamed into the watched folder when it is complete."""
    hidden = folder / side / f".{first:08}.making"
    frame.write_parquet(hidden, compression="snappy")
    os.rename(hidden, folder / side / f"{first:08}.parquet")


def main() -> None:
    """Says ``ready``, hears the start of the schedule as a line, says ``sent`` at the end."""
    given = arguments()
    load, behind = Load(**given["load"]), given["behind"]
    streams = None
    if given["how"] == "push":
        from bench.recovery_waterclock import declare

        streams = declare(given["store"], given["lives"], "checkpoint")[1]
        for stream in streams:
            stream.advance(0)  # opens the store now, not in the first send
    say("ready")
    start_ms = int(input())

    def send(first: int, end: int) -> None:
        for number, side in enumerate(("left", "right")):
            frame = rows(load, behind, bool(number), first, end, start_ms)
            if streams is not None:
                streams[number].push(frame)
            else:
                files(Path(given["folder"]), side, first, frame)

    say("sent", **pace(load, start_ms, EVERY, send))


if __name__ == "__main__":
    main()
