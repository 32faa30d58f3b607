"""Neighbouring changes of lifetimes become one, and those that change nothing go.

Only what is exactly true for every event: a change that drops events (a negative extend, a duration from an
expression) is never skipped, and time behind the plan passes as before.
"""

from __future__ import annotations

from collections.abc import Callable

from waterclock.expr.nodes import Expr
from waterclock.expr.rewrite import reads_end
from waterclock.optimizer.rules.base import Rule
from waterclock.plan import Chop, ClipDuration, Extend, Node, SetDuration, Shift
from waterclock.plan.rebuild import bottom_up
from waterclock.time import FOREVER

_FAR = 2**60
"""Sums of durations below this stay clear of the end of time."""


def rewrite(root: Node) -> Node:
    return bottom_up(root, _simplified)


def _simplified(node: Node) -> Node:
    simplify = _SIMPLIFY.get(type(node))
    made = None if simplify is None else simplify(node)
    return node if made is None else _simplified(made)


def _shift(node: Shift) -> Node | None:
    below = node.input
    if node.by == 0:
        return below
    return Shift(below.input, below.by + node.by) if isinstance(below, Shift) else None


def _set_duration(node: SetDuration) -> Node | None:
    below = node.input
    if isinstance(node.duration, int) and node.duration == 1 and _are_points(below):
        return below
    if isinstance(node.duration, Expr) and reads_end(node.duration):
        return None
    lasting = isinstance(below, SetDuration) and isinstance(below.duration, int)
    if lasting or isinstance(below, ClipDuration) or (isinstance(below, Extend) and below.by >= 0):
        (inner,) = below.inputs
        return SetDuration(inner, node.duration)
    return None


def _extend(node: Extend) -> Node | None:
    below = node.input
    if node.by == 0:
        return below
    if isinstance(below, Extend) and (below.by > 0 or node.by < 0):  # else the first drops what the second would not
        return Extend(below.input, below.by + node.by)
    if isinstance(below, SetDuration) and isinstance(below.duration, int):
        if below.duration == FOREVER:
            return below
        if below.duration < _FAR and abs(node.by) < _FAR and below.duration + node.by > 0:
            return SetDuration(below.input, below.duration + node.by)
    return None


def _clip(node: ClipDuration) -> Node | None:
    below = node.input
    if _are_points(below):
        return below
    if isinstance(below, ClipDuration):
        return ClipDuration(below.input, min(below.limit, node.limit))
    if isinstance(below, SetDuration) and isinstance(below.duration, int):
        return SetDuration(below.input, min(below.duration, node.limit))
    return None


def _chop(node: Chop) -> Node | None:
    return node.input if _are_points(node.input) else None


def _are_points(node: Node) -> bool:
    return node.points and not node.open_ended


_SIMPLIFY: dict[type[Node], Callable[..., Node | None]] = {
    Shift: _shift,
    SetDuration: _set_duration,
    Extend: _extend,
    ClipDuration: _clip,
    Chop: _chop,
}

RULE = Rule("lifetimes", "A lifetime is changed once, or not at all.", rewrite)
