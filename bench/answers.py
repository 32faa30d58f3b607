"""The right answers of the temporal algebra, from the input by sorting and binary search; no code of an engine.

A key and a time become one number, so that a single sorted array serves all keys.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from bench.algebra import prints
from bench.data import BASE, Events, Ints, Pairs, event_files, pair_files

SPAN = 2**34
"""More than any benchmark's event time from its first start to its last end, in microseconds."""


def pairs(data: Pairs, lives: tuple[int, int]) -> pl.DataFrame:
    """The inner join: at most one match for each row."""

    def made() -> pl.DataFrame:
        sides = []
        for side, life in zip(("left", "right"), lives, strict=True):
            rows = prints(pl.read_parquet(pair_files(data) / side / "*.parquet"))
            vs = pl.col("ts").dt.timestamp("us")
            sides.append(rows.select("key", "payload", vs=vs, ve=vs + life))
        start, end = pl.max_horizontal("vs", "vs_right"), pl.min_horizontal("ve", "ve_right")
        joined = sides[0].join(sides[1], on="key").select("key", "payload", "payload_right", start=start, end=end)
        return joined.filter(pl.col("start") < pl.col("end"))

    return kept(pair_files(data), f"join-{lives[0]}-{lives[1]}", made)


def buckets(data: Pairs, keys: int, hop: int) -> pl.DataFrame:
    """Hopping counts of the left side by ``key % keys``, windows of two hops."""

    def made() -> pl.DataFrame:
        rows = pl.scan_parquet(pair_files(data) / "left" / "*.parquet")
        latest = pl.col("ts").dt.timestamp("us") // hop * hop
        copies = [rows.select(bucket=pl.col("key") % keys, start=latest - shift) for shift in (0, hop)]
        counted = pl.concat(copies).group_by("bucket", "start").agg(n=pl.len().cast(pl.Int64))
        return counted.with_columns(end=pl.col("start") + 2 * hop).collect()

    return kept(pair_files(data), f"hopping-{keys}-{hop}", made)


def pairs_anti(data: Pairs, lives: tuple[int, int]) -> pl.DataFrame:
    """Each left row until its match starts, and after it ended."""

    def made() -> pl.DataFrame:
        rows = prints(pl.read_parquet(pair_files(data) / "left" / "*.parquet"))
        a = pl.col("ts").dt.timestamp("us")
        match = a + data.behind * 1_000_000
        matched = pl.col("key") < data.rows - data.unmatched
        alive = rows.select("key", "payload", "ts", a=a, b=a + lives[0], m=pl.when(matched).then(match))
        no_match = pl.col("b") + 1
        before = alive.select("key", "payload", start="a", end=pl.min_horizontal("b", pl.col("m").fill_null(no_match)))
        after = alive.filter(pl.col("m").is_not_null()).select("key", "payload", start=pl.col("m") + lives[1], end="b")
        return pl.concat([before, after]).filter(pl.col("start") < pl.col("end"))

    return kept(pair_files(data), f"anti-{lives[0]}-{lives[1]}", made)


# -- events with many per key ------------------------------------------------------------------------------


def snapshot(rows: pl.DataFrame, size: int) -> pl.DataFrame:
    """Sliding count and sum by key: a row for every stretch between two changes in which an event is alive."""
    rows, starts = _sorted(rows)
    totals = np.concatenate([[0], np.cumsum(rows["value"].to_numpy())])
    changes = np.unique(np.concatenate([starts, starts + size]))
    begun = np.searchsorted(starts, changes, side="right")
    ended = np.searchsorted(starts + size, changes, side="right")
    alive = np.flatnonzero(begun > ended)
    counted = {"n": (begun - ended)[alive], "total": (totals[begun] - totals[ended])[alive]}
    return _frame(changes[alive], changes[alive + 1]).with_columns(**counted)


def session(rows: pl.DataFrame, timeout: int) -> pl.DataFrame:
    """Count and sum of each session: a gap of ``timeout`` or more ends one."""
    rows, starts = _sorted(rows)
    first = np.flatnonzero(np.diff(starts, prepend=-SPAN) >= timeout)
    last = np.append(first[1:], len(starts)) - 1
    totals = np.add.reduceat(rows["value"].to_numpy(), first)
    return _frame(starts[first], starts[last] + timeout).with_columns(n=last - first + 1, total=totals)


def anti(left: pl.DataFrame, right: pl.DataFrame, lives: tuple[int, int]) -> pl.DataFrame:
    """The left rows outside the union of the right ones: each meets the gaps of that union."""
    left, a = _sorted(left)
    starts = _sorted(right)[1]
    ends = starts + lives[1]
    opening = np.flatnonzero(np.diff(starts, prepend=-SPAN) > lives[1])  # behind a gap; touching ones are one
    closing = np.append(opening[1:], len(starts)) - 1
    gap_from = np.concatenate([[-SPAN], ends[closing]])
    gap_to = np.concatenate([starts[opening], [np.iinfo(np.int64).max]])
    b = a + lives[0]
    which, gap = _spread(np.searchsorted(gap_to, a, side="right"), np.searchsorted(gap_from, b, side="left"))
    pieces = _frame(np.maximum(a[which], gap_from[gap]), np.minimum(b[which], gap_to[gap]))
    return _with(pieces, left[which])


def clip(left: pl.DataFrame, right: pl.DataFrame, lives: tuple[int, int]) -> pl.DataFrame:
    """The left rows up to the first right one that starts strictly later."""
    left, a = _sorted(left)
    starts = np.append(_sorted(right)[1], np.iinfo(np.int64).max)
    following = starts[np.searchsorted(starts, a, side="right")]
    return _with(_frame(a, np.minimum(a + lives[0], following)), left)


def join(left: pl.DataFrame, right: pl.DataFrame, lives: tuple[int, int]) -> pl.DataFrame:
    """All pairs of a key that overlap, with both values."""
    (left, a), (right, starts) = _sorted(left), _sorted(right)
    lowest = np.searchsorted(starts, a - lives[1], side="right")
    which, other = _spread(lowest, np.searchsorted(starts, a + lives[0], side="left"))
    start = np.maximum(a[which], starts[other])
    frame = _frame(start, np.minimum(a[which] + lives[0], starts[other] + lives[1]))
    return frame.with_columns(value=left["value"].gather(which), value_right=right["value"].gather(other))


def over(
    events: tuple[Events, ...], answer: Callable[..., pl.DataFrame], times: int | tuple[int, int]
) -> Callable[[], pl.DataFrame]:
    """One of the answers above over files; computed when first asked for."""
    shown = "-".join(str(number) for number in ((times,) if isinstance(times, int) else times))
    name = "-".join([answer.__name__, shown, *(str(each.seed) for each in events)])

    def made() -> pl.DataFrame:
        return answer(*(prints(pl.read_parquet(event_files(each) / "in" / "*.parquet")) for each in events), times)

    return lambda: kept(event_files(events[0]), name, made)


def kept(folder: Path, name: str, made: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """Kept beside the files."""
    path = folder / f"answer-{name}.parquet"
    if not path.exists():
        made().write_parquet(path)
    return pl.read_parquet(path)


def _sorted(rows: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """By key and time, and the number of both."""
    number = pl.col("key") * SPAN + pl.col("ts").dt.timestamp("us") - BASE
    rows = rows.with_columns(_number=number).sort("_number")
    return rows.drop("_number"), rows["_number"].to_numpy()


def _frame(start: Ints, end: Ints) -> pl.DataFrame:
    key = start // SPAN
    return pl.DataFrame({"key": key, "start": start - key * SPAN + BASE, "end": end - key * SPAN + BASE})


def _with(pieces: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    return pieces.with_columns(rows["value"], rows["payload"])


def _spread(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """For ranges ``[first, last)``: the number of the range and the position, for every position."""
    counts = last - first
    which = np.repeat(np.arange(len(first)), counts)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts - first, counts)
