"""Expressions as Spark SQL text, of exactly the types that ``type_in`` says.

Written for a session without ANSI mode: integers wrap around and a quotient by zero is null. Casts are spelled out,
for Spark's own take more texts than streams do, and give null for fewer values that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from waterclock.expr.functions import common
from waterclock.expr.nodes import Call, Cast, Column, End, Expr, Literal, Start, UserCall
from waterclock.schema import INTEGERS, VE, VS, Schema, element_type
from waterclock.time import FOREVER

_HALF = {"int": 2**31, "bigint": 2**63}
_INTEGER = r"\A[+-]?[0-9]+\z"
_NUMBER = r"\A[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity|nan))\z"
_DATE = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z"
_TIMESTAMP = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?Z?)?\z"


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
        return _cast(to_sql(expr.arg, schema), expr.arg.type_in(schema), expr.to)
    if isinstance(expr, UserCall):
        return f"{user_name(expr.function.label)}({', '.join(to_sql(arg, schema) for arg in expr.args)})"
    assert isinstance(expr, Call)
    kind = expr.type_in(schema)
    if kind == "null":
        return "NULL"
    types = [arg.type_in(schema) for arg in expr.args]
    args = [to_sql(arg, schema) for arg in expr.args]
    return f"({_call(expr.function, args, types, kind)})"


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


def widened(value: str, kind: str, to: str) -> str:
    """A value as the wider type that an operator asks for."""
    if kind == to:
        return value
    if to == "float" and kind in INTEGERS:
        return f"CAST(CAST({value} AS double) AS float)"
    return f"CAST({value} AS {to})"


# -- functions ---------------------------------------------------------------------------------------------

_ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*", "mod": "%"}
_COMPARISON = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_PLAIN = {
    "lower": "lower", "upper": "upper", "trim": "trim", "length": "length", "contains": "contains",
    "startswith": "startswith", "endswith": "endswith", "concat": "concat",
}  # fmt: skip


def _call(function: str, args: list[str], types: list[str], kind: str) -> str:
    if function in _ARITHMETIC:
        inner = "double" if kind == "float" else kind
        left, right = (widened(arg, of, inner) for arg, of in zip(args, types, strict=True))
        return widened(f"({left} {_ARITHMETIC[function]} {right})", inner, kind)
    if function in _COMPARISON:
        left, right = _comparable(args, types)
        return f"{left} {_COMPARISON[function]} {right}"
    if function in _PLAIN:
        return (
            f"{_PLAIN[function]}({', '.join(widened(arg, of, 'string') for arg, of in zip(args, types, strict=True))})"
        )
    return _OTHERS[function](args, types, kind)


def _comparable(args: list[str], types: list[str]) -> list[str]:
    shared = common(types) or "null"
    shared = {"null": "string", "float": "double"}.get(shared, shared)
    return [widened(arg, of, shared) for arg, of in zip(args, types, strict=True)]


def _booleans(args: list[str], types: list[str]) -> list[str]:
    return [widened(arg, of, "boolean") for arg, of in zip(args, types, strict=True)]


def _divide(args: list[str], types: list[str], kind: str) -> str:
    left, right = (widened(arg, of, "double") for arg, of in zip(args, types, strict=True))
    return f"{left} / {right}"


def _div(args: list[str], types: list[str], kind: str) -> str:
    left, right = (widened(arg, of, "bigint") for arg, of in zip(args, types, strict=True))
    return f"{left} div {right}"


def _is_in(args: list[str], types: list[str], kind: str) -> str:
    value, *choices = _comparable(args, types)
    return " OR ".join(["false", *(f"{value} = {choice}" for choice in choices)])


def _coalesce(args: list[str], types: list[str], kind: str) -> str:
    return f"coalesce({', '.join(widened(arg, of, kind) for arg, of in zip(args, types, strict=True))})"


def _case(args: list[str], types: list[str], kind: str) -> str:
    conditions = _booleans(args[:-1:2], types[:-1:2])
    values = [widened(arg, of, kind) for arg, of in zip(args[1::2], types[1::2], strict=True)]
    pairs = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(conditions, values, strict=True))
    return f"CASE {pairs} ELSE {widened(args[-1], types[-1], kind)} END"


def _to_grid(sign: str) -> Callable[[list[str], list[str], str], str]:
    def grid(args: list[str], types: list[str], kind: str) -> str:
        value, step, offset = (widened(arg, of, "bigint") for arg, of in zip(args, types, strict=True))
        distance = f"{value} - {offset}" if sign == "-" else f"{offset} - {value}"
        return f"{value} {sign} pmod({distance}, {step})"

    return grid


def _array(args: list[str], types: list[str], kind: str) -> str:
    element = element_type(kind)
    assert element is not None
    return f"array({', '.join(widened(arg, of, element) for arg, of in zip(args, types, strict=True))})"


def _split(args: list[str], types: list[str], kind: str) -> str:
    """By the separator as it is: Spark takes a pattern. An empty one gives the characters."""
    value, separator = (widened(arg, of, "string") for arg, of in zip(args, types, strict=True))
    quote, end, inner, any_letter = (text(pattern) for pattern in (r"\Q", r"\E", r"\E\\E\Q", "(?s)."))
    escaped = f"replace({separator}, {end}, {inner})"
    letters = f"regexp_extract_all({value}, {any_letter}, 0)"
    letters = f"IF({value} = '', CAST(array() AS array<string>), {letters})"
    return f"IF({separator} = '', {letters}, split({value}, concat({quote}, {escaped}, {end})))"


_OTHERS: dict[str, Callable[[list[str], list[str], str], str]] = {
    "divide": _divide,
    "div": _div,
    "negate": lambda args, types, kind: f"- {args[0]}",
    "abs": lambda args, types, kind: f"abs({args[0]})",
    "and": lambda args, types, kind: " AND ".join(_booleans(args, types)),
    "or": lambda args, types, kind: " OR ".join(_booleans(args, types)),
    "not": lambda args, types, kind: f"NOT {_booleans(args, types)[0]}",
    "is_null": lambda args, types, kind: f"{args[0]} IS NULL",
    "is_in": _is_in,
    "coalesce": _coalesce,
    "case": _case,
    "unix_micros": lambda args, types, kind: f"unix_micros({widened(args[0], types[0], 'timestamp')})",
    "floor_to": _to_grid("-"),
    "ceil_to": _to_grid("+"),
    "array": _array,
    "split": _split,
}


# -- casts -------------------------------------------------------------------------------------------------


def _cast(value: str, kind: str, to: str, depth: int = 0) -> str:
    """Null where a value does not fit."""
    inner, outer = element_type(kind), element_type(to)
    if inner is not None and outer is not None:
        variable = f"_x{depth}"
        return f"transform({value}, {variable} -> {_cast(variable, inner, outer, depth + 1)})"
    if kind in (to, "null"):
        return widened(value, kind, to)
    if kind == "string":
        return _from_text(value, to)
    if kind in ("float", "double") and to in _HALF:
        half = _HALF[to]
        least = f"> CAST('{-half - 1}' AS double)" if to == "int" else f">= CAST('{-half}' AS double)"
        return f"CASE WHEN {value} {least} AND {value} < CAST('{half}' AS double) THEN CAST({value} AS {to}) END"
    if kind == "bigint" and to == "int":
        return f"CASE WHEN {value} BETWEEN {-(2**31)} AND {2**31 - 1} THEN CAST({value} AS int) END"
    if kind in ("int", "bigint", "float", "double") and to == "boolean":
        return f"({value} <> 0)"
    if kind == "timestamp" and to in ("int", "bigint", "float", "double"):
        return _cast(f"unix_micros({value})", "bigint", to)
    if kind == "date" and to in ("int", "bigint", "float", "double"):
        return _cast(f"unix_date({value})", "int", to)
    if to == "timestamp" and kind in ("int", "bigint", "float", "double"):
        return f"timestamp_micros({_cast(value, kind, 'bigint')})"
    if to == "date" and kind in ("int", "bigint", "float", "double"):
        return f"date_from_unix_date({_cast(value, kind, 'int')})"
    if kind == "binary" and to == "string":
        return f"CASE WHEN is_valid_utf8(CAST({value} AS string)) THEN CAST({value} AS string) END"
    return widened(value, kind, to)


def _from_text(value: str, to: str) -> str:
    if to in _HALF:
        return f"CASE WHEN {value} RLIKE {text(_INTEGER)} THEN try_cast({value} AS {to}) END"
    if to in ("float", "double"):
        number = f"CAST({value} AS double)"
        return f"CASE WHEN {value} RLIKE {text(_NUMBER)} THEN {widened(number, 'double', to)} END"
    if to == "boolean":
        return (
            f"CASE WHEN lower({value}) IN ('true', 't', '1') THEN true "
            f"WHEN lower({value}) IN ('false', 'f', '0') THEN false END"
        )
    if to in ("date", "timestamp"):
        form = _DATE if to == "date" else _TIMESTAMP
        return f"CASE WHEN {value} RLIKE {text(form)} THEN try_cast({value} AS {to}) END"
    return f"CAST({value} AS {to})"
