"""Alerts and process events per user, live: the streams of StreamScope's figure 1, before they are joined.

waterclock run examples/alerts.py --store ./store           until Ctrl-C; run it again and it goes on
waterclock tail alerts_per_user --store ./store --follow    in another terminal

ALERTS_SECONDS=20 makes streams that end after 20 seconds.
"""

import os

import polars as pl

import waterclock as wc

ALERT_RATE, PROCESS_RATE = 2_000, 20_000  # events a second
SECONDS = int(os.environ.get("ALERTS_SECONDS", "0"))


def dice(multiplier: int) -> pl.Expr:
    """A number in [0, 1) that looks random and depends only on n."""
    return (pl.col("n") + 1) * multiplier % 2_147_483_647 / 2_147_483_647


def users(multiplier: int) -> pl.Expr:
    """Fifty users, some much busier than others."""
    return pl.format("user{}", (dice(multiplier).pow(3) * 50).cast(pl.Int64).cast(pl.String).str.zfill(2))


def make_alerts(events: pl.DataFrame) -> pl.DataFrame:
    return events.select("ts", user=users(1_583_458_089), severity=(dice(1_103_515_245) * 5).cast(pl.Int64) + 1)


def make_process_events(events: pl.DataFrame) -> pl.DataFrame:
    kinds = pl.when(dice(1_226_874_159) < 0.4).then(pl.lit("start")).otherwise(pl.lit("end"))
    return events.select("ts", user=users(950_706_376), kind=kinds)


app = wc.App("alerts")
alerts = app.stream(
    "alerts", {"ts": "timestamp", "user": str, "severity": int}, time="ts",
    source=wc.generate(make_alerts, ALERT_RATE, count=ALERT_RATE * SECONDS or None),
)  # fmt: skip
process_events = app.stream(
    "process_events", {"ts": "timestamp", "user": str, "kind": str}, time="ts",
    source=wc.generate(make_process_events, PROCESS_RATE, count=PROCESS_RATE * SECONDS or None),
)  # fmt: skip

severe = alerts.filter(wc.col("severity") >= 4)
started = process_events.filter(wc.col("kind") == "start")

# How many severe alerts had each user in the last five seconds? A new answer every second.
recent = severe.group_by("user").hopping("5s", "1s").agg(alerts=wc.count(), worst=wc.max(wc.col("severity")))
recent.to(wc.jsonl(f"{app.store}/alerts_per_user.jsonl"), "alerts_per_user")

# Both streams as one: how busy was each user in each five seconds?
both = severe.select("user", alert=wc.lit(1)).union(started.select("user", alert=wc.lit(0)))
both.group_by("user").tumbling("5s").agg(events=wc.count(), alerts=wc.sum(wc.col("alert"))).into("activity")

if __name__ == "__main__":
    app.run().wait_until_stopped()
