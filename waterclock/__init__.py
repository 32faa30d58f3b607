"""Waterclock: reliable temporal streaming on Apache Spark.

import waterclock as wc

app = wc.App("clicks", store="./store")
clicks = app.stream("clicks", {"user": str, "ts": "timestamp"}, time="ts")
clicks.group_by("user").tumbling("5s").agg(n=wc.count()).into("per_user")
clicks.push([{"user": "ann", "ts": "2026-11-16T02:14:00Z"}])
clicks.end()
app.run(mode="offline")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from waterclock import functions
    from waterclock.app import App, SourceStream, sql
    from waterclock.asking.asof import AsOf
    from waterclock.asking.query import query
    from waterclock.catalog.files import files_of
    from waterclock.compare import Diff, diff
    from waterclock.connect.callback import callback
    from waterclock.connect.console import console
    from waterclock.connect.files import files
    from waterclock.connect.generator import generate
    from waterclock.connect.jsonl import jsonl
    from waterclock.connect.parquet import parquet
    from waterclock.errors import ConfigError, DataError, RunError, SqlError, StoreError, UserError, WaterclockError
    from waterclock.expr import array, coalesce, col, end, function, lit, split, start, when
    from waterclock.handle import Handle
    from waterclock.lang.dstream import DStream, dstream
    from waterclock.lang.fluent import (
        Stream,
        aggregate,
        approx_count_distinct,
        avg,
        collect_list,
        count,
        count_distinct,
        first,
        hop,
        last,
        max,
        min,
        operator,
        percentile_cont,
        percentile_disc,
        stddev,
        sum,
        top_k,
        tumble,
        variance,
    )
    from waterclock.operators.aggregates.laws import check_aggregate
    from waterclock.optimizer.statistics import Statistics
    from waterclock.plan.strategy import checkpoint, replay, replicate
    from waterclock.runtime.barriers import Snapshots
    from waterclock.runtime.metrics.alerts import Alerts
    from waterclock.runtime.metrics.figures import Status
    from waterclock.schema import Schema
    from waterclock.timeline import Timeline, draw
    from waterclock.usercode.machine import Row

__version__ = "0.1.0"

__all__ = [
    "Alerts", "App", "AsOf", "ConfigError", "DStream", "DataError", "Diff", "Handle", "Row", "RunError", "Schema",
    "Snapshots", "SourceStream", "SqlError", "Statistics", "Status", "StoreError", "Stream", "Timeline", "UserError",
    "WaterclockError",
    "aggregate", "approx_count_distinct", "array", "avg", "callback", "check_aggregate", "checkpoint", "coalesce",
    "col", "collect_list", "console", "count", "count_distinct", "diff", "draw", "dstream", "end", "files", "files_of",
    "first", "function", "functions", "generate", "hop", "jsonl", "last", "lit", "max", "min", "operator", "parquet",
    "percentile_cont", "percentile_disc", "query", "replay", "replicate", "split", "sql", "start", "stddev", "sum",
    "top_k", "tumble", "variance", "when",
]  # fmt: skip

_HOMES = {
    "app": "App SourceStream sql",
    "asking.asof": "AsOf",
    "asking.query": "query",
    "catalog.files": "files_of",
    "compare": "Diff diff",
    "connect.callback": "callback",
    "connect.console": "console",
    "connect.files": "files",
    "connect.generator": "generate",
    "connect.jsonl": "jsonl",
    "connect.parquet": "parquet",
    "errors": "ConfigError DataError RunError SqlError StoreError UserError WaterclockError",
    "expr": "array coalesce col end function lit split start when",
    "handle": "Handle",
    "lang.dstream": "DStream dstream",
    "lang.fluent": "Stream aggregate approx_count_distinct avg collect_list count count_distinct first hop last max "
    "min operator percentile_cont percentile_disc stddev sum top_k tumble variance",
    "operators.aggregates.laws": "check_aggregate",
    "optimizer.statistics": "Statistics",
    "plan.strategy": "checkpoint replay replicate",
    "runtime.barriers": "Snapshots",
    "runtime.metrics.alerts": "Alerts",
    "runtime.metrics.figures": "Status",
    "schema": "Schema",
    "timeline": "Timeline draw",
    "usercode.machine": "Row",
    "functions": "",  # the module itself
}
"""Where the names above are; it is imported when one of them is first used."""


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name == home or name in names.split():
            module = import_module(f"{__name__}.{home}")
            found = globals()[name] = module if name == home else getattr(module, name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=import_module(__name__))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: object) -> None:
    """``%load_ext waterclock`` in a notebook: ``%%waterclock`` asks a store."""
    from waterclock.asking.magic import register  # only notebooks need it

    register(shell)
