"""Every scalar function and operator, by its Spark SQL name in lower case.

Names, types and null rules are those of Spark SQL in a session with ``spark.sql.ansi.enabled=false`` and the time zone UTC.
Adding a function is adding one entry to the table of its family.
"""

from __future__ import annotations

from types import ModuleType

from waterclock.expr.functions import (
    arithmetic,
    arrays,
    comparison,
    conditional,
    dates,
    formats,
    hashes,
    json,
    maths,
    regex,
    strings,
    structs,
    zones,
)
from waterclock.expr.functions.base import UNKNOWN, ByType, Function, Parameter, common, wider

FAMILIES: dict[str, ModuleType] = {
    "Arithmetic": arithmetic,
    "Mathematics": maths,
    "Comparison and logic": comparison,
    "Conditions": conditional,
    "Strings": strings,
    "Regular expressions": regex,
    "Dates and times": dates,
    "Patterns of time": formats,
    "Time zones": zones,
    "Arrays": arrays,
    "Structs": structs,
    "JSON": json,
    "Hashes": hashes,
}

FUNCTIONS: dict[str, Function] = {
    name: function
    for family in FAMILIES.values()
    for function in family.TABLE
    for name in (function.name, *function.aliases)
}

__all__ = ["FAMILIES", "FUNCTIONS", "UNKNOWN", "ByType", "Function", "Parameter", "common", "wider"]
