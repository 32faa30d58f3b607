"""User code in batch mode: Spark collects the events of a key, or the values of a group, and calls the code on them."""

from __future__ import annotations

import base64
import pickle
import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa

from waterclock.batch.expressions import names, quoted, text, user_name
from waterclock.batch.query import Query
from waterclock.errors import UserError
from waterclock.operators import attempt
from waterclock.plan.guarded import Attempt
from waterclock.plan.nodes import Node
from waterclock.plan.user import Apply, Elements, Track, UserCode
from waterclock.reference import user as meaning
from waterclock.schema import SEQ, TYPES, VE, VS, Schema, element_type
from waterclock.time import FOREVER
from waterclock.usercode.aggregate import AggregateCode
from waterclock.usercode.machine import Row
from waterclock.usercode.scalar import Scalar

_MARK = "waterclock user error: "
_ARROW = {
    "boolean": pa.bool_(), "int": pa.int32(), "bigint": pa.int64(), "float": pa.float32(), "double": pa.float64(),
    "string": pa.string(), "binary": pa.binary(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
}  # fmt: skip


def keyed(query: Query, node: Track | Apply) -> str:
    fields = ", ".join(f"{text(name)}, {quoted(name)}" for name in (VS, VE, *node.input.schema.names))
    by = ", ".join(quoted(key) for key in node.keys) or "NULL"
    events = f"SELECT collect_list(named_struct({fields})) AS _e FROM {query.view(node.input)} GROUP BY {by}"
    return _inline(node, f"SELECT inline({user_name(node.identity)}(_e)) FROM ({events})")


def elements(query: Query, node: Elements | Attempt) -> str:
    columns = ", ".join(quoted(name) for name in (VS, VE, *node.input.schema.names))
    return _inline(node, f"SELECT inline({user_name(node.identity)}({columns})) FROM {query.view(node.input)}")


def _inline(node: Node, rows: str) -> str:
    return f"SELECT {names(node.schema.names)}{VS}, {VE} FROM ({rows})"


RULES = {Track: keyed, Apply: keyed, Elements: elements, Attempt: elements}


def name_of(found: UserCode) -> str:
    return user_name(found.identity if isinstance(found, Node) else found.label)


def type_of(found: UserCode) -> str:
    """What its function gives, as Spark writes types."""
    if isinstance(found, Node):
        columns = [(VS, "bigint"), (VE, "bigint"), *found.schema]
        return f"array<struct<{', '.join(f'{quoted(name)}: {kind}' for name, kind in columns)}>>"
    return found.returns


def function_of(found: UserCode) -> Callable[..., pa.Array]:
    """Arrow arrays in, an Arrow array out."""
    if isinstance(found, Scalar):
        return _raising(lambda *columns: _scalar(found, columns))
    if isinstance(found, AggregateCode):
        return _raising(lambda groups: _aggregate(found, groups))
    if isinstance(found, Elements):
        return _raising(lambda *columns: _elements(found, columns))
    if isinstance(found, Attempt):
        return _raising(lambda *columns: _attempt(found, columns))
    return _raising(lambda groups: _keyed(found, groups))


def user_error(reason: str) -> UserError | None:
    """The error of user code in what Spark says, if it is one."""
    found = re.search(rf"{_MARK}([A-Za-z0-9+/=]+)", reason)
    return pickle.loads(base64.b64decode(found[1])) if found else None


def _raising(function: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    """Spark brings only the text of an error back, so the error is in the text."""

    def run(*columns: pa.Array) -> pa.Array:
        try:
            return function(*columns)
        except UserError as error:
            packed = base64.b64encode(pickle.dumps(error)).decode()
            raise RuntimeError(f"{_MARK}{packed}") from error

    return run


def _scalar(scalar: Scalar, columns: tuple[pa.Array, ...]) -> pa.Array:
    return _arrow(scalar.run([pl.Series(column) for column in columns]), scalar.returns)


def _aggregate(algebra: AggregateCode, groups: pa.Array) -> pa.Array:
    parts = [name for name, _ in algebra.parts]
    rows = pl.Series("_g", groups).to_frame().with_row_index("_row").explode("_g").unnest("_g")
    folded = zip(parts, algebra.accumulate(pl.col("_a"), pl.col("_s")), strict=True)
    folds = [expr.alias(name) for name, expr in folded]
    value = algebra.result(*map(pl.col, parts)).cast(TYPES[algebra.returns]).alias("_r")
    try:
        found = rows.group_by("_row", maintain_order=True).agg(folds).select(value)
    except Exception as error:
        raise algebra.located(rows["_a"], rows["_s"]) or algebra.problem(error, "the values of a group") from error
    return _arrow(found["_r"], algebra.returns)


def _keyed(node: Track | Apply, groups: pa.Array) -> pa.Array:
    made: list[list[dict[str, Any]]] = []
    for events in pl.Series(groups).to_list():
        given = [(event.pop(VS), event.pop(VE), event) for event in events]
        if isinstance(node, Track):
            results, _ = meaning.track(node, given, FOREVER)
        else:
            results, _ = meaning.apply(node, given, FOREVER)
        made.append([{VS: vs, VE: ve, **payload} for vs, ve, payload in results])
    return pa.array(made, pa.list_(_struct(node.schema)))


def _elements(node: Elements, columns: tuple[pa.Array, ...]) -> pa.Array:
    made: list[list[dict[str, Any]]] = []
    names, given = node.input.schema.names, node.schema.names
    for vs, ve, *values in zip(*(pl.Series(column).to_list() for column in columns), strict=True):
        results: list[tuple[Any, ...]] = []
        with meaning.left_out(node):
            results = node.function.run(Row(dict(zip(names, values, strict=True)), vs, ve))
        made.append([{VS: vs, VE: ve, **dict(zip(given, result, strict=True))} for result in results])
    return pa.array(made, pa.list_(_struct(node.schema)))


def _attempt(node: Attempt, columns: tuple[pa.Array, ...]) -> pa.Array:
    """By the kernel: whole batches are given to user code, and other functions give there what they give in SQL."""
    rows = pl.DataFrame([pl.Series(column) for column in columns], schema=list(node.input.schema.frame_schema()))
    typed = rows.cast(dict(node.input.schema.frame_schema())).with_row_index(SEQ)  # type: ignore[arg-type]
    made: list[list[dict[str, Any]]] = [[] for _ in range(rows.height)]
    for row in attempt.apply(node, typed.lazy(), []).collect().iter_rows(named=True):
        made[row.pop(SEQ)].append(row)
    return pa.array(made, pa.list_(_struct(node.schema)))


def _struct(schema: Schema) -> pa.DataType:
    return pa.struct([(VS, pa.int64()), (VE, pa.int64()), *((name, _type(kind)) for name, kind in schema)])


def _type(kind: str) -> pa.DataType:
    element = element_type(kind)
    return _ARROW[kind] if element is None else pa.list_(_type(element))


def _arrow(values: pl.Series, kind: str) -> pa.Array:
    return values.to_arrow().cast(_type(kind))
