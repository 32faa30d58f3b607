"""Functions in FROM that change lifetimes: ``SHIFT(s, 5s)``, ``EXTEND``, ``SET_DURATION``, ``CHOP``, ``STITCH`` ..."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Call, Expr
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind.constants import duration
from waterclock.lang.sql.bind.context import Context
from waterclock.lang.sql.bind.scalars import DURATION, Scalars
from waterclock.lang.sql.bind.scope import Rows
from waterclock.lang.sql.names import match, nearest
from waterclock.plan import (
    AlterLifetime,
    Chop,
    ClipDuration,
    Extend,
    HopLifetime,
    Node,
    PointAtEnd,
    Quantize,
    SessionLifetime,
    SetDuration,
    Shift,
    Stitch,
)
from waterclock.plan.lifetime import is_monotone
from waterclock.time import FOREVER

Build = Callable[["Arguments"], Node]


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call, by position or by name."""

    context: Context
    rows: Rows
    call: tree.Applied
    given: dict[str, tree.Expression]

    @property
    def plan(self) -> Node:
        return self.rows.plan

    def length(self, name: str, least: int | None = 1) -> int:
        return duration(self.context, self.given[name], f"The {name} of {self.call.function.text.upper()}", least)

    def optional(self, name: str, least: int | None = 1) -> int | None:
        return self.length(name, least) if name in self.given else None

    def forever(self, name: str) -> bool:
        node = self.given[name]
        return isinstance(node, tree.Name) and [part.lower() for part in node.parts] == ["forever"]

    def micros(self, name: str) -> Expr:
        """A time or a duration as an expression in microseconds."""
        node = self.given[name]
        found = Scalars(self.context, self.rows, self.call.function.text.upper()).bind(node)
        if found.type == "timestamp":
            return _micros(found.expr)
        if found.type not in (DURATION, "int", "bigint"):
            raise self.context.error(
                "SQL.WRONG_TYPE", node.span, what=self.call.function.text.upper(), types=found.type,
                takes="durations, timestamps, or microseconds as an integer", fix="",
            )  # fmt: skip
        return found.expr


def bind_lifetime(context: Context, rows: Rows, call: tree.Applied) -> Node | None:
    """The changed plan; None if there is no such function."""
    entry = FUNCTIONS.get(call.function.text.lower())
    if entry is None:
        return None
    usage, build = entry
    arguments = Arguments(context, rows, call, _assigned(context, call, usage))
    try:
        return build(arguments)
    except ConfigError as error:
        raise context.source.caused(error, call.span) from None


def _assigned(context: Context, call: tree.Applied, usage: str) -> dict[str, tree.Expression]:
    inside = usage[usage.index("(") + 1 : -1]
    names = [part.strip(" []") for part in inside.replace("[,", ",").split(",")][1:]
    needed = [part.strip(" ]") for part in inside.split("[")[0].split(",")[1:] if part.strip()]
    given: dict[str, tree.Expression] = {}
    for number, arg in enumerate(call.args):
        if isinstance(arg, tree.Named):
            found = match(arg.name.text, names)
            if not found:
                guess = nearest(arg.name.text, names)
                choices = ", ".join(names) or "none"
                raise context.error(
                    "SQL.UNKNOWN_OPTION", arg.name.span, option=arg.name.text, choices=choices, guess=guess
                )
            given[found[0]] = arg.value
        elif number < len(names):
            given[names[number]] = arg
        else:
            raise _wrong(context, call, usage)
    if not set(needed) <= set(given):
        raise _wrong(context, call, usage)
    return given


def _wrong(context: Context, call: tree.Applied, usage: str) -> Exception:
    given = f"{len(call.args)} argument{'' if len(call.args) == 1 else 's'} besides the stream"
    return context.error(
        "SQL.WRONG_ARGUMENTS", call.span, function=call.function.text.upper(), given=given, usage=usage
    )


def _micros(expr: Expr) -> Expr:
    """Microseconds of a timestamp, without going there and back."""
    if isinstance(expr, Call) and expr.function == "timestamp_micros":
        return expr.args[0]
    return Call("unix_micros", (expr,))


def _altered(a: Arguments) -> Node:
    start = a.micros("start")
    if not is_monotone(start):
        raise a.context.error("SQL.NOT_MONOTONE", a.given["start"].span)
    return AlterLifetime(a.plan, start, a.micros("duration"))


def _set_duration(a: Arguments) -> Node:
    if a.forever("duration"):
        return SetDuration(a.plan, FOREVER)
    if isinstance(a.given["duration"], tree.Length | tree.Parameter):
        return SetDuration(a.plan, a.length("duration"))
    return SetDuration(a.plan, a.micros("duration"))


def _grid(a: Arguments, kind: type[Quantize] | type[HopLifetime]) -> Node:
    width = a.length("width")
    return kind(a.plan, width, a.optional("hop") or width, a.optional("offset", None) or 0)


def _session(a: Arguments) -> Node:
    keys = tuple(a.rows.resolve(a.context, name).physical for name in a.call.partition)
    return SessionLifetime(a.plan, keys, a.length("gap"), a.optional("maximum"))


FUNCTIONS: dict[str, tuple[str, Build]] = {
    "shift": ("SHIFT(s, by)", lambda a: Shift(a.plan, a.length("by", None))),
    "extend": ("EXTEND(s, by)", lambda a: Extend(a.plan, a.length("by", None))),
    "set_duration": ("SET_DURATION(s, duration)", _set_duration),
    "clip_duration": ("CLIP_DURATION(s, limit)", lambda a: ClipDuration(a.plan, a.length("limit"))),
    "point_at_end": ("POINT_AT_END(s)", lambda a: PointAtEnd(a.plan)),
    "chop": ("CHOP(s, period[, offset])", lambda a: Chop(a.plan, a.length("period"), a.optional("offset", None) or 0)),
    "stitch": ("STITCH(s)", lambda a: Stitch(a.plan)),
    "quantize": ("QUANTIZE(s, width[, hop][, offset])", lambda a: _grid(a, Quantize)),
    "hop_lifetime": ("HOP_LIFETIME(s, width[, hop][, offset])", lambda a: _grid(a, HopLifetime)),
    "session_lifetime": ("SESSION_LIFETIME(s, gap[, maximum])", _session),
    "alter_lifetime": ("ALTER_LIFETIME(s, start, duration)", _altered),
}  # fmt: skip
"""How each is written, and the node that it makes."""
