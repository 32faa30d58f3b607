"""Structs: named fields in one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from waterclock.errors import ConfigError
from waterclock.expr.functions.base import UNKNOWN, ByType, Resolved, define, eg
from waterclock.schema import TYPES, struct_fields, struct_of


def _named_types(types: Sequence[str], values: Sequence[Any]) -> Resolved | None:
    """Name, value, name, value, ..."""
    names, kinds = values[::2], ["string" if kind == "null" else kind for kind in types[1::2]]
    if len(types) % 2 or not types or any(not isinstance(name, str) for name in names):
        return None
    result = struct_of(zip(names, kinds, strict=True))
    if result not in TYPES or len(set(names)) < len(names):
        fix = "Name each field once, with letters, digits and underscores."
        raise ConfigError(
            "EXPR.BAD_CONSTANT",
            function="named_struct",
            value=", ".join(names),
            reason="these are no names of fields",
            fix=fix,
        )
    return [kind for pair in zip(["string"] * len(kinds), kinds, strict=True) for kind in pair], result


def _named(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    fields = struct_fields(result) or []
    return lambda *args: pl.struct(value.alias(name) for value, (name, _) in zip(args[1::2], fields, strict=True))


def _field_type(types: Sequence[str], values: Sequence[Any]) -> Resolved | None:
    fields, name = dict(struct_fields(types[0]) or ()), values[1]
    if name is UNKNOWN or name not in fields:
        return None
    return [types[0], "string"], fields[name]


TABLE = [
    define("named_struct(name string, value any, more any...) struct", "A struct of names and values in turn.", ByType(_named),
           eg("a", 1, "b", "x", gives={"a": 1, "b": "x"}), resolver=_named_types),
    define("get_field(struct struct, name const string) any", "A field of a struct.", lambda a, name: a.struct.field(name),
           eg({"a": 1}, "a", gives=1), lambda a, name: f"{a}.`{name[1:-1]}`", symbol="field", resolver=_field_type),
]  # fmt: skip
