"""Window functions in FROM, as other systems write them, where they mean the same as WITH.

``FROM TUMBLE(s, ts, INTERVAL '5' SECOND) GROUP BY user, window_start, window_end``
"""

from __future__ import annotations

from waterclock.lang.sql import tree
from waterclock.lang.sql.bind.constants import duration
from waterclock.lang.sql.bind.context import Context
from waterclock.lang.sql.bind.grouping import is_border
from waterclock.lang.sql.bind.scope import Rows

_WITH = {"TUMBLE": "TUMBLING", "HOP": "HOPPING", "SESSION": "SESSION"}
_USAGE = {
    "TUMBLE": "TUMBLE(stream, time, size)",
    "HOP": "HOP(stream, time, hop, size): the hop first, unlike WITH HOPPING(size, hop)",
    "SESSION": "SESSION(stream PARTITION BY key, time, gap)",
}


def window_of(context: Context, rows: Rows, call: tree.Applied, keys: tuple[tree.Expression, ...]) -> tree.Windowing:
    """The window clause that a window function stands for; raises where it would mean something else."""
    name = call.function.text.upper()
    args = [arg for arg in call.args if not isinstance(arg, tree.Named)]
    wanted = 3 if name == "HOP" else 2
    if len(args) not in (wanted, wanted + (name != "SESSION")) or len(args) < len(call.args):
        given = f"{len(call.args)} argument{'' if len(call.args) == 1 else 's'} besides the stream"
        raise context.error("SQL.WRONG_ARGUMENTS", call.span, function=name, given=given, usage=_USAGE[name])
    _check_time(context, rows, call, args[0])
    if not any(is_border(rows, key) for key in keys):
        example = {"TUMBLE": "TUMBLING(5s)", "HOP": "HOPPING(10s, 5s)", "SESSION": "SESSION(30s)"}[name]
        raise context.error("SQL.WINDOW_NOT_GROUPED", call.span, function=name, window=example)
    if name == "SESSION":
        _check_partition(context, rows, call, keys)
    sizes = (args[2], args[1]) if name == "HOP" else (args[1],)
    if name == "HOP" and duration(context, args[1], "The hop") > duration(context, args[2], "The size"):
        given = "a hop that is longer than the window"
        raise context.error("SQL.WRONG_ARGUMENTS", call.span, function=name, given=given, usage=_USAGE[name])
    offset = args[wanted] if len(args) > wanted else None
    return tree.Windowing(tree.Word(_WITH[name], span=call.function.span), sizes, offset, span=call.span)


def _check_time(context: Context, rows: Rows, call: tree.Applied, node: tree.Expression) -> None:
    """The time that is named must be the start of the events, and they must be points."""
    (seen,) = rows.visible
    name = call.function.text.upper()
    if isinstance(node, tree.Call) and node.name.text.upper() == "DESCRIPTOR" and len(node.args) == 1:
        inner = node.args[0]
        node = inner if isinstance(inner, tree.Name) else node
    if not isinstance(node, tree.Name):
        given = context.source.slice(node.span)
        raise context.error("SQL.WRONG_ARGUMENTS", node.span, function=name, given=given, usage=_USAGE[name])
    column = rows.resolve(context, node)
    if column.name != seen.time:
        if seen.time is None:
            window = f"GROUP BY ... WITH {_WITH[name]}(...)"
            fix = f"{seen.alias} is a query, whose events have lifetimes of their own: write {window}."
        else:
            fix = f"Its events start at {seen.time}: write {name}({seen.alias}, {seen.time}, ...)."
        raise context.error("SQL.WINDOW_TIME", node.span, column=column.name, relation=seen.alias, fix=fix)
    if not rows.plan.points:
        raise context.error(
            "SQL.WINDOW_OF_INTERVALS", call.span, function=name, relation=seen.alias, window=f"{_WITH[name]}(...)"
        )


def _check_partition(context: Context, rows: Rows, call: tree.Applied, keys: tuple[tree.Expression, ...]) -> None:
    """Here sessions are per key; elsewhere they are per PARTITION BY."""
    grouped = {
        rows.resolve(context, key).physical
        for key in keys if isinstance(key, tree.Name) and not is_border(rows, key)
    }  # fmt: skip
    others = [key for key in keys if not isinstance(key, tree.Name)]
    parted = {rows.resolve(context, name).physical for name in call.partition}
    if grouped != parted or others:
        fix = "Here each group has its own sessions: name the same columns in PARTITION BY and GROUP BY."
        raise context.unsupported(call.span, "SESSION with other columns in PARTITION BY than in GROUP BY", fix)
