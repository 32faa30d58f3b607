"""Structs: named fields in one value.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def struct(**fields: object) -> Expr:
    """Values under names.

    Example: ``struct(x=wc.col("a"), y=1)``
    """
    return call("named_struct", *(part for field in fields.items() for part in field))
