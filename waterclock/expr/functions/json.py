"""JSON in strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import polars as pl

from waterclock.errors import ConfigError
from waterclock.expr.functions.base import ByType, Resolved, define, eg
from waterclock.expr.functions.formats import written
from waterclock.expr.functions.moments import text_of_date
from waterclock.expr.functions.numerals import text_of_double
from waterclock.schema import element_type, struct_fields

_PATH = re.compile(r"\$(\.[A-Za-z_]\w*|\['[^']+'\]|\[[0-9]+\])*")
_ESCAPED = {
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
    **{chr(n): f"\\u{n:04X}" for n in range(32) if chr(n) not in "\b\f\n\r\t"},
}  # fmt: skip


def _check(path: str) -> None:
    if not _PATH.fullmatch(path):
        raise ConfigError(
            "EXPR.BAD_CONSTANT", function="get_json_object", value=path, reason="it is not a path to one value",
            fix="Write $ and then .name, ['name'] or [0] for each step.",
        )  # fmt: skip


def _quoted(text: pl.Expr) -> pl.Expr:
    return pl.concat_str(pl.lit('"'), text.str.replace_many(list(_ESCAPED), list(_ESCAPED.values())), pl.lit('"'))


def text_of(value: pl.Expr, kind: str) -> pl.Expr:
    """A value as JSON; null for null. Fields that are null are left out of structs, not out of arrays."""
    if (element := element_type(kind)) is not None:
        inner = value.list.eval(text_of(pl.element(), element).fill_null("null")).list.join(",")
        return pl.when(value.is_not_null()).then(pl.concat_str(pl.lit("["), inner, pl.lit("]")))
    if (fields := struct_fields(kind)) is not None:
        parts = [pl.concat_str(pl.lit(f'"{name}":'), text_of(value.struct.field(name), part)) for name, part in fields]
        inner = pl.concat_str(parts, separator=",", ignore_nulls=True)
        return pl.when(value.is_not_null()).then(pl.concat_str(pl.lit("{"), inner, pl.lit("}")))
    if kind == "string":
        return _quoted(value)
    if kind in ("float", "double"):
        number = text_of_double(value)
        return pl.when(value.is_finite()).then(number).otherwise(pl.concat_str(pl.lit('"'), number, pl.lit('"')))
    if kind == "binary":
        return _quoted(value.bin.encode("base64"))
    if kind == "date":
        return _quoted(text_of_date(value))
    if kind == "timestamp":
        return _quoted(written(value, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"))
    return value.cast(pl.String)


def _to_json(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    return lambda a: text_of(a, kinds[0])


def _nested(types: Sequence[str], values: Sequence[object]) -> Resolved | None:
    return ([types[0]], "string") if "<" in types[0] else None


TABLE = [
    define("get_json_object(text string, path const string) string", "What a path such as $.a.b[0] leads to; null if there is nothing, or no JSON.",
           lambda a, path: a.str.json_path_match(path), eg('{"a":{"b":[7]}}', "$.a.b[0]", gives="7"), check=_check),
    define("to_json(value any) string", "A struct or an array as JSON; fields that are null are left out.", ByType(_to_json),
           eg({"a": 1, "b": "x"}, gives='{"a":1,"b":"x"}'), resolver=_nested),
]  # fmt: skip
