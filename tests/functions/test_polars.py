"""Every function over edge values gives in Polars what Spark gave, and in the reference too; no JVM is needed."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from tests.functions.cases import CASES, Case
from tests.functions.differences import DIFFERENCES
from tests.functions.golden import frame_of, recorded, result_type, values_of
from waterclock.expr import to_polars
from waterclock.expr.functions import FUNCTIONS
from waterclock.expr.nodes import Literal
from waterclock.reference import value_of
from waterclock.reference.functions import LAZY, STRICT
from waterclock.schema import TYPES, Schema

GOLDEN = recorded()
EXPECTED = {(case, args) for listed in DIFFERENCES.values() for case, args in listed}
BEYOND_PYTHON = {"cast to timestamp(bigint)"}
"""Times that no datetime can hold."""
NAMES = sorted({case.name for case in CASES})


def same(found: Any, wanted: Any, approximate: bool) -> bool:
    if found == wanted:
        return True
    if not approximate or None in (found, wanted):
        return False
    return math.isclose(float(found), float(wanted), rel_tol=1e-14)


def rows_that_differ(case: Case, frame: pl.DataFrame, found: list[Any], wanted: list[Any]) -> set[tuple[str, str]]:
    approximate = case.name in FUNCTIONS and FUNCTIONS[case.name].approximate
    return {
        (str(case), str(row))
        for row, mine, theirs in zip(frame.rows(), found, wanted, strict=True)
        if not same(mine, theirs, approximate)
    }


def given(case: Case) -> pl.DataFrame:
    return frame_of(case.pools, case.schema) if case.pools else pl.DataFrame({"nothing": [None]})


def evaluated(case: Case, frame: pl.DataFrame) -> list[Any]:
    kind = result_type(case)
    column = frame.with_columns(to_polars(case.expr, case.schema).cast(TYPES[kind]).alias("_found"))["_found"]
    return values_of(column, kind)


def test_every_function_is_here() -> None:
    assert {function.name for function in FUNCTIONS.values()} <= set(NAMES)
    assert set(GOLDEN) == set(map(str, CASES)), "record anew: python -m tests.functions.golden"


@pytest.mark.parametrize("name", NAMES)
def test_as_spark(name: str) -> None:
    found = set()
    for case in CASES:
        if case.name == name:
            frame = given(case)
            found |= rows_that_differ(case, frame, evaluated(case, frame), GOLDEN[str(case)])
    mine = {str(case) for case in CASES if case.name == name}
    assert found == {pair for pair in EXPECTED if pair[0] in mine}


def test_every_difference_is_of_a_case() -> None:
    assert {case for case, _ in EXPECTED} <= set(map(str, CASES))


@pytest.mark.parametrize("name", NAMES)
def test_rows_do_not_depend_on_each_other(name: str) -> None:
    """The same values backwards, one frame per few rows, and as constants."""
    for case in CASES:
        frame = given(case)
        if case.name != name or frame.height < 2:
            continue
        whole = evaluated(case, frame)
        assert evaluated(case, frame.reverse()) == whole[::-1], case
        parts = [evaluated(case, frame[start : start + 5]) for start in range(0, frame.height, 5)]
        assert [value for part in parts for value in part] == whole, case
        assert evaluated(case, frame.clear()) == [], case
        if any("<" in kind for _, kind in case.schema):
            continue  # there are no constants of these types
        for row in (0, frame.height // 2, frame.height - 1):
            values = dict(zip(frame.columns, frame.row(row), strict=True))
            assert constants(case, values) == [whole[row]], (case, values)


def constants(case: Case, values: dict[str, Any]) -> list[Any]:
    kinds = iter(case.schema)
    args = [
        arg.value if not isinstance(arg, str) else literal(values[(column := next(kinds))[0]], column[1])
        for arg in case.args
    ]
    kind = result_type(case)
    return values_of(pl.select(to_polars(case.over(*args), Schema(())).cast(TYPES[kind])).to_series(), kind)


def literal(value: Any, kind: str) -> Literal:
    return Literal(value, kind)


@pytest.mark.parametrize("name", [name for name in NAMES if name in {*LAZY, *STRICT} or name.startswith("cast to ")])
def test_the_reference(name: str) -> None:
    for case in CASES:
        if case.name != name or str(case) in BEYOND_PYTHON:
            continue
        frame, kind = given(case), result_type(case)
        values = [value_of(case.expr, row, case.schema) for row in frame.iter_rows(named=True)]
        found = values_of(pl.Series(values, dtype=TYPES[kind]), kind)
        differ = rows_that_differ(case, frame, found, GOLDEN[str(case)])
        assert not differ - EXPECTED, case
