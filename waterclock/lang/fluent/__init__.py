"""The fluent Python API: streams with methods that build the plan."""

from waterclock.lang.fluent.aggregates import avg, count, max, min, sum
from waterclock.lang.fluent.stream import Grouped, Stream, Windowed

__all__ = ["Grouped", "Stream", "Windowed", "avg", "count", "max", "min", "sum"]
