"""Types and schemas of streams. Every frame also has the hidden lifetime columns ``_vs`` and ``_ve``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from waterclock.errors import ConfigError, did_you_mean

VS = "_vs"
VE = "_ve"
HASH = "_h"
SEQ = "_seq"
"""Of rows that may become dead letters: their numbers in the stream that they came from."""


class _Types(dict[str, pl.DataType]):
    def __missing__(self, name: str) -> pl.DataType:
        if (fields := struct_fields(name)) is not None:
            return pl.Struct({field: self[kind] for field, kind in fields})
        element = element_type(name)
        if element is None:
            raise KeyError(name)
        return pl.List(self[element])

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if (fields := struct_fields(name)) is not None:
            return bool(fields) and all(field.isidentifier() and kind in self for field, kind in fields)
        element = element_type(name)
        return super().__contains__(name) if element is None else element in self


def element_type(name: str) -> str | None:
    """The type of the elements of ``array<type>``, None of other types."""
    return name[6:-1] if name.startswith("array<") and name.endswith(">") else None


def struct_fields(name: str) -> list[tuple[str, str]] | None:
    """The fields of ``struct<name:type,...>``, None of other types."""
    if not (name.startswith("struct<") and name.endswith(">")):
        return None
    parts, depth, start = [], 0, 7
    for place in range(7, len(name)):
        depth += {"<": 1, ">": -1}.get(name[place], 0)
        if depth < 0 or (depth == 0 and name[place] == ","):
            parts.append(name[start:place])
            start = place + 1
    found = [part.partition(":") for part in parts]
    return [(field.strip(), kind.strip()) for field, _, kind in found]


def struct_of(fields: Iterable[tuple[str, str]]) -> str:
    """The name of a struct type."""
    return f"struct<{','.join(f'{field}:{kind}' for field, kind in fields)}>"


TYPES = _Types({
    "boolean": pl.Boolean(),
    "int": pl.Int32(),
    "bigint": pl.Int64(),
    "float": pl.Float32(),
    "double": pl.Float64(),
    "string": pl.String(),
    "binary": pl.Binary(),
    "date": pl.Date(),
    "timestamp": pl.Datetime("us", "UTC"),
})  # fmt: skip
"""Spark SQL's names, and how each is held in memory; ``array<type>`` and ``struct<name:type,...>`` too."""

_SYNONYMS = {
    "bool": "boolean", "integer": "int", "int32": "int", "long": "bigint", "int64": "bigint",
    "float32": "float", "real": "float", "float64": "double", "str": "string", "text": "string", "varchar": "string",
    "bytes": "binary", "datetime": "timestamp",
}  # fmt: skip
_PYTHON_TYPES = {bool: "boolean", int: "bigint", float: "double", str: "string", bytes: "binary"}

INTEGERS = ("int", "bigint")
NUMBERS = ("int", "bigint", "float", "double")
ORDERED = (*NUMBERS, "string", "binary", "date", "timestamp", "boolean")


def bounds(frame: pl.DataFrame, column: str) -> tuple[int, int]:
    """The least and the greatest value of an integer column that has rows."""
    least, greatest = frame[column].min(), frame[column].max()
    assert isinstance(least, int)
    assert isinstance(greatest, int)
    return least, greatest


def type_name(value: object) -> str:
    """The canonical name of a type given as text or as a Python type."""
    name = _PYTHON_TYPES.get(value) if isinstance(value, type) else None
    if isinstance(value, str):
        name = _canonical(value.strip())
    if name is None or name not in TYPES:
        raise ConfigError(
            "SCHEMA.UNKNOWN_TYPE", type=value, choices=", ".join([*TYPES, "array<type>", "struct<name:type,...>"])
        )
    return name


def _canonical(name: str) -> str | None:
    """Lower case but for the names of fields; None where a part is no type."""
    outer = name[: name.find("<") + 1].lower() + name[name.find("<") + 1 :] if "<" in name else name.lower()
    if (fields := struct_fields(outer)) is not None:
        kinds = [(field, _canonical(kind)) for field, kind in fields]
        return struct_of((field, kind) for field, kind in kinds if kind) if all(kind for _, kind in kinds) else None
    if (element := element_type(outer)) is not None:
        inner = _canonical(element.strip())
        return f"array<{inner}>" if inner else None
    return _SYNONYMS.get(outer, outer) if _SYNONYMS.get(outer, outer) in TYPES else None


@dataclass(frozen=True)
class Schema:
    """Column names and type names, in order."""

    columns: tuple[tuple[str, str], ...]

    @staticmethod
    def of(columns: Mapping[str, object]) -> Schema:
        if not isinstance(columns, Mapping):
            fix = "Write a dict of names and types, such as {'user': str, 'ts': 'timestamp'}."
            raise ConfigError("CONFIG.BAD_OPTION", option="schema", value=columns, fix=fix)
        if not columns:
            raise ConfigError("SCHEMA.EMPTY", where="The schema")
        for name in columns:
            if name.startswith("_") or not name:
                raise ConfigError("SCHEMA.RESERVED_COLUMN", column=name)
        return Schema(tuple((name, type_name(kind)) for name, kind in columns.items()))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.columns]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return any(name == column for column, _ in self.columns)

    def type_of(self, column: str, where: str = "the stream") -> str:
        for name, kind in self.columns:
            if name == column:
                return kind
        raise ConfigError(
            "SCHEMA.UNKNOWN_COLUMN",
            column=column,
            where=where,
            choices=", ".join(self.names),
            guess=did_you_mean(column, self.names),
        )

    def polars(self) -> dict[str, pl.DataType]:
        return {name: TYPES[kind] for name, kind in self.columns}

    def frame_schema(self) -> dict[str, pl.DataType]:
        """The columns of a frame of this stream, lifetime first."""
        return {VS: pl.Int64(), VE: pl.Int64(), **self.polars()}

    def empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self.frame_schema())

    def __str__(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in self.columns)
