"""Aggregates over many values: exact sums, rounding, sketches, filters, arrays, and parts on disk."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from waterclock.errors import DataError
from waterclock.expr.nodes import col
from waterclock.operators.aggregates import ALGEBRAS, Aggregates
from waterclock.operators.aggregates.sketch import SIZE
from waterclock.operators.aggregates.whole import quotient
from waterclock.plan import Aggregate
from waterclock.schema import VS, Schema
from waterclock.storage.blobs import decode, encode

SCHEMA = Schema.of({"g": "bigint", "x": "bigint", "y": "double", "s": "string", "a": "array<string>"})


def frame(**columns: Any) -> pl.DataFrame:
    height = len(next(iter(columns.values())))
    missing = {name: [None] * height for name in SCHEMA.names if name not in columns}
    filled = {VS: range(height), "g": [0] * height, **missing, **columns} if "g" not in columns else {
        VS: range(height), **missing, **columns}  # fmt: skip
    return pl.DataFrame(filled, schema_overrides=SCHEMA.polars())


def results(rows: pl.DataFrame, *aggregates: Aggregate, cut: int = 1) -> list[tuple[Any, ...]]:
    """By group, from ``cut`` partial results."""
    every = Aggregates([(f"v{i}", aggregate) for i, aggregate in enumerate(aggregates)], SCHEMA)
    parts = [
        every.accumulated(rows.gather_every(cut, i).lazy().select(VS, "g", *every.values()), ["g"]) for i in range(cut)
    ]
    return every.results(every.merged(pl.concat(parts), ["g"]).sort("g"), "g").drop("g").rows()


@pytest.mark.parametrize("powers", [(0, 1), (-20, 20), (-52, 64), (-70, 80), (-1070, 1000)])
def test_float_sums_are_exactly_rounded(powers: tuple[int, int]) -> None:
    random = np.random.default_rng(7)
    values = np.ldexp(random.uniform(-1, 1, 20_000), random.integers(*powers, 20_000))
    values[:10_000:2] = -values[1:10_000:2]  # much cancels out
    groups = random.integers(0, 50, 20_000)
    expected = [(math.fsum(values[groups == group]),) for group in range(50)]
    rows = frame(g=groups, y=values)
    assert results(rows, Aggregate("sum", col("y"))) == expected
    assert results(rows.sample(fraction=1, shuffle=True, seed=1), Aggregate("sum", col("y")), cut=7) == expected


def test_sums_around_the_borders_of_rounding() -> None:
    ulp = 2.0**-52
    for values in (
        [1.0, ulp / 2], [1.0, ulp / 2, 2.0**-107], [1.0, ulp / 2, -(2.0**-90)], [-1.0, -ulp / 2, -(2.0**-107)],
        [2.0**60, 2.0**7], [2.0**60, 2.0**7, 1e-15], [-(2.0**60), -(2.0**7), -1e-15], [2.0**36, 2.0**-17, 2.0**-80],
        [2.0**-20, -(2.0**-21)], [-(2.0**-20), 2.0**-100], [1e16, 1.0, -1e16], [1e300, 1.0, -1e300], [0.1] * 10,
        [1.0, ulp / 2, 2.0**-54 + 2.0**-106, -(2.0**-54)], [-1.0, -ulp / 2, -(2.0**-54) - 2.0**-106, 2.0**-54],
        [2.0**66] * 1000, [-(2.0**66)] * 1000, [1.7e308, 1.7e308, -1.7e308], [-0.0],
    ):  # fmt: skip
        exact = float(sum(map(Fraction, values)))
        assert results(frame(y=values), Aggregate("sum", col("y"))) == [(exact,)], values


def test_quotients_are_correctly_rounded() -> None:
    random = np.random.default_rng(3)
    above = [int(a) * int(b) + int(c) for a, b, c in random.integers(-(2**50), 2**50, (3000, 3))]
    above += [0, 1, -1, 2**53 + 1, 2**102, -(2**102) - 1]
    below = [int(b) for b in random.integers(1, 2**40, len(above))]
    many = 2**40 - 1
    above += [many * (2**53 + 1) + 1, many * (2**53 + 1), -many * (2**53 + 1) - 1]  # half way, and a bit beside
    below += [many] * 3
    pairs = pl.DataFrame({"a": above, "b": below}, schema={"a": pl.Int128(), "b": pl.Int128()})
    assert pairs.select(quotient(pl.col("a"), pl.col("b"))).to_series().to_list() == [
        a / b for a, b in zip(above, below, strict=True)
    ]


def test_only_a_result_overflows() -> None:
    largest = 2**63 - 1
    assert results(frame(x=[largest, largest, -largest]), Aggregate("sum", col("x")), cut=3) == [(largest,)]
    assert results(frame(x=[largest, largest]), Aggregate("avg", col("x"))) == [(float(largest),)]
    with pytest.raises(DataError, match=r"sum\(x\) does not fit") as caught:
        results(frame(x=[largest, 1]), Aggregate("sum", col("x")))
    assert caught.value.code == "DATA.OVERFLOW"


def test_groups_exist_whatever_their_values_are() -> None:
    some = [
        Aggregate("count"),
        Aggregate("count", col("x")),
        Aggregate("sum", col("x")),
        Aggregate("count", where=col("x") > 1),
    ]
    rows = frame(g=[1, 1, 2], x=[None, None, 5])
    assert results(rows, *some) == [(2, 0, None, 0), (1, 1, 5, 1)]


def test_filters() -> None:
    rows = frame(x=[1, 2, 3, None], y=[0.5, 1.5, None, 9.0])
    some = [Aggregate("sum", col("x"), col("y") > 1), Aggregate("collect_list", col("y"), col("x") < 3)]
    assert results(rows, *some, cut=2) == [(2, [0.5, 1.5])]


def test_first_and_last_go_by_start() -> None:
    rows = frame(s=["c", "b", "a", None]).with_columns(pl.Series(VS, [5, 5, 7, 1]))
    assert results(rows, Aggregate("first", col("s")), Aggregate("last", col("s")), cut=2) == [("b", "a")]


@pytest.mark.parametrize("n", [0, 1, 1000, SIZE - 1, 100_000])
def test_about_how_many(n: int) -> None:
    values = frame(g=[1] * (2 * n + 1), x=[None, *range(n), *range(n)])
    (found,) = results(values, Aggregate("approx_count_distinct", col("x")))
    if n < SIZE:
        assert found == (n,)
    assert found[0] == pytest.approx(n, rel=0.05)
    assert results(values.reverse(), Aggregate("approx_count_distinct", col("x")), cut=5) == [found]


def test_a_sketch_stays_small() -> None:
    every = Aggregates([("v", Aggregate("approx_count_distinct", col("x")))], SCHEMA)
    parts = every.accumulated(frame(x=range(20_000)).lazy().select(VS, "g", *every.values()), ["g"])
    assert parts[every.parts[0]].list.len().to_list() == [SIZE]


def test_arrays() -> None:
    rows = frame(a=[["a", "b"], ["a"], ["a", "b"], [], None])
    some = [Aggregate(function, col("a")) for function in ("count", "count_distinct", "approx_count_distinct", "first")]
    assert results(rows, *some, Aggregate("collect_list", col("a")), cut=2) == [
        (4, 3, 3, ["a", "b"], [[], ["a"], ["a", "b"], ["a", "b"]])
    ]


@pytest.mark.parametrize("function", ALGEBRAS)
def test_parts_survive_storage(function: str) -> None:
    rows = frame(g=[1, 1, 2, 3], x=[1, 2**62, -5, None], y=[0.1, math.nan, 1e300, None])
    for column in ("x", "y"):
        every = Aggregates([("v", Aggregate(function, col(column), param=1))], SCHEMA)
        parts = every.accumulated(rows.lazy().select(VS, "g", *every.values()), ["g"]).sort("g")
        again = decode(encode(parts))
        assert again.schema == parts.schema
        assert repr(again.rows()) == repr(parts.rows())
        none = decode(encode(every.accumulated(rows.clear().lazy().select(VS, "g", *every.values()), ["g"])))
        assert none.schema == parts.schema
