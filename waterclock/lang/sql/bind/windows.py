"""Windows: from ``WITH HOPPING(10s, 5s) RESULT AT END`` to the node that aggregates over it."""

from __future__ import annotations

from dataclasses import dataclass

from waterclock.expr.nodes import Call, End, Expr, Literal, Start
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind.constants import count, duration
from waterclock.lang.sql.bind.context import Context
from waterclock.lang.sql.bind.scalars import timestamp_of
from waterclock.plan import (
    Aggregate,
    CountAggregate,
    Extend,
    Input,
    Node,
    SessionAggregate,
    SetDuration,
    SnapshotAggregate,
    Window,
    WindowAggregate,
)
from waterclock.plan.window import WHOLE
from waterclock.time import show_duration

USAGE = {
    "TUMBLING": "TUMBLING(size), such as TUMBLING(5s)",
    "HOPPING": "HOPPING(size, hop), such as HOPPING(10s, 5s)",
    "SLIDING": "SLIDING(size), such as SLIDING(10s)",
    "SNAPSHOT": "SNAPSHOT without arguments",
    "SESSION": "SESSION(gap) or SESSION(gap, maximum), such as SESSION(30s, 1h)",
    "COUNT": "COUNT(n), such as COUNT(10)",
}
_ARGUMENTS = {"TUMBLING": (1, 1), "HOPPING": (2, 2), "SLIDING": (1, 1), "SNAPSHOT": (0, 0), "SESSION": (1, 2),
              "COUNT": (1, 1)}  # fmt: skip
_RESULTS = {"WINDOW": "window", "END": "point_end", "HOLD": "hold"}
_DEFAULTS = {"HOPPING": "hold", "COUNT": "point_end"}
FIXED = ("TUMBLING", "HOPPING")
EVERYTHING = "EVERYTHING"
"""The window of a question that names none; it cannot be written."""


@dataclass(frozen=True)
class Frame:
    """A window whose constants are known."""

    kind: str
    size: int = 0
    hop: int = 0
    offset: int = 0
    result: str = "window"
    early: int = 0
    maximum: int | None = None

    @property
    def window(self) -> Window:
        return Window(self.size, self.hop, self.offset, self.result)

    def over(self, plan: Node, keys: tuple[str, ...], named: tuple[tuple[str, Aggregate], ...]) -> Node:
        if self.kind in FIXED:
            return WindowAggregate(plan, keys, named, self.window, self.early)
        if self.kind == "SESSION":
            return SessionAggregate(plan, keys, named, self.size, self.maximum, self.result)
        if self.kind == "COUNT":
            return CountAggregate(plan, keys, named, self.size, self.result)
        return SnapshotAggregate(self.stretched(plan), keys, named, self.result)

    def stretched(self, plan: Node) -> Node:
        """For a sliding window, every event lives as much longer."""
        if self.kind != "SLIDING":
            return plan
        return SetDuration(plan, self.size) if plan.points else Extend(plan, self.size)

    def border(self, which: str) -> Expr | str:
        """The start or end of a result's window as a value, or why it is not known."""
        if self.kind == "SLIDING":
            return "A sliding window ends at every moment. START() and END() say when the result is valid."
        if self.result == "window":
            return Start() if which == "start" else End()
        if which == "end":
            return Start()
        start = Call("unix_micros", (Start(),))
        if self.kind in FIXED:
            return timestamp_of(Call("subtract", (start, Literal(self.size, "bigint"))))
        if self.result == "hold":  # valid from the window's end for as long as the window was
            twice = Call("multiply", (start, Literal(2, "bigint")))
            return timestamp_of(Call("subtract", (twice, Call("unix_micros", (End(),)))))
        return f"A result at the end of a {self.kind} window does not tell its start. Write RESULT AT WINDOW."


def bind_window(context: Context, node: tree.Windowing) -> Frame:
    kind = node.kind.text
    if kind == EVERYTHING:
        return Frame("TUMBLING", WHOLE.size, WHOLE.hop, WHOLE.offset)
    least, most = _ARGUMENTS[kind]
    if not least <= len(node.args) <= most:
        given = f"{len(node.args)} argument{'' if len(node.args) == 1 else 's'}"
        raise context.error("SQL.WINDOW_ARGUMENTS", node.span, window=kind, given=given, usage=USAGE[kind])
    if kind == "COUNT":
        size = count(context, node.args[0], "The count of a window")
        sizes = [size]
    else:
        sizes = [
            duration(context, arg, f"The {what} of a window") for arg, what in zip(node.args, _WHAT[kind], strict=False)
        ]
    result = _RESULTS[node.result.text] if node.result is not None else _DEFAULTS.get(kind, "window")
    offset = early = 0
    if node.offset is not None:
        if kind not in FIXED:
            fix = "Only TUMBLING and HOPPING windows lie on a grid that can be moved."
            raise context.error("SQL.WINDOW_OPTION", node.offset.span, option="OFFSET", window=kind, fix=fix)
        offset = duration(context, node.offset, "OFFSET", least=None)
    if node.lateness is not None:
        if kind not in FIXED:
            fix = "Only results of TUMBLING and HOPPING windows are given early and revised."
            raise context.error(
                "SQL.WINDOW_OPTION", node.lateness.span, option="ALLOWED LATENESS", window=kind, fix=fix
            )
        early = duration(context, node.lateness, "ALLOWED LATENESS")
    size = sizes[0] if sizes else 0
    second = sizes[1] if len(sizes) > 1 else None
    hop = second if kind == "HOPPING" and second is not None else size
    return Frame(kind, size, hop, offset, result, early, second if kind == "SESSION" else None)


_WHAT = {"TUMBLING": ("size",), "HOPPING": ("size", "hop"), "SLIDING": ("size",), "SNAPSHOT": (),
         "SESSION": ("gap", "maximum")}  # fmt: skip


def check_lateness(context: Context, node: tree.Windowing, frame: Frame, plan: Node) -> None:
    """A result can be revised only while its streams still wait for late events."""
    if node.lateness is None:
        return
    if isinstance(plan, Input):
        slack = context.slacks.get(plan.stream)
        if slack is not None and slack < frame.early:
            raise context.error(
                "SQL.LATENESS", node.lateness.span, stream=plan.stream, slack=show_duration(slack),
                lateness=show_duration(frame.early), time=context.names[plan.stream].time or "ts",
            )  # fmt: skip
    for child in plan.inputs:
        check_lateness(context, node, frame, child)
