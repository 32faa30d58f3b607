"""Time zones, by their names or as offsets such as ``+02:00``. Zones are constants.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def from_utc_timestamp(moment: object, zone: str) -> Expr:
    """What the clocks of a zone show then.

    Example: ``from_utc_timestamp(TIMESTAMP'2024-07-01 12:00:00', 'Europe/Oslo') = TIMESTAMP'2024-07-01 14:00:00'``
    """
    return call("from_utc_timestamp", moment, zone)


def to_utc_timestamp(clock: object, zone: str) -> Expr:
    """When the clocks of a zone show it.

    Example: ``to_utc_timestamp(TIMESTAMP'2024-07-01 14:00:00', 'Europe/Oslo') = TIMESTAMP'2024-07-01 12:00:00'``
    """
    return call("to_utc_timestamp", clock, zone)
