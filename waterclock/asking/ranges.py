"""Which times a plan asks its streams for, so that segments without such events are not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from waterclock.expr.nodes import Call, Column, End, Expr, Literal, Start
from waterclock.expr.rewrite import conjuncts
from waterclock.plan import Filter, Input, Node
from waterclock.streams import Declaration
from waterclock.time import BEGINNING, DAY, FOREVER

_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


@dataclass(frozen=True)
class Range:
    """Starts of events: not before ``low``, not after ``high``."""

    low: int = BEGINNING
    high: int = FOREVER

    @property
    def is_open(self) -> bool:
        return self == Range()

    def both(self, other: Range) -> Range:
        return Range(max(self.low, other.low), min(self.high, other.high))

    def either(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))


def ranges(root: Node, declarations: Mapping[str, Declaration]) -> dict[str, Range]:
    """By stream: what its readers in an optimized plan need of it, all together."""
    found: dict[str, Range] = {}

    def walk(node: Node, asked: Range) -> None:
        if isinstance(node, Input):
            found[node.stream] = asked.either(found[node.stream]) if node.stream in found else asked
        elif isinstance(node, Filter):
            stream = _stream(node)
            for part in conjuncts(node.predicate) if stream is not None else ():
                asked = asked.both(_range(part, declarations[stream.stream]))  # type: ignore[union-attr]
            walk(node.input, asked if stream is not None else Range())
        else:
            for child in node.inputs:
                walk(child, Range())

    walk(root, Range())
    return found


def _stream(node: Node) -> Input | None:
    """The stream that filters stand right on."""
    while isinstance(node, Filter):
        node = node.input
    return node if isinstance(node, Input) else None


def _range(part: Expr, declaration: Declaration) -> Range:
    if not isinstance(part, Call) or part.function not in _TURNED or len(part.args) != 2:
        return Range()
    left, right = part.args
    function = part.function
    if isinstance(left, Literal):
        left, right, function = right, left, _TURNED[function]
    time = _instant(right)
    if time is None:
        return Range()
    if isinstance(left, End):
        # An event starts before it ends.
        return Range(high=time - 1) if function in ("lt", "le", "eq") else Range()
    if not _is_start(left, declaration):
        return Range()
    low = {"ge": time, "gt": time + 1, "eq": time}.get(function, BEGINNING)
    return Range(low, {"le": time, "lt": time - 1, "eq": time}.get(function, FOREVER))


def _is_start(expr: Expr, declaration: Declaration) -> bool:
    if isinstance(expr, Call) and expr.function == "unix_micros" and isinstance(expr.args[0], Start):
        return True
    # A date is compared as a date: its range would end a day later.
    named = isinstance(expr, Column) and expr.name == declaration.time and declaration.ticks(expr.name) == 1
    return named or isinstance(expr, Start)


def _instant(expr: Expr) -> int | None:
    if not isinstance(expr, Literal) or isinstance(expr.value, bool):
        return None
    if isinstance(expr.value, int):
        return expr.value
    return (expr.value - date(1970, 1, 1)).days * DAY if type(expr.value) is date else None
