"""Expressions as Spark SQL text, of exactly the types that ``type_in`` says.

Written for a session without ANSI mode: integers wrap around and a quotient by zero is null.
"""

from __future__ import annotations

from collections.abc import Sequence

from waterclock.expr.casts import cast_spark
from waterclock.expr.functions import FUNCTIONS, ByType
from waterclock.expr.functions.base import widened
from waterclock.expr.nodes import Call, Cast, Column, End, Expr, Literal, Start, UserCall
from waterclock.schema import VE, VS, Schema
from waterclock.time import FOREVER


def quoted(name: str) -> str:
    """A name as SQL reads it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def names(columns: Sequence[str], table: str = "") -> str:
    """Columns for a list, each with a comma behind it, so that none leaves nothing."""
    prefix = f"{table}." if table else ""
    return "".join(f"{prefix}{quoted(column)}, " for column in columns)


def text(value: str) -> str:
    """A string constant. All but letters and digits is escaped: nothing in it can mean something to the parser."""
    plain = [
        c if c.isascii() and c.isalnum() else f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"
        for c in value
    ]
    return f"'{''.join(plain)}'"


def big(number: int) -> str:
    """A bigint constant."""
    return f"{number}L" if number >= 0 else f"({number}L)"


def to_sql(expr: Expr, schema: Schema) -> str:
    if isinstance(expr, Column):
        return quoted(expr.name)
    if isinstance(expr, Start):
        return f"timestamp_micros({VS})"
    if isinstance(expr, End):
        return f"CASE WHEN {VE} < {big(FOREVER)} THEN timestamp_micros({VE}) END"
    if isinstance(expr, Literal):
        return _literal(expr)
    if isinstance(expr, Cast):
        return cast_spark(to_sql(expr.arg, schema), expr.arg.type_in(schema), expr.to)
    if isinstance(expr, UserCall):
        return f"{user_name(expr.function.label)}({', '.join(to_sql(arg, schema) for arg in expr.args)})"
    assert isinstance(expr, Call)
    function, args = FUNCTIONS[expr.function], expr.complete
    kinds, result = expr.resolved(schema)
    if result == "null":
        return "NULL"
    given = [widened(to_sql(arg, schema), arg.type_in(schema), kind) for arg, kind in zip(args, kinds, strict=True)]
    form = function.spark.make(kinds, result) if isinstance(function.spark, ByType) else function.spark
    return f"({form(*given)})"


def user_name(label: str) -> str:
    """The SQL name of user code."""
    return f"waterclock_user_{label.rpartition('@')[2]}"


def typed(expr: Expr, schema: Schema, kind: str) -> str:
    """As a column of type ``kind``: what a bare null becomes."""
    return widened(to_sql(expr, schema), expr.type_in(schema), kind)


def _literal(expr: Literal) -> str:
    if expr.value is None:
        return "NULL"
    if expr.type == "boolean":
        return "true" if expr.value else "false"
    if expr.type in ("int", "bigint", "float", "double"):
        return f"CAST({text(repr(expr.value))} AS {expr.type})"
    if expr.type == "string":
        return text(expr.value)
    if expr.type == "binary":
        return f"X'{expr.value.hex()}'"
    if expr.type == "date":
        return f"DATE'{expr.value.isoformat()}'"
    return f"timestamp_micros({big(expr.value)})"
