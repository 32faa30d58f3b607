"""How far time had come before the streams ended: the greatest finite CTI that a node's result can have had."""

from __future__ import annotations

from collections.abc import Mapping

from waterclock.expr.nodes import Call, Expr, Literal
from waterclock.plan.aggregate import TopK, WindowAggregate
from waterclock.plan.lifetime import AlterLifetime, HopLifetime, Quantize, Shift
from waterclock.plan.nodes import Input, Node
from waterclock.time import BEGINNING


def latest(node: Node, ctis: Mapping[str, int], outputs: Mapping[str, Node]) -> int:
    """``ctis`` are the last finite ones of the streams; an input that is in ``outputs`` stands for that plan."""
    if isinstance(node, Input):
        inner = None if node.back else outputs.get(node.stream)
        return ctis.get(node.stream, BEGINNING) if inner is None else latest(inner, ctis, outputs)
    known = max(latest(child, ctis, outputs) for child in node.inputs)
    if known == BEGINNING:
        return known
    if isinstance(node, Shift):
        return known + node.by
    if isinstance(node, Quantize):
        return known - (known - node.offset) % node.step
    if isinstance(node, HopLifetime):
        return known + (node.offset - known) % node.hop
    if isinstance(node, AlterLifetime):
        return _at(node.start, known)
    if isinstance(node, WindowAggregate | TopK) and node.window is not None and node.window.result == "window":
        window = node.window
        ended = (known - window.offset - window.size) // window.hop  # the last window that has
        return max(known, window.offset + (ended + 1) * window.hop)
    return known


def _at(expr: Expr, start: int) -> int:
    """A non-decreasing function of the start, in the form that plans allow, at one start."""
    if isinstance(expr, Literal):
        return int(expr.value)
    assert isinstance(expr, Call)
    if expr.function == "unix_micros":
        return start
    left, *rest = (_at(arg, start) for arg in expr.args)
    if expr.function == "add":
        return left + rest[0]
    if expr.function == "subtract":
        return left - rest[0]
    if expr.function == "multiply":
        return left * rest[0]
    if expr.function == "div":
        return abs(left) // rest[0] * (-1 if left < 0 else 1)
    step, offset = rest
    return left - (left - offset) % step if expr.function == "floor_to" else left + (offset - left) % step
