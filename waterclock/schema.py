"""Types and schemas of streams. Every frame also has the hidden lifetime columns ``_vs`` and ``_ve``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from waterclock.errors import ConfigError, did_you_mean

VS = "_vs"
VE = "_ve"
HASH = "_h"


class _Types(dict[str, pl.DataType]):
    def __missing__(self, name: str) -> pl.DataType:
        element = element_type(name)
        if element is None:
            raise KeyError(name)
        return pl.List(self[element])

    def __contains__(self, name: object) -> bool:
        element = element_type(name) if isinstance(name, str) else None
        return super().__contains__(name) if element is None else element in self


def element_type(name: str) -> str | None:
    """The type of the elements of ``array<type>``, None of other types."""
    return name[6:-1] if name.startswith("array<") and name.endswith(">") else None


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
"""Spark SQL's names, and how each is held in memory; ``array<type>`` too."""

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
        name = value.strip().lower()
        name = _SYNONYMS.get(name, name)
        if (element := element_type(name)) is not None:
            name = f"array<{type_name(element)}>"
    if name is None or name not in TYPES:
        raise ConfigError("SCHEMA.UNKNOWN_TYPE", type=value, choices=", ".join(TYPES))
    return name


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
