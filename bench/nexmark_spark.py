"""Nexmark's queries on Structured Streaming: Parquet source and sink, append mode, one after another in one session.

The columns are those of the programs in examples/nexmark. Where the usual form is refused, another that gives the same
rows stands here; ``REFUSED`` holds the forms that are refused, so that this is tried and not just said.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.common import arguments, end_spark, say, spark_session, written

Frame = Any
DELAY = "1 second"
HOT = "('apple', 'google', 'facebook', 'baidu')"
RANKS = {"rank1": "price < 10000", "rank2": "price >= 10000 AND price < 1000000", "rank3": "price >= 1000000"}


class House:
    """The streams of the files, with and without a watermark."""

    def __init__(self, spark: Any, folder: str, files: int, longest: int) -> None:
        from pyspark.sql import functions

        self.spark, self.folder, self.files, self.longest = spark, folder, files, longest
        self.f: Any = functions

    def stream(self, kind: str) -> Frame:
        folder = f"{self.folder}/{kind}"
        rows = self.spark.readStream.schema(self.spark.read.parquet(folder).schema)
        return rows.option("maxFilesPerTrigger", self.files).parquet(folder)

    def marked(self, kind: str) -> Frame:
        return self.stream(kind).withWatermark("dateTime", DELAY)

    def side(self) -> Frame:
        return self.spark.read.schema("key BIGINT, value STRING").csv(f"{self.folder}/side_input.csv", header=True)


# -- row by row --------------------------------------------------------------------------------------------


def q0(h: House) -> Frame:
    return h.stream("bid").select("auction", "bidder", "price", "dateTime", "extra")


def q1(h: House) -> Frame:
    return h.stream("bid").selectExpr("auction", "bidder", "0.908D * price AS price", "dateTime", "extra")


def q2(h: House) -> Frame:
    return h.stream("bid").where("auction % 123 = 0").select("auction", "price")


def q13(h: House) -> Frame:
    joined = h.stream("bid").join(h.side(), h.f.expr("auction % 10000 = key"))
    return joined.select("auction", "bidder", "price", "dateTime", "value")


def q14(h: House) -> Frame:
    dear = h.stream("bid").selectExpr("*", "hour(dateTime) AS hour", "0.908D * price AS euros")
    kind = (
        "CASE WHEN hour BETWEEN 8 AND 18 THEN 'dayTime' WHEN hour <= 6 OR hour >= 20 THEN 'nightTime' "
        "ELSE 'otherTime' END AS bidTimeType"
    )
    return dear.where("euros > 1000000 AND euros < 50000000").selectExpr(
        "auction", "bidder", "euros AS price", kind, "dateTime", "extra", "regexp_count(extra, 'c') AS c_counts"
    )


def q21(h: House) -> Frame:
    known = "WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'"
    pattern = "'(&|^)channel_id=([^&]*)'"
    return (
        h.stream("bid")
        .where(f"lower(channel) IN {HOT} OR url RLIKE '(&|^)channel_id='")
        .selectExpr("auction", "bidder", "price", "channel",
                    f"CASE lower(channel) {known} ELSE regexp_extract(url, {pattern}, 2) END AS channel_id")
    )  # fmt: skip


def q22(h: House) -> Frame:
    parts = [f"get(split(url, '/'), {place}) AS dir{place - 2}" for place in (3, 4, 5)]
    return h.stream("bid").selectExpr("auction", "bidder", "price", "channel", *parts)


# -- joins -------------------------------------------------------------------------------------------------


def q3(h: House) -> Frame:
    sellers = (
        h.stream("person").where("state IN ('OR', 'ID', 'CA')").selectExpr("id AS person", "name", "city", "state")
    )
    auctions = h.stream("auction").where("category = 10").select("id", "seller")
    return auctions.join(sellers, h.f.expr("seller = person")).select("name", "city", "state", "id")


def q8(h: House) -> Frame:
    window = h.f.window("dateTime", "10 seconds").alias("w")
    people = h.marked("person").groupBy(window, "id", "name").agg(h.f.count("*").alias("registered"))
    opened = h.marked("auction").groupBy(window, "seller").agg(h.f.count("*").alias("opened")).alias("a")
    joined = people.alias("p").join(opened, h.f.expr("p.id = a.seller AND p.w = a.w"))
    return joined.selectExpr("id", "name", "p.w.start AS starttime", "p.w.end AS endtime")


def q20(h: House) -> Frame:
    auctions = h.stream("auction").where("category = 10")
    theirs = auctions.withColumnsRenamed({"dateTime": "auction_dateTime", "extra": "auction_extra"})
    bids = h.stream("bid").withColumnsRenamed({"dateTime": "bid_dateTime", "extra": "bid_extra"})
    return bids.join(theirs, h.f.expr("auction = id")).drop("id")


def closing(h: House) -> Frame:
    """Bids that reach the reserve of their auction while it is open.

    No auction lasts longer than ``longest``: it stands in the condition, so that state can be dropped.
    """
    auctions = h.marked("auction").alias("a")
    bids = h.marked("bid").alias("b")
    return auctions.join(bids, h.f.expr(
        "a.id = b.auction AND b.price >= a.reserve AND b.dateTime >= a.dateTime AND b.dateTime < a.expires "
        f"AND b.dateTime <= a.dateTime + INTERVAL {h.longest} MICROSECONDS"
    ))  # fmt: skip


def q9(h: House) -> Frame:
    """One of the bids that are equal in price and time; the data have none that win."""
    bid = "struct(b.auction, b.bidder, b.price, b.dateTime AS bid_dateTime, b.extra AS bid_extra)"
    best = (
        closing(h)
        .groupBy("a.id", "a.dateTime")
        .agg(
            h.f.expr("first(struct(a.*)) AS of_auction"),
            h.f.expr(f"max_by({bid}, struct(b.price, -unix_micros(b.dateTime))) AS of_bid"),
        )
    )
    return best.selectExpr("of_auction.*", "of_bid.*")


# -- windows -----------------------------------------------------------------------------------------------


def q5(h: House) -> Frame:
    window = h.f.window("dateTime", "10 seconds", "2 seconds").alias("w")
    counted = h.marked("bid").groupBy(window, "auction").agg(h.f.count("*").alias("num"))
    ranked = counted.groupBy("w").agg(
        h.f.expr("max(num) AS most"), h.f.expr("collect_list(struct(auction, num)) AS all")
    )
    firsts = ranked.selectExpr("w", "explode(filter(all, each -> each.num = most)) AS first")
    return firsts.selectExpr("first.auction", "first.num", "w.start AS starttime", "w.end AS endtime")


def q7(h: House) -> Frame:
    """One of the bids that are equal in price; the data have none that are the highest of a window."""
    window = h.f.window("dateTime", "10 seconds").alias("w")
    row = h.f.expr("max_by(struct(auction, price, bidder, dateTime, extra), price) AS best")
    return h.marked("bid").groupBy(window).agg(row).select("best.*")


def q11(h: House) -> Frame:
    """Its sessions take in a bid exactly at their end, so the gap is a microsecond shorter; times are milliseconds."""
    session = h.f.session_window("dateTime", "9999999 microseconds").alias("w")
    counted = h.marked("bid").groupBy(session, "bidder").agg(h.f.count("*").alias("bid_count"))
    return counted.selectExpr(
        "bidder", "bid_count", "w.start AS starttime", "w.end + INTERVAL 1 MICROSECOND AS endtime"
    )


def counts() -> list[str]:
    return ["count(*) AS total_bids", *(f"count_if({test}) AS {rank}_bids" for rank, test in RANKS.items())]


def sets() -> list[str]:
    """COUNT(DISTINCT ...) is refused on streams; the size of a set is not."""
    return [
        f"size(collect_set({column}) FILTER (WHERE {test})) AS {rank}_{column}s"
        for column in ("bidder", "auction")
        for rank, test in {"total": "true", **RANKS}.items()
    ]


def daily(h: House, keys: list[str], figures: list[str]) -> Frame:
    window = h.f.window("dateTime", "1 day").alias("w")
    found = h.marked("bid").groupBy(window, *keys).agg(*(h.f.expr(figure) for figure in figures))
    return found.selectExpr("date_format(w.start, 'yyyy-MM-dd') AS day", "*").drop("w")


def q15(h: House) -> Frame:
    return daily(h, [], [*counts(), *sets()])


def q16(h: House) -> Frame:
    return daily(h, ["channel"], ["max(date_format(dateTime, 'HH:mm')) AS minute", *counts(), *sets()])


def q17(h: House) -> Frame:
    prices = [f"{name}(price) AS {name}_price" for name in ("min", "max", "avg", "sum")]
    return daily(h, ["auction"], [*counts(), *prices])


# -- what is refused ---------------------------------------------------------------------------------------


def running_average(h: House) -> Frame:
    won = closing(h).groupBy("a.id", "a.dateTime", "a.category").agg(h.f.expr("max(b.price) AS final"))
    return won.groupBy("category").agg(h.f.avg("final").alias("average"))


def last_of_each(h: House) -> Frame:
    from pyspark.sql import Window

    latest = Window.partitionBy("bidder", "auction").orderBy(h.f.desc("dateTime"))
    return h.marked("bid").withColumn("place", h.f.row_number().over(latest)).where("place = 1")


def distinct(h: House) -> Frame:
    window = h.f.window("dateTime", "1 day")
    return h.marked("bid").groupBy(window).agg(h.f.expr("count(DISTINCT bidder) AS total_bidders"))


QUERIES: dict[str, Callable[[House], Frame]] = {
    query.__name__: query for query in (q0, q1, q2, q3, q5, q7, q8, q9, q11, q13, q14, q15, q16, q17, q20, q21, q22)
}
REFUSED: dict[str, tuple[Callable[[House], Frame], str]] = {
    "q4": (running_average, "append"),
    "q4, update mode": (running_average, "update"),
    "q18": (last_of_each, "append"),
    "q15, q16 with COUNT(DISTINCT ...)": (distinct, "append"),
}


def refusals(h: House, scratch: Path) -> dict[str, str]:
    """The conditions of Spark's errors for what it does not run."""
    from pyspark.errors import PySparkException

    found = {}
    for name, (made, mode) in REFUSED.items():
        try:
            query = (
                made(h).writeStream.format("noop").outputMode(mode).option("checkpointLocation", str(scratch / name))
            )
            query.trigger(availableNow=True).start().stop()
        except PySparkException as error:
            found[name] = _told(error)
    return found


def _told(error: Any) -> str:
    """The condition of an error; those without a name of their own with the beginning of what they say."""
    condition = str(error.getCondition() or type(error).__name__)
    first = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(";.")
    return f"{condition} ({first})" if condition.startswith("_LEGACY") else condition


def drain(frame: Frame, target: Path, checkpoint: Path) -> dict[str, Any]:
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(target))
        .option("checkpointLocation", str(checkpoint))
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return {
        "progress": [{"batch": p["batchId"], "rows": p["numInputRows"]} for p in query.recentProgress],
        "offsets": sorted(written(checkpoint / "offsets").items()),
        "commits": sorted(written(checkpoint / "commits").items()),
        "ended": time.time(),
    }


def main() -> None:
    given = arguments()
    spark = spark_session(given["state"])
    house = House(spark, given["folder"], given["files"], given["longest"])
    here = Path(given["here"])
    seen = {}
    for query in given["queries"]:
        seen[query] = drain(QUERIES[query](house), here / "out" / query, here / "checkpoints" / query)
        spark._jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()  # the state of this query
    say("result", queries=seen, refused=refusals(house, here / "refused"))
    end_spark(spark)


if __name__ == "__main__":
    main()
