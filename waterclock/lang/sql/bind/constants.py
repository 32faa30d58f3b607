"""Constants that are needed when the plan is made: durations, counts, options."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from waterclock.errors import ConfigError
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind.context import Context
from waterclock.lang.sql.durations import written
from waterclock.time import micros


def duration(context: Context, node: tree.Expression, what: str, least: int | None = 1) -> int:
    """Microseconds; a parameter may be a text such as '5s', a timedelta, or microseconds."""
    found = _duration(context, node, what)
    if least is not None and found < least:
        fix = "It must be longer than nothing." if least == 1 else "It must not be negative."
        raise context.error("SQL.BAD_VALUE", node.span, what=what, value=context.source.slice(node.span), fix=fix)
    return found


def _duration(context: Context, node: tree.Expression, what: str) -> int:
    if isinstance(node, tree.Length):
        return node.micros
    value: Any = None
    if isinstance(node, tree.Parameter):
        value = context.parameter(node)
    elif isinstance(node, tree.Value) and node.type in ("string", "int", "bigint"):
        value = node.value
    if isinstance(node, tree.Value) and isinstance(value, int) and value != 0:
        fix = f"Add a unit: {value}s, {value}ms, {value} MINUTES."
        raise context.error("SQL.BAD_VALUE", node.span, what=what, value=value, fix=fix)
    if isinstance(value, str | int | timedelta):
        try:
            return written(value) if isinstance(value, str) else micros(value)
        except (ConfigError, OverflowError, ValueError):
            raise context.error("SQL.BAD_DURATION", node.span, text=repr(value)) from None
    raise context.error("SQL.BAD_DURATION", node.span, text=context.source.slice(node.span))


def count(context: Context, node: tree.Expression, what: str) -> int:
    value = context.parameter(node) if isinstance(node, tree.Parameter) else None
    if isinstance(node, tree.Value):
        value = node.value
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**31:
        fix = "It is a whole number, at least 1."
        shown = context.source.slice(node.span)
        raise context.error("SQL.BAD_VALUE", node.span, what=what, value=shown, fix=fix)
    return value


def constant(context: Context, node: tree.Expression, what: str) -> Any:
    """The value of a constant or a parameter, as Python has it."""
    if isinstance(node, tree.Parameter):
        return context.parameter(node)
    if isinstance(node, tree.Length):
        return timedelta(microseconds=node.micros)
    if isinstance(node, tree.Value):
        return node.value
    raise context.error("SQL.NOT_CONSTANT", node.span, what=what)
