"""Hopping count and sum on Structured Streaming: Parquet source and sink, watermark, append mode."""

from __future__ import annotations

import time
from pathlib import Path

from bench.common import arguments, end_spark, say, spark_session, written
from bench.expected import HOP, SIZE, SLACK


def main() -> None:
    given = arguments()
    from pyspark.sql import functions as f

    began = time.time()
    spark = spark_session(given["state"])
    ready = time.time()
    schema = spark.read.parquet(given["folder"]).schema
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", given["files"]).parquet(given["folder"])
    window = f.window("ts", f"{SIZE} microseconds", f"{HOP} microseconds")
    counted = (
        events.withWatermark("ts", f"{SLACK} microseconds")
        .groupBy(window.alias("w"), "key")
        .agg(f.count("*").alias("n"), f.sum("value").alias("total"))
        .select("key", f.unix_micros(f.col("w.start")).alias("start"), "n", "total")
    )
    query = (
        counted.writeStream.format("parquet")
        .option("path", given["target"])
        .option("checkpointLocation", given["checkpoint"])
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    ended = time.time()
    progress = [
        {"batch": p["batchId"], "rows": p["numInputRows"], "ms": p["batchDuration"], "phases": p["durationMs"]}
        for p in query.recentProgress
    ]
    checkpoint = Path(given["checkpoint"])
    say(
        "result", startup=ready - began, ended=ended, progress=progress,
        offsets=sorted(written(checkpoint / "offsets").items()),
        commits=sorted(written(checkpoint / "commits").items()),
    )  # fmt: skip
    end_spark(spark)


if __name__ == "__main__":
    main()
