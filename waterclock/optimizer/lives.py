"""How long the events of a plan live, as far as the plan and the declarations of its streams say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from waterclock.expr.nodes import Literal
from waterclock.plan import (
    AlterLifetime,
    Apply,
    AsOf,
    Chop,
    ClipDuration,
    CountAggregate,
    Extend,
    HopLifetime,
    Input,
    Join,
    Node,
    PointAtEnd,
    Quantize,
    SessionAggregate,
    SessionLifetime,
    SetDuration,
    SnapshotAggregate,
    Stitch,
    TopK,
    Track,
    Window,
    WindowAggregate,
)
from waterclock.time import FOREVER, show_duration, spoken


@dataclass(frozen=True)
class Life:
    longest: int | None
    """In microseconds; FOREVER: they never end; None: the data decides."""
    why: str = ""
    """What decides it where the plan does not bound it."""

    @property
    def endless(self) -> bool:
        return self.longest == FOREVER

    @property
    def rank(self) -> tuple[int, int]:
        """Greater is longer."""
        if self.longest is None:
            return 1, 0
        return (2, 0) if self.endless else (0, self.longest)

    def __str__(self) -> str:
        if self.longest is None:
            return f"as long as {self.why}"
        if self.endless:
            return f"for ever ({self.why})" if self.why else "for ever"
        return "points" if self.longest == 1 else f"at most {spoken(self.longest)}"


POINT = Life(1)
Lives = Mapping[str, Life]
"""Of the input streams, by name."""


def life_of(node: Node, lives: Lives) -> Life:
    """The longest life that an event of this node's result can have."""
    if isinstance(node, Input):
        return _input(node, lives)
    if isinstance(node, Join):
        return _join(node, lives)
    if isinstance(node, AsOf):
        return life_of(node.left, lives)
    if isinstance(node, SetDuration | AlterLifetime | PointAtEnd | HopLifetime | SessionLifetime):
        return _made(node)
    if isinstance(node, WindowAggregate):
        return _windowed(node.window)
    if isinstance(node, TopK) and node.window is not None:
        return _windowed(node.window)
    if isinstance(node, SessionAggregate | CountAggregate | Track | Apply | Stitch):
        return _told(node)
    longest = max((life_of(child, lives) for child in node.inputs), key=lambda life: life.rank)
    if isinstance(node, SnapshotAggregate):
        return POINT if node.result == "point_end" else longest
    if isinstance(node, Extend | ClipDuration | Quantize | Chop):
        return _changed(node, longest)
    return longest


def _input(node: Input, lives: Lives) -> Life:
    if node.points:
        return POINT
    if node.static:
        return Life(FOREVER, f"table {node.stream}")
    if node.stream in lives:
        return lives[node.stream]
    if node.endless:
        return Life(FOREVER, f"stream {node.stream}")
    return Life(None, f"the events of {node.stream} last")


def _join(node: Join, lives: Lives) -> Life:
    left, right = life_of(node.left, lives), life_of(node.right, lives)
    if node.kind == "inner":
        return min(left, right, key=lambda life: life.rank)
    if node.kind == "full":
        return max(left, right, key=lambda life: life.rank)
    if node.kind == "clip" and left.endless:
        return Life(None, f"no other event of its key follows ({node.label})")
    return left


def _made(node: SetDuration | AlterLifetime | PointAtEnd | HopLifetime | SessionLifetime) -> Life:
    if isinstance(node, PointAtEnd):
        return POINT
    if isinstance(node, HopLifetime):
        return Life(-(-node.width // node.hop) * node.hop)
    if isinstance(node, SessionLifetime):
        return _session(node.timeout, node.maximum)
    if isinstance(node.duration, int):
        return Life(node.duration, node.label)
    if isinstance(node.duration, Literal) and isinstance(node.duration.value, int):
        return Life(node.duration.value)
    return Life(None, f"{node.duration!r} says (null: for ever)")


def _windowed(window: Window) -> Life:
    return Life({"window": window.size, "hold": window.hop}.get(window.result, 1))


def _told(node: Node) -> Life:
    if node.points:
        return POINT
    if isinstance(node, SessionAggregate):
        return _session(node.timeout, node.maximum)
    if isinstance(node, CountAggregate):
        return Life(None, f"{node.n} start times of a key take")
    if isinstance(node, Track):
        return Life(FOREVER, "track without timeout") if node.timeout is None else Life(node.timeout)
    return Life(None, "equal events follow each other" if isinstance(node, Stitch) else "the operator says")


def _session(timeout: int, maximum: int | None) -> Life:
    if maximum is not None:
        return Life(2 * maximum + timeout)
    return Life(None, f"events of a key keep coming less than {show_duration(timeout)} apart")


def _changed(node: Extend | ClipDuration | Quantize | Chop, life: Life) -> Life:
    if isinstance(node, ClipDuration):
        return Life(node.limit) if life.rank > (0, node.limit) else life
    if life.longest is None or life.endless:
        return life  # also of a chop: at the end of the stream the rest of an open event is one piece
    if isinstance(node, Chop):
        return Life(min(life.longest, node.period))
    if isinstance(node, Quantize):
        return Life(max(life.longest + node.hop, node.width) + node.step)
    return Life(max(1, life.longest + node.by))
