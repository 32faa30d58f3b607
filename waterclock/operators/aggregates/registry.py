"""Which algebra serves an aggregate."""

from __future__ import annotations

from collections.abc import Callable

from waterclock.operators.aggregates.bags import CollectList, CountDistinct, PercentileCont, PercentileDisc, TopK
from waterclock.operators.aggregates.base import Algebra
from waterclock.operators.aggregates.floats import FloatAvg, FloatSum, FloatVariance
from waterclock.operators.aggregates.simple import Count, First, Last, Max, Min
from waterclock.operators.aggregates.sketch import ApproxCountDistinct
from waterclock.operators.aggregates.user import UserAlgebra
from waterclock.operators.aggregates.whole import WholeAvg, WholeSum, WholeVariance
from waterclock.plan.aggregate import Aggregate
from waterclock.plan.user import UserAggregate
from waterclock.schema import INTEGERS, Schema

ALGEBRAS: dict[str, Callable[[bool, float | int], Algebra]] = {
    "count": lambda whole, param: Count(),
    "count_distinct": lambda whole, param: CountDistinct(),
    "approx_count_distinct": lambda whole, param: ApproxCountDistinct(),
    "sum": lambda whole, param: WholeSum() if whole else FloatSum(),
    "avg": lambda whole, param: WholeAvg() if whole else FloatAvg(),
    "min": lambda whole, param: Min(),
    "max": lambda whole, param: Max(),
    "variance": lambda whole, param: _variance(whole, sample=True, root=False),
    "stddev": lambda whole, param: _variance(whole, sample=True, root=True),
    "var_pop": lambda whole, param: _variance(whole, sample=False, root=False),
    "stddev_pop": lambda whole, param: _variance(whole, sample=False, root=True),
    "first": lambda whole, param: First(),
    "last": lambda whole, param: Last(),
    "percentile_disc": lambda whole, param: PercentileDisc(float(param)),
    "percentile_cont": lambda whole, param: PercentileCont(float(param)),
    "top_k": lambda whole, param: TopK(int(param)),
    "collect_list": lambda whole, param: CollectList(),
}
"""By function: given whether the argument is a whole number, and the parameter."""


def algebra_of(aggregate: Aggregate, schema: Schema) -> Algebra:
    if isinstance(aggregate, UserAggregate):
        assert aggregate.algebra is not None
        return UserAlgebra(aggregate.algebra)
    whole = aggregate.arg is not None and aggregate.arg.type_in(schema) in INTEGERS
    return ALGEBRAS[aggregate.function](whole, aggregate.param or 0)


def _variance(whole: bool, sample: bool, root: bool) -> Algebra:
    return WholeVariance(sample, root) if whole else FloatVariance(sample, root)
