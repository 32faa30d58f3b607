"""The laws of an aggregate, tried on sample values: for the tests of those who write one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from waterclock.errors import UserError
from waterclock.lang.fluent.user import AggregateFunction
from waterclock.operators.aggregates.fold import Aggregates
from waterclock.schema import TYPES, VE, VS, Schema, type_name

_MERGE = "It must give the same for any order and any cut: merging must be associative and commutative."
_UNIT = "Nulls and nothing must not change a result: they are what where= leaves out."


def check_aggregate(aggregate: AggregateFunction, values: Sequence[Any], type: object, *arguments: object) -> None:
    """Tries the laws of an aggregate on all ways to cut ``values`` of ``type`` in three; raises at the first it breaks.

    Further arguments go to the class. Use values that are awkward: zero, null, very large and very small ones.
    """
    kind = type_name(type)
    made = Aggregates([("r", aggregate("v", *arguments))], Schema.of({"v": kind}))
    bag = list(enumerate(values))
    for first in range(len(bag) + 1):
        for second in range(first, len(bag) + 1):
            _check(aggregate, made, kind, [bag[:first], bag[first:second], bag[second:]])


def _check(aggregate: AggregateFunction, made: Aggregates, kind: str, bags: list[list[tuple[int, Any]]]) -> None:
    (algebra,), names = made.algebras, made.parts
    a, b, c = bags
    groups = {"a": a, "b": b, "c": c, "abc": a + b + c, "cba": (a + b + c)[::-1], "null": [(0, None)]}
    rows = pl.DataFrame(
        [(name, at, at + 1, value) for name, bag in groups.items() for at, value in bag],
        schema={"g": pl.String(), VS: pl.Int64(), VE: pl.Int64(), "v": TYPES[kind]}, orient="row",
    )  # fmt: skip
    parts = made.accumulated(rows.select("g", VS, VE, *made.values()), ["g"])
    initial = pl.DataFrame([("nothing", *algebra.initial())], schema=parts.schema, orient="row")
    known = pl.concat([parts, initial])

    def merged(*chosen: str) -> pl.DataFrame:
        found = pl.concat([known.filter(pl.col("g") == name) for name in chosen])
        return made.merged(found.with_columns(g=pl.lit("m")), ["g"])

    def held(law: str, fix: str, one: pl.DataFrame, other: pl.DataFrame) -> None:
        left, right = ([_plain(row) for row in frame.select(names).rows()] for frame in (one, other))
        if left != right:
            found = f"{left} is not {right} for {[[value for _, value in bag] for bag in bags]}"
            raise UserError("USER.BROKEN_LAW", name=aggregate.name, law=law, found=found, fix=fix)

    def of(name: str) -> pl.DataFrame:
        return known.filter(pl.col("g") == name)

    held("accumulate of a null is initial", _UNIT, of("null"), of("nothing"))
    present = [name for name in ("a", "b", "c") if groups[name]]
    if not present:
        return
    held("the order of values does not matter", _MERGE, of("abc"), of("cba"))
    held("merging parts is accumulating all values", _MERGE, merged(*present), of("abc"))
    held("merging is commutative", _MERGE, merged(*present[::-1]), of("abc"))
    held("initial is the unit of merge", _UNIT, merged("abc", "nothing"), of("abc"))
    if algebra.way == "subtract" and len(present) > 1:
        rest, last = merged(*present[:-1]), of(present[-1])
        both = of("abc").join(last, how="cross", suffix="_gone")
        gone = algebra.retract([pl.col(part) for part in names], [pl.col(f"{part}_gone") for part in names])
        left = both.select(expr.alias(part) for expr, part in zip(gone, names, strict=True))
        fix = "Leave out additive=True, or let merge only add."
        held("what was added can be subtracted", fix, left, rest)


def _plain(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple("NaN" if isinstance(value, float) and math.isnan(value) else repr(value) for value in row)
