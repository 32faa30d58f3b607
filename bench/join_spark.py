"""The same join on Structured Streaming: watermarks on both sides, overlap as a range of times, append mode."""

from __future__ import annotations

import json
import time
from pathlib import Path

from bench.common import arguments, end_spark, say, spark_session, written
from bench.expected import SLACK


def main() -> None:
    given = arguments()
    from pyspark.sql import functions as f

    spark = spark_session(given["state"], given["settings"])
    sides = []
    for side, life in zip(("left", "right"), given["lives"], strict=True):
        folder = f"{given['folder']}/{side}"
        rows = spark.readStream.schema(spark.read.parquet(folder).schema)
        events = rows.option("maxFilesPerTrigger", given["files"]).parquet(folder)
        marked = events.withWatermark("ts", f"{SLACK} microseconds")
        until = (f.col("ts") + f.expr(f"interval {life} microseconds")).alias("ve")
        sides.append(marked.select("key", f.col("ts"), until, "payload").alias(side))
    # The bounds are written on ts itself: Spark derives from them when state may be dropped.
    left_life, right_life = (f.expr(f"interval {life} microseconds") for life in given["lives"])
    overlap = (
        (f.col("left.key") == f.col("right.key"))
        & (f.col("left.ts") < f.col("right.ts") + right_life)
        & (f.col("right.ts") < f.col("left.ts") + left_life)
    )
    joined = sides[0].join(sides[1], overlap, "inner")
    result = joined.select(
        f.col("left.key").alias("key"),
        f.unix_micros(f.greatest("left.ts", "right.ts")).alias("start"),
        f.unix_micros(f.least("left.ve", "right.ve")).alias("end"),
        f.col("left.payload").alias("payload"),
        f.col("right.payload").alias("payload_right"),
    )
    query = (
        result.writeStream.format("parquet")
        .option("path", given["target"])
        .option("checkpointLocation", given["checkpoint"])
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    ended = time.time()
    progress = [
        {
            "batch": p["batchId"],
            "rows": p["numInputRows"],
            "state": sum(operator["numRowsTotal"] for operator in p["stateOperators"]),
        }
        for p in query.recentProgress
    ]
    checkpoint = Path(given["checkpoint"])
    recorded = json.loads((checkpoint / "offsets" / "0").read_text().splitlines()[1])["conf"]
    say(
        "result", ended=ended, progress=progress, format=int(recorded["spark.sql.streaming.join.stateFormatVersion"]),
        offsets=sorted(written(checkpoint / "offsets").items()),
        commits=sorted(written(checkpoint / "commits").items()),
    )  # fmt: skip
    end_spark(spark)


if __name__ == "__main__":
    main()
