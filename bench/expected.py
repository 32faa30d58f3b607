"""The right answers, computed with plain Polars from the input, and the comparison with what an engine gave."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bench.data import DISORDER, NEEDLE, Events, Records, event_files

SIZE, HOP = 10_000_000, 5_000_000
SLACK = 2 * DISORDER
SECOND = 1_000_000


class WrongAnswer(Exception):
    """An engine's output differs from the reference; it has no speed."""


def hopping(rows: pl.LazyFrame) -> pl.DataFrame:
    """Count and sum by key and window start (µs): each event copied into both of its windows."""
    latest = pl.col("ts").dt.timestamp("us") // HOP * HOP
    copies = [rows.select("key", "value", (latest - shift).alias("start")) for shift in range(0, SIZE, HOP)]
    result = pl.concat(copies).group_by("key", "start").agg(n=pl.len().cast(pl.Int64), total=pl.col("value").sum())
    return result.sort("start", "key").collect(engine="streaming")


def hopping_answer(events: Events) -> pl.DataFrame:
    """Kept beside the files."""
    folder = event_files(events)
    path = folder / "answer.parquet"
    if not path.exists():
        hopping(pl.scan_parquet(folder / "in" / "*.parquet")).write_parquet(path)
    return pl.read_parquet(path)


def last_watermark(folder: Path) -> int:
    """Where Structured Streaming's watermark ends: windows that end later are never emitted in append mode."""
    top = pl.scan_parquet(folder / "in" / "*.parquet").select(pl.col("ts").max().dt.timestamp("us")).collect().item()
    return (int(top) // 1000 * 1000) - SLACK


def closed_by(answer: pl.DataFrame, watermark: int) -> pl.DataFrame:
    return answer.filter(pl.col("start") + SIZE <= watermark)


def grep(sent: Records) -> pl.DataFrame:
    """The records that must come out, and their intended times."""
    return sent.frame().filter(pl.col("text").str.contains(NEEDLE, literal=True)).select("ts", "text")


def tumbling(sent: Records) -> pl.DataFrame:
    """Counts by key and second (start in µs) of the windows that close, with the time of the last event in each."""
    ts = pl.col("ts").dt.timestamp("us")
    rows = sent.frame().select("key", ts=ts, start=ts // SECOND * SECOND)
    top = rows["ts"].max()
    assert isinstance(top, int)
    closed = rows.filter(pl.col("start") + SECOND <= top)
    return closed.group_by("start", "key").agg(n=pl.len().cast(pl.Int64), last=pl.col("ts").max()).sort("start", "key")


def compare(found: pl.DataFrame, wanted: pl.DataFrame, what: str) -> None:
    """Equal as multisets of rows, or WrongAnswer with examples of the difference."""
    wanted = wanted.select(sorted(wanted.columns))
    found = found.select(sorted(wanted.columns)).cast(wanted.schema)
    by = wanted.columns
    if found.sort(by).equals(wanted.sort(by)):
        return
    counts = pl.concat([found.with_columns(_d=pl.lit(1)), wanted.with_columns(_d=pl.lit(-1))])
    difference = counts.group_by(by).agg(pl.col("_d").sum()).filter(pl.col("_d") != 0).sort(by)
    extra, missing = difference.filter(pl.col("_d") > 0), difference.filter(pl.col("_d") < 0)
    raise WrongAnswer(
        f"{what}: {found.height} rows, {wanted.height} wanted; {missing.height} missing, {extra.height} not wanted.\n"
        f"missing: {missing.head(5).to_dicts()}\nnot wanted: {extra.head(5).to_dicts()}"
    )
