"""The fluent Python API: streams with methods that build the plan."""

from waterclock.lang.fluent.aggregates import (
    approx_count_distinct,
    avg,
    collect_list,
    count,
    count_distinct,
    first,
    last,
    max,
    min,
    percentile_cont,
    percentile_disc,
    stddev,
    sum,
    top_k,
    variance,
)
from waterclock.lang.fluent.stream import Stream
from waterclock.lang.fluent.user import AggregateFunction, OperatorFunction, aggregate, operator
from waterclock.lang.fluent.windows import Grouped, Windowed, hop, tumble

__all__ = [
    "AggregateFunction", "Grouped", "OperatorFunction", "Stream", "Windowed", "aggregate", "approx_count_distinct",
    "avg", "collect_list", "count", "count_distinct", "first", "hop", "last", "max", "min", "operator",
    "percentile_cont", "percentile_disc", "stddev", "sum", "top_k", "tumble", "variance",
]  # fmt: skip
