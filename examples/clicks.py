"""Clicks per user in windows of five seconds: pushed from Python, computed in this process, without Java."""

import tempfile

import polars as pl

import waterclock as wc

app = wc.App("clicks", store=tempfile.mkdtemp())
clicks = app.stream("clicks", {"user": str, "ts": "timestamp"}, time="ts")


def show(epoch: int, rows: pl.DataFrame) -> None:
    print(rows.select("user", "clicks", window=pl.from_epoch("_vs", "us")))


clicks.group_by("user").tumbling("5s").agg(clicks=wc.count()).to(wc.callback(show), "per_user")

for second, user in enumerate(["ann", "ben", "ann", "ann", "cy", "ben", "ann"]):
    clicks.push([{"user": user, "ts": f"2026-11-16T02:14:0{second}Z"}])
clicks.end()

if __name__ == "__main__":
    app.run("offline")
