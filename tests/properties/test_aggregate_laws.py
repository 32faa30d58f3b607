"""The laws of every registered aggregate, over random bags of awkward values, and its result against the reference."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.test_app import quick
from waterclock.errors import ConfigError, DataError
from waterclock.expr.nodes import col
from waterclock.operators.aggregates import ALGEBRAS, Aggregates
from waterclock.plan import Aggregate
from waterclock.plan.aggregate import AGGREGATES
from waterclock.reference.aggregates import aggregate_of
from waterclock.reference.values import single
from waterclock.schema import TYPES, VE, VS, Schema

LONG = st.one_of(
    st.integers(-3, 3), st.sampled_from([2**63 - 1, -(2**63), 2**62, 2**53 + 1]), st.integers(-(2**63), 2**63 - 1)
)
DOUBLE = st.one_of(
    st.sampled_from([0.0, -0.0, 0.1, 0.2, 0.3, 1e16, -1e16, 1.0, 2.0**53, 1e308, -1e308, 5e-324, 1e-30, 1e-150, 3e-17]),
    st.sampled_from([math.nan, math.inf, -math.inf, 2.0**67, -(2.0**67), 2.0**66, 2.0**-107, 2.0**-108]),
    st.floats(-1000, 1000),
    st.floats(),
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.one_of(st.integers(-3, 3), st.integers(-(2**31), 2**31 - 1)),
    "bigint": LONG,
    "float": DOUBLE.map(single),
    "double": DOUBLE,
    "string": st.sampled_from(["", "a", "b", "ab", "ä", "日本"]),
    "binary": st.sampled_from([b"", b"a", b"\xff", b"a\x00"]),
    "boolean": st.booleans(),
    "date": st.sampled_from([date(1969, 12, 31), date(1970, 1, 1), date(2026, 11, 16)]),
    "timestamp": st.sampled_from([datetime(1969, 12, 31, tzinfo=UTC), datetime(2026, 11, 16, 2, tzinfo=UTC)]),
}
PARAMS: dict[str, st.SearchStrategy[Any]] = {
    "percentile_disc": st.sampled_from([0.0, 0.25, 0.5, 0.95, 1.0]),
    "percentile_cont": st.sampled_from([0.0, 0.25, 0.5, 0.95, 1.0]),
    "top_k": st.integers(1, 4),
}
ROUGHLY = ("variance", "stddev", "var_pop", "stddev_pop")
BAGS = ("a", "b", "c")


def kinds_of(function: str) -> list[str]:
    found = []
    for kind in VALUES:
        try:
            Aggregate(function, col("v"), param=1).type_in(Schema.of({"v": kind}))
        except ConfigError:
            continue
        found.append(kind)
    return found


@st.composite
def cases(draw: st.DrawFn, function: str) -> tuple[Aggregate, str, dict[str, list[tuple[int, Any]]]]:
    kind = draw(st.sampled_from(kinds_of(function)))
    aggregate = Aggregate(function, col("v"), param=draw(PARAMS[function]) if function in PARAMS else None)
    pair = st.tuples(st.integers(0, 3), st.one_of(st.none(), VALUES[kind]))
    return aggregate, kind, {name: draw(st.lists(pair, min_size=1, max_size=6)) for name in BAGS}


def plain(value: Any) -> Any:
    """Comparable: all NaNs alike."""
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def parts_of(frame: pl.DataFrame, parts: list[str]) -> dict[str, Any]:
    """By group; with repr, which tells zeros apart."""
    return {row["g"]: repr([plain(row[part]) for part in parts]) for row in frame.iter_rows(named=True)}


def check(aggregate: Aggregate, kind: str, bags: dict[str, list[tuple[int, Any]]]) -> None:
    schema = Schema.of({"v": kind})
    aggregates = Aggregates([("r", aggregate)], schema)
    (algebra,), parts = aggregates.algebras, aggregates.parts
    groups = {
        **bags,
        "abc": bags["a"] + bags["b"] + bags["c"],
        "cba": bags["c"][::-1] + bags["b"][::-1] + bags["a"][::-1],
        "none": [(1, None)],
    }
    rows = pl.DataFrame(
        [(name, vs, vs + 1, value) for name, bag in groups.items() for vs, value in bag],
        schema={"g": pl.String(), VS: pl.Int64(), VE: pl.Int64(), "v": TYPES[kind]},
        orient="row",
    )
    taken = rows.select("g", VS, VE, *aggregates.values())
    made = aggregates.accumulated(taken, ["g"])
    known = parts_of(made, parts)
    assert known == parts_of(taken.group_by("g").agg(aggregates.accumulate()), parts)

    # No value is the unit; the order of a bag does not matter.
    assert known["none"] == repr([plain(part) for part in algebra.initial()])
    assert known["abc"] == known["cba"]

    def merged(frame: pl.DataFrame, **sums: tuple[str, ...]) -> pl.DataFrame:
        picked = [
            frame.filter(pl.col("g") == one).with_columns(g=pl.lit(name)) for name, ones in sums.items() for one in ones
        ]
        together = pl.concat(picked)
        result = aggregates.merged(together, ["g"])
        assert parts_of(result, parts) == parts_of(together.group_by("g").agg(aggregates.merge()), parts)
        return result

    once = pl.concat([made, merged(made, ab=("a", "b"), bc=("b", "c"), ba=("b", "a"), unit=("a", "none"))])
    twice = pl.concat([once, merged(once, left=("ab", "c"), right=("a", "bc"), all=("c", "b", "a"))])
    found = parts_of(twice, parts)
    assert found["ab"] == found["ba"]
    assert found["unit"] == found["a"]
    assert found["left"] == found["right"] == found["all"] == found["abc"]

    if algebra.way == "subtract":
        assert all(made.schema[part].is_integer() and not made[part].null_count() for part in parts)
        both = once.filter(pl.col("g") == "ab").join(once.filter(pl.col("g") == "b"), how="cross", suffix="_gone")
        gone = algebra.retract([pl.col(part) for part in parts], [pl.col(f"{part}_gone") for part in parts])
        left = both.select(pl.lit("a").alias("g"), *(e.alias(part) for e, part in zip(gone, parts, strict=True)))
        assert parts_of(left, parts)["a"] == found["a"]

    for name, bag in groups.items():
        events = [(vs, vs + 1, {"v": value}) for vs, value in bag]
        group = made.filter(pl.col("g") == name)
        try:
            expected = aggregate_of(aggregate, events, schema)
        except DataError:
            with pytest.raises(DataError, match="OVERFLOW"):
                aggregates.results(group)
            continue
        result = aggregates.results(group)
        assert result.schema["r"] == TYPES[aggregate.type_in(schema)]
        value = result["r"].to_list()[0]
        if aggregate.function in ROUGHLY and expected is not None and math.isfinite(expected):
            assert value == pytest.approx(expected, rel=1e-12, abs=5e-324), (value, expected)
        else:
            assert plain(value) == plain(expected)


def test_every_aggregate_of_the_plan_has_an_algebra_and_is_tested_here() -> None:
    assert set(ALGEBRAS) == set(AGGREGATES)
    assert all(kinds_of(function) for function in ALGEBRAS)


@pytest.mark.parametrize("function", ALGEBRAS)
def test_laws(function: str) -> None:
    @quick(60)
    @given(cases(function))
    def laws(case: tuple[Aggregate, str, dict[str, list[tuple[int, Any]]]]) -> None:
        check(*case)

    laws()


@pytest.mark.soak
@pytest.mark.parametrize("function", ALGEBRAS)
def test_laws_at_length(function: str) -> None:
    @quick(3000)
    @given(cases(function))
    def laws(case: tuple[Aggregate, str, dict[str, list[tuple[int, Any]]]]) -> None:
        check(*case)

    laws()
