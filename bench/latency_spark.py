"""Grep and windowed count on Structured Streaming: text from a socket or from files, results in the memory sink."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from bench.common import arguments, end_spark, hear, say, spark_session, start, written
from bench.data import NEEDLE
from bench.latency_waterclock import next_start

EVERY = 10
"""Batches per file: one file each 100 ms."""


def query_of(spark: Any, lines: Any, workload: str) -> Any:
    from pyspark.sql import functions as f

    value = f.col("value")
    if workload == "grep":
        return lines.filter(value.contains(NEEDLE)).select(value.alias("text"))
    millis = f.substring(value, 1, 13).cast("long")
    events = lines.select(f.timestamp_millis(millis).alias("ts"), f.substring(value, 15, 8).cast("long").alias("key"))
    counted = events.withWatermark("ts", "0 seconds").groupBy(f.window("ts", "1 second").alias("w"), "key")
    return counted.agg(f.count("*").alias("n")).select(f.unix_micros(f.col("w.start")).alias("start"), "key", "n")


def by_batch(sink: Any, batches: list[int]) -> dict[int, int]:
    """Rows of each batch in the memory sink, which keeps them in the order of batches."""
    since = {batch: int(sink.dataSinceBatch(batch).size()) for batch in [min(batches) - 1, *batches]}
    ordered = sorted(since)
    return {b: since[a] - since[b] for a, b in pairwise(ordered)}


def main() -> None:
    given = arguments()
    log = Path(given["log"])
    folder, checkpoint = Path(given["folder"]), Path(given["checkpoint"])
    folder.mkdir()
    spark = spark_session(given["state"])
    sender = start(
        "bench.sender", {"how": given["source"], "load": given["load"], "folder": str(folder), "every": EVERY}, log
    )
    port = hear(sender, "ready").get("port")
    if given["source"] == "socket":
        lines = spark.readStream.format("socket").option("host", "127.0.0.1").option("port", port).load()
    else:
        lines = spark.readStream.text(str(folder))
    query = (
        query_of(spark, lines, given["workload"])
        .writeStream.format("memory")
        .queryName("out")
        .option("checkpointLocation", str(checkpoint))
        .outputMode("append")
        .start()
    )
    if given["source"] == "socket":
        hear(sender, "connected")
    start_ms = next_start()
    sender.stdin.write(f"{start_ms}\n")  # type: ignore[union-attr]
    sender.stdin.flush()  # type: ignore[union-attr]
    figures = hear(sender, "sent")
    deadline = time.time() + given["patience"]
    sink = query._jsq.streamingQuery().sink()
    while sink.allData().size() < given["wanted"] and time.time() < deadline:
        time.sleep(0.2)
    time.sleep(1.0)  # rows that should not be there would come now
    progress = query.recentProgress
    query.stop()
    if sender.poll() is None:
        sender.stdin.write("\n")  # type: ignore[union-attr]
        sender.stdin.close()  # type: ignore[union-attr]
    sender.wait()
    committed = written(checkpoint / "commits")
    sizes = by_batch(sink, sorted(committed))
    rows = spark.table("out").collect()
    seen = [committed[batch] for batch in sorted(sizes) for _ in range(sizes[batch])]
    columns = ["text"] if given["workload"] == "grep" else ["start", "key", "n"]
    # Rows of a batch that the stop cut off have no commit.
    found = {name: [row[name] for row in rows[: len(seen)]] for name in columns}
    pl.DataFrame({**found, "seen": seen}).write_parquet(given["target"])
    durations = [p["batchDuration"] for p in progress if p["numInputRows"]]
    say("result", start_ms=start_ms, sender=figures, epochs=len(committed), batch_ms=durations)
    end_spark(spark)


if __name__ == "__main__":
    main()
