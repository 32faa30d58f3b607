"""Expressions: the Polars form gives what the reference says. Single functions are in tests/functions."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from itertools import product
from typing import Any

import polars as pl
import pytest

import waterclock as wc
from waterclock.expr import to_polars
from waterclock.expr.functions import FUNCTIONS
from waterclock.expr.nodes import Call, Expr, call, col
from waterclock.reference import bag_difference, value_of
from waterclock.reference.functions import LAZY, STRICT
from waterclock.schema import TYPES, Schema

VALUES: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "int": [0, 1, -1, 7, -7, 2**31 - 1, None],
    "bigint": [0, 2, -3, 10**12, -(10**12), None],
    "float": [0.0, 1.5, -2.25, math.inf, math.nan, None],
    "double": [0.0, -0.0, 2.5, -7.75, 1e18, math.inf, -math.inf, math.nan, None],
    "string": ["", "a", "A b ", " ä", "日本", "ß", "1", None],
    "binary": [b"", b"\xff", None],
    "date": [date(1969, 12, 31), date(2026, 11, 16), None],
    "timestamp": [datetime(2026, 11, 16, 2, 14, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 5, tzinfo=UTC), None],
}


def check(expr: Expr, schema: Schema, rows: list[dict[str, Any]]) -> None:
    kind = expr.type_in(schema)
    frame = pl.DataFrame(rows, schema=schema.polars(), orient="row")
    rendered = frame.with_columns(to_polars(expr, schema).alias("_found"))["_found"]
    if kind != "null":
        assert rendered.dtype == TYPES[kind], repr(expr)
    for row, found in zip(frame.iter_rows(named=True), rendered.to_list(), strict=True):
        expected = value_of(expr, row, schema)
        difference = bag_difference([(0, 1, {"value": found})], [(0, 1, {"value": expected})])
        assert not difference, f"{expr!r} over {row}:\n{difference}"


@pytest.mark.parametrize("function", sorted({function.name for function in FUNCTIONS.values()} & {*LAZY, *STRICT}))
def test_over_a_bare_null(function: str) -> None:
    """NULL has no type of its own; it takes the other's."""
    schema = Schema.of({"b": "boolean", "i": "int", "s": "string"})
    rows = [{"b": True, "i": 2, "s": "x"}, {"b": None, "i": None, "s": None}, {"b": False, "i": 0, "s": ""}]
    parameters = FUNCTIONS[function].parameters
    count = 3 if function == "case" else max(1, sum(not parameter.optional for parameter in parameters))
    for args in product([None, col("b"), col("i"), col("s")], repeat=count):
        expr = call(function, *args)
        if any(arg is None for arg in args) and isinstance(expr, Call):
            try:
                expr.type_in(schema)
            except wc.ConfigError:
                continue
            check(expr, schema, rows)


NESTED = [
    (col("i") + col("f")) * col("f"),
    (col("i") // 2) % 3,
    col("i") / 0,
    col("i") // 0,
    col("i") % 0,
    -col("i") % 4,
    5 - col("d") * 2,
    (col("i") + 2**31 - 1) - 1,
    ~(col("i") > 3) | col("d").is_null(),
    col("i").between(-1, 1),
    col("s").is_in(["a", None]),
    col("s").is_in([]),
    col("i").is_in([1.0, 7.0]),
    wc.when(col("i") > 0, "up").when(col("i") < 0, "down").otherwise(None),
    wc.when(col("b"), col("i")).otherwise(col("d")),
    wc.coalesce(col("i"), col("d"), 0),
    call("concat", col("s"), "-", col("s").upper()),
    col("s").trim().length(),
]


@pytest.mark.parametrize("expr", NESTED, ids=repr)
def test_nested(expr: Expr) -> None:
    schema = Schema.of({"b": "boolean", "i": "int", "f": "float", "d": "double", "s": "string"})
    names = schema.names
    rows = [
        dict(zip(names, values, strict=True))
        for values in product(
            [True, None], [0, 7, -7, 2**31 - 1, None], [0.1, None], [1.5, -2.0, None], ["a", " ä ", None]
        )
    ]
    check(expr, schema, rows)


CASTS = [
    ("string", ["12", "-3", "+4", "", "x", "1.5", "9999999999", None], ["int", "bigint", "double"]),
    ("string", ["true", "F", "1", "0", "maybe", None], ["boolean"]),
    ("string", ["2026-11-16", "x", None], ["date", "timestamp"]),
    ("string", ["2026-11-16T02:14:06.5Z", "2026-11-16 02:14:06", "2026-11-16T02:14", "x", None], ["timestamp"]),
    ("string", ["ä", "", None], ["binary"]),
    ("boolean", [True, False, None], ["int", "bigint", "double", "string"]),
    ("int", VALUES["int"], ["boolean", "bigint", "float", "double", "string"]),
    ("bigint", VALUES["bigint"], ["boolean", "int", "float", "double", "string"]),
    ("double", [0.0, 1.9, -1.9, 1e18, 1e30, math.inf, math.nan, None], ["int", "bigint", "float"]),
    ("double", [0.0, 1.5, -0.25, None], ["string", "boolean"]),
    ("date", VALUES["date"], ["timestamp", "string"]),
    ("timestamp", VALUES["timestamp"], ["date", "bigint"]),
]


@pytest.mark.parametrize(("kind", "values", "targets"), CASTS, ids=lambda value: str(value)[:24])
def test_casts_that_do_not_fit_are_null(kind: str, values: list[Any], targets: list[str]) -> None:
    schema = Schema.of({"c": kind})
    for to in targets:
        check(col("c").cast(to), schema, [{"c": value} for value in values])


def test_dates_compare_with_timestamps() -> None:
    schema = Schema.of({"d": "date"})
    rows = [{"d": value} for value in VALUES["date"]]
    check(col("d") < datetime(2026, 11, 16, 12, tzinfo=UTC), schema, rows)
    check(col("d") == date(2026, 11, 16), schema, rows)
