"""Machines that are too hot while nobody is there: a program in Python with a function of its own."""

import polars as pl

import waterclock as wc


@wc.function(returns=float)
def celsius(fahrenheit: pl.Series) -> pl.Series:
    return (fahrenheit - 32) / 1.8


app = wc.App("alarms")
shifts = app.stream(
    "shifts", {"hall": str, "begins": "timestamp", "ends": "timestamp"}, time="begins", end="ends", slack=None
)
heat = app.stream("heat", {"hall": str, "fahrenheit": float, "ts": "timestamp"}, time="ts", slack=None)

warm = heat.select("hall", celsius=celsius("fahrenheit"))
warm.filter(wc.col("celsius") > 60).join(shifts, on="hall", how="anti").into("alarms")
