"""Casts by the rules of Spark's ``try_cast``: null where a value does not fit, so that none can stop a stream."""

from __future__ import annotations

import polars as pl

from waterclock.expr.functions.base import widened
from waterclock.expr.functions.maths import whole
from waterclock.expr.functions.moments import (
    BLANK,
    date_of_text,
    seconds_of,
    text_of_date,
    text_of_timestamp,
    timestamp_of_text,
)
from waterclock.expr.functions.numerals import text_of_double
from waterclock.schema import INTEGERS, NUMBERS, TYPES, element_type, struct_fields

_ALLOWED = {
    "boolean": ("boolean", "string", *NUMBERS),
    **dict.fromkeys(NUMBERS, ("boolean", "string", "timestamp", *NUMBERS)),
    "binary": ("binary", "string"),
    "date": ("date", "string", "timestamp"),
    "timestamp": ("timestamp", "string", "date", *NUMBERS),
}
"""What can become each type. Everything can become a string."""

_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?$"
_UTF8 = (
    r"^(?:[0-7].|(?:c[2-9a-f]|d.)[89ab].|e0[ab].[89ab].|e[1-9a-cef][89ab].[89ab].|ed[89].[89ab]."
    r"|f0[9ab].[89ab].[89ab].|f[123][89ab].[89ab].[89ab].|f48.[89ab].[89ab].)*$"
)
"""Valid UTF-8, in hexadecimal digits."""
_TRUE, _FALSE = ["t", "true", "y", "yes", "1"], ["f", "false", "n", "no", "0"]
_HALF = {"int": 2.0**31, "bigint": 2.0**63}


def castable(kind: str, to: str) -> bool:
    """Whether values of one type can be cast to the other."""
    if kind in ("null", to):
        return True
    inner, outer = element_type(kind), element_type(to)
    if inner is not None and outer is not None:
        return castable(inner, outer)
    ours, theirs = struct_fields(kind), struct_fields(to)
    if ours is not None and theirs is not None:
        return len(ours) == len(theirs) and all(castable(a, b) for (_, a), (_, b) in zip(ours, theirs, strict=True))
    if to == "string":
        return inner is None and ours is None
    return kind in _ALLOWED.get(to, ())


def cast_polars(value: pl.Expr, kind: str, to: str) -> pl.Expr:
    inner, outer = element_type(kind), element_type(to)
    if kind in (to, "null"):
        return value.cast(TYPES[to])
    if inner is not None and outer is not None:
        return value.list.eval(cast_polars(pl.element(), inner, outer))
    ours, theirs = struct_fields(kind), struct_fields(to)
    if ours is not None and theirs is not None:
        parts = [
            cast_polars(value.struct.field(name), part, wanted).alias(new)
            for (name, part), (new, wanted) in zip(ours, theirs, strict=True)
        ]
        return pl.when(value.is_not_null()).then(pl.struct(parts))
    if to == "string":
        return _to_text(value, kind)
    if kind == "string":
        return _from_text(value, to)
    if kind == "timestamp" and to in NUMBERS:
        return cast_polars(
            *(
                (seconds_of(value), "double")
                if to in ("float", "double")
                else (value.to_physical() // 1_000_000, "bigint")
            ),
            to,
        )
    if to == "timestamp" and kind in NUMBERS:
        return _timestamp_of_number(value, kind)
    if kind in ("float", "double") and to in INTEGERS:
        rounded = value.cast(pl.Float64).truncate()
        # Spark compares with the bounds as doubles, the upper one of which is 2**63 for bigints.
        greatest = 2.0**63 if to == "bigint" else 2.0**31 - 1
        return pl.when((rounded >= -_HALF[to]) & (rounded <= greatest)).then(whole(rounded)).cast(TYPES[to])
    return value.cast(TYPES[to], strict=False)


def _timestamp_of_number(value: pl.Expr, kind: str) -> pl.Expr:
    """A number of seconds."""
    if kind in INTEGERS:
        seconds, most = value.cast(pl.Int64), 2**63 // 10**6
        micros = pl.when(seconds > most).then(2**63 - 1).when(seconds < -most).then(-(2**63)).otherwise(seconds * 10**6)
        return micros.cast(TYPES["timestamp"])
    exact = value.cast(pl.Float64) * 1e6
    return pl.when(exact.abs() <= 2.0**63).then(whole(exact)).cast(TYPES["timestamp"])


def _to_text(value: pl.Expr, kind: str) -> pl.Expr:
    if kind in ("float", "double"):
        return text_of_double(value)
    if kind == "timestamp":
        return text_of_timestamp(value)
    if kind == "date":
        return text_of_date(value)
    if kind == "binary":
        # A cast of bytes that are no text is an error in Polars.
        valid = value.bin.encode("hex").str.contains(_UTF8)
        return pl.when(valid).then(pl.when(valid).then(value).otherwise(pl.lit(b"")).cast(pl.String))
    return value.cast(pl.String)


def _from_text(value: pl.Expr, to: str) -> pl.Expr:
    if to == "binary":
        return value.cast(pl.Binary)
    plain = value.str.strip_chars(BLANK)
    if to == "date":
        return date_of_text(plain)
    if to == "timestamp":
        return timestamp_of_text(plain)
    if to == "boolean":
        lowered = plain.str.to_lowercase()
        return pl.when(lowered.is_in(_TRUE)).then(True).when(lowered.is_in(_FALSE)).then(False)
    if to in INTEGERS:
        return pl.when(plain.str.contains(r"^[+-]?[0-9]+$")).then(plain).cast(TYPES[to], strict=False)
    lowered = plain.str.to_lowercase()
    number = pl.when(plain.str.contains(_NUMBER)).then(lowered.str.strip_chars_end("df")).cast(TYPES[to], strict=False)
    infinite = (
        pl.when(lowered.str.contains(r"^[+]?inf(inity)?$"))
        .then(float("inf"))
        .when(lowered.str.contains(r"^-inf(inity)?$"))
        .then(float("-inf"))
    )
    return pl.coalesce(number, infinite.when(lowered == "nan").then(float("nan")).cast(TYPES[to]))


def cast_spark(value: str, kind: str, to: str) -> str:
    """Spark's own cast, but for bytes that are no text: Spark keeps them as they are, Polars has no such strings."""
    if kind == "null" or to == kind:
        return widened(value, kind, to)
    if kind == "binary" and to == "string":
        return f"IF(is_valid_utf8(CAST({value} AS string)), CAST({value} AS string), NULL)"
    return f"try_cast({value} AS {to})"
