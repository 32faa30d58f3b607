"""Aggregate functions over a bag of events, exact until one last rounding. Nulls are skipped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import polars as pl

from waterclock.errors import DataError
from waterclock.plan.aggregate import Aggregate
from waterclock.plan.user import UserAggregate
from waterclock.reference.events import Event
from waterclock.reference.expressions import order, value_of
from waterclock.schema import TYPES, Schema

Timed = list[tuple[int, Any]]
"""Starts and values."""


def aggregate_of(aggregate: Aggregate, events: Sequence[Event], schema: Schema) -> Any:
    """The value of an aggregate over the events that satisfy its condition."""
    if isinstance(aggregate, UserAggregate):
        return of_user(aggregate, events, schema)
    if aggregate.where is not None:
        events = [e for e in events if value_of(aggregate.where, e[2], schema, (e[0], e[1])) is True]
    if aggregate.arg is None:
        return len(events)
    found = [(vs, value_of(aggregate.arg, payload, schema, (vs, ve))) for vs, ve, payload in events]
    timed = [(vs, value) for vs, value in found if value is not None]
    if not timed and aggregate.function not in OF_NOTHING:
        return None
    return FUNCTIONS[aggregate.function](timed, aggregate)


def of_user(aggregate: UserAggregate, events: Sequence[Event], schema: Schema) -> Any:
    """Event by event: each one accumulated alone, and merged with those before it."""
    algebra, arg, where = aggregate.algebra, aggregate.arg, aggregate.where
    assert algebra is not None
    assert arg is not None
    kind = arg.type_in(schema)
    names = [name for name, _ in algebra.parts]
    kinds = {"_v": TYPES["string" if kind == "null" else kind], "_s": pl.Int64()}
    parts: pl.DataFrame | None = None
    for vs, ve, payload in events:
        counts = where is None or value_of(where, payload, schema, (vs, ve)) is True
        value = value_of(arg, payload, schema, (vs, ve)) if counts else None
        one = pl.DataFrame([(value, vs)], schema=kinds, orient="row").select(
            expr.alias(name) for name, expr in zip(names, algebra.accumulate(pl.col("_v"), pl.col("_s")), strict=True)
        )
        both = one if parts is None else pl.concat([parts, one])
        merged = zip(names, algebra.merge(*map(pl.col, names)), strict=True)
        parts = both.select(expr.alias(name) for name, expr in merged)
    assert parts is not None, "there is no result for nothing"
    return parts.select(algebra.result(*map(pl.col, names)).cast(TYPES[algebra.returns])).item()


OF_NOTHING = ("count", "count_distinct", "approx_count_distinct", "top_k", "collect_list")
"""They have a value, zero or an empty list, where there is nothing."""


def _values(timed: Timed) -> list[Any]:
    return sorted((value for _, value in timed), key=order)


def _distinct(timed: Timed, aggregate: Aggregate) -> int:
    return len({order(value) for _, value in timed})


def _sum(timed: Timed, aggregate: Aggregate) -> int | float:
    values = _values(timed)
    if isinstance(values[0], float):
        return exact_sum(values)
    total = sum(values)
    if not -(2**63) <= total < 2**63:
        raise DataError("DATA.OVERFLOW", what=repr(aggregate))
    return int(total)


def _avg(timed: Timed, aggregate: Aggregate) -> float:
    values = _values(timed)
    total = exact_sum(values) if isinstance(values[0], float) else sum(values)
    return total / len(values)


def exact_sum(values: Sequence[float]) -> float:
    """Rounded once, whatever the order; infinities and NaN as IEEE 754 adds them."""
    if not all(math.isfinite(value) for value in values):
        return sum(value for value in values if not math.isfinite(value))
    return _rounded(sum(map(Fraction, values), Fraction()))


def _rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _root(square: Fraction) -> float:
    """The square root with far more digits than a double, then rounded."""
    if not square:
        return 0.0
    digits = (square.denominator.bit_length() - square.numerator.bit_length()) // 2 + 80
    return _rounded(Fraction(math.isqrt(int(square * Fraction(4) ** digits))) / Fraction(2) ** digits)


def _spread(free: int, shape: Callable[[Fraction], float]) -> Callable[[Timed, Aggregate], float | None]:
    """Of the squared distances from the mean, divided by ``n - free``."""

    def spread(timed: Timed, aggregate: Aggregate) -> float | None:
        values = _values(timed)
        if len(values) <= free:
            return None
        if not all(math.isfinite(value) for value in values):
            return math.nan
        exact = [Fraction(value) for value in values]
        mean = sum(exact, Fraction()) / len(exact)
        return shape(sum(((x - mean) ** 2 for x in exact), Fraction()) / (len(exact) - free))

    return spread


def _first(timed: Timed, aggregate: Aggregate) -> Any:
    return min(timed, key=lambda pair: (pair[0], order(pair[1])))[1]


def _last(timed: Timed, aggregate: Aggregate) -> Any:
    return max(timed, key=lambda pair: (pair[0], order(pair[1])))[1]


def _percentile_disc(timed: Timed, aggregate: Aggregate) -> Any:
    assert aggregate.param is not None
    values = _values(timed)
    return values[max(math.ceil(aggregate.param * len(values)), 1) - 1]


def _percentile_cont(timed: Timed, aggregate: Aggregate) -> float:
    assert aggregate.param is not None
    values = _values(timed)
    rank = aggregate.param * (len(values) - 1)
    low, high = float(values[math.floor(rank)]), float(values[math.ceil(rank)])
    return low if low == high else low + (high - low) * (rank - math.floor(rank))


def _top_k(timed: Timed, aggregate: Aggregate) -> list[Any]:
    assert aggregate.param is not None
    values = _values(timed)[::-1]
    return [value for value in values if ranked(value, values) <= aggregate.param]


def ranked(value: Any, values: Sequence[Any], descending: bool = True) -> int:
    """SQL's RANK: one more than the number of better values."""
    mine = order(value)
    return 1 + len([other for other in values if (order(other) > mine if descending else order(other) < mine)])


FUNCTIONS: dict[str, Callable[[Timed, Aggregate], Any]] = {
    "count": lambda timed, _: len(timed),
    "count_distinct": _distinct,
    "approx_count_distinct": _distinct,
    "sum": _sum,
    "avg": _avg,
    "min": lambda timed, _: _values(timed)[0],
    "max": lambda timed, _: _values(timed)[-1],
    "variance": _spread(1, _rounded),
    "stddev": _spread(1, _root),
    "var_pop": _spread(0, _rounded),
    "stddev_pop": _spread(0, _root),
    "first": _first,
    "last": _last,
    "percentile_disc": _percentile_disc,
    "percentile_cont": _percentile_cont,
    "top_k": _top_k,
    "collect_list": lambda timed, _: _values(timed),
}
