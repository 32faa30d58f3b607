"""What Spark gives for every case, in ``golden.json``; ``python -m tests.functions.golden`` records it anew."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from tests.conftest import SPARK
from tests.functions.cases import CASES, Case
from tests.functions.values import rows_of
from waterclock.batch.expressions import to_sql
from waterclock.expr.casts import cast_spark
from waterclock.expr.functions import FUNCTIONS, ByType
from waterclock.expr.nodes import Call, Cast, Expr
from waterclock.schema import TYPES, Schema, element_type, struct_fields

FILE = Path(__file__).with_name("golden.json")
QUICK = {
    **SPARK,
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
}
"""Many expressions, each over few rows: compiling them would take most of the time."""


def frame_of(pools: tuple[str, ...], schema: Schema) -> pl.DataFrame:
    return pl.DataFrame(rows_of(pools), schema=schema.polars(), orient="row")


def plain(expr: Expr, schema: Schema) -> str:
    """Spark's own form, with the conversions that Spark makes itself."""
    if isinstance(expr, Cast):
        return cast_spark(plain(expr.arg, schema), expr.arg.type_in(schema), expr.to)
    if not isinstance(expr, Call):
        return to_sql(expr, schema)
    kinds, result = expr.resolved(schema)
    function = FUNCTIONS[expr.function]
    if function.ours:
        return to_sql(expr, schema)
    form = function.spark.make(kinds, result) if isinstance(function.spark, ByType) else function.spark
    return str(form(*(to_sql(arg, schema) for arg in expr.complete)))


def encoded(value: Any, kind: str) -> Any:
    """A value as JSON. Times are numbers, as they are held."""
    if value is None:
        return None
    if (element := element_type(kind)) is not None:
        return [encoded(part, element) for part in value]
    if (fields := struct_fields(kind)) is not None:
        return [encoded(value[name], part) for name, part in fields]
    if kind in ("float", "double"):
        return (
            repr(value)
            if not math.isfinite(value) or value != int(value) or abs(value) > 1e15 or str(value) == "-0.0"
            else int(value)
        )
    return value.hex() if kind == "binary" else value


def physical(kind: str) -> pl.DataType:
    """How a type is written down: times as numbers."""
    if (element := element_type(kind)) is not None:
        return pl.List(physical(element))
    if (fields := struct_fields(kind)) is not None:
        return pl.Struct({name: physical(part) for name, part in fields})
    return {"date": pl.Int32(), "timestamp": pl.Int64()}.get(kind, TYPES[kind])


def values_of(column: pl.Series, kind: str) -> list[Any]:
    return [encoded(value, kind) for value in column.cast(TYPES[kind]).cast(physical(kind)).to_list()]


def by_pools() -> list[tuple[tuple[str, ...], list[Case]]]:
    """Cases over the same rows, which are asked in one query."""
    ordered = sorted(CASES, key=lambda case: case.pools)
    return [(pools, list(cases)) for pools, cases in groupby(ordered, key=lambda case: case.pools)]


def on_spark(render: Any) -> dict[str, list[Any]]:
    """The values of every case on Spark, its text made by ``render``."""
    from waterclock.batch.spark.session import session

    found: dict[str, list[Any]] = {}
    with session("functions", "local[2]", QUICK) as own:
        for pools, cases in by_pools():
            schema = cases[0].schema
            numbered = frame_of(pools, schema).with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
            own.createDataFrame(numbered.to_arrow()).coalesce(1).createOrReplaceTempView("given")
            columns = ", ".join(f"{render(case.expr, schema)} AS r{n}" for n, case in enumerate(cases))
            answer = pl.from_arrow(own.sql(f"SELECT row, {columns} FROM given").toArrow())
            assert isinstance(answer, pl.DataFrame)
            answer = answer.sort("row")
            for n, case in enumerate(cases):
                found[str(case)] = values_of(answer[f"r{n}"], result_type(case))
    return found


def result_type(case: Case) -> str:
    kind = case.expr.type_in(case.schema)
    return "string" if kind == "null" else kind


def recorded() -> dict[str, list[Any]]:
    loaded: dict[str, list[Any]] = json.loads(FILE.read_text())
    return loaded


def write(values: Mapping[str, list[Any]]) -> None:
    lines = [
        f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(values[key], ensure_ascii=False)}"
        for key in sorted(values)
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write(on_spark(plain))
