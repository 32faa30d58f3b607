"""The join of the recovery benchmark on Structured Streaming: files in, files out, until it is killed."""

from __future__ import annotations

from bench.common import arguments, say, spark_session
from bench.join import MORE_SETTINGS

SCHEMA = "key bigint, ts timestamp, payload string"


def main() -> None:
    given = arguments()
    from pyspark.sql import functions as f

    settings = {"spark.sql.streaming.join.stateFormatVersion": str(given["version"]), **MORE_SETTINGS}
    spark = spark_session(given["state"], settings)
    read = spark.readStream.schema(SCHEMA)
    sides = [
        read.parquet(f"{given['folder']}/{side}").withWatermark("ts", "0 seconds").alias(side)
        for side in ("left", "right")
    ]
    lives = [f.expr(f"interval {life} seconds") for life in given["lives"]]
    overlap = (
        (f.col("left.key") == f.col("right.key"))
        & (f.col("left.ts") < f.col("right.ts") + lives[1])
        & (f.col("right.ts") < f.col("left.ts") + lives[0])
    )
    result = sides[0].join(sides[1], overlap, "inner").select(
        f.col("left.key").alias("key"),
        f.unix_micros(f.greatest("left.ts", "right.ts")).alias("start"),
        f.col("left.payload").alias("payload"),
        f.col("right.payload").alias("payload_right"),
    )  # fmt: skip
    query = (
        result.writeStream.format("parquet")
        .option("path", given["target"])
        .option("checkpointLocation", given["checkpoint"])
        .outputMode("append")
        .start()
    )
    say("ready")
    query.awaitTermination()


if __name__ == "__main__":
    main()
