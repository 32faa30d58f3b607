"""What the stateful operators of a plan remember and for how long, in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from waterclock.optimizer.bounds import is_static, problem_of
from waterclock.optimizer.lives import Life, Lives, life_of
from waterclock.plan import (
    Apply,
    AsOf,
    Chop,
    CountAggregate,
    Input,
    Join,
    Node,
    SessionAggregate,
    SessionLifetime,
    SnapshotAggregate,
    Stitch,
    TopK,
    Track,
    Union,
    Window,
    WindowAggregate,
)
from waterclock.time import spoken


class Kind(IntEnum):
    """From the smallest to the worst."""

    NONE = 0
    TABLE = 1
    """Rows of tables: they do not grow."""
    TIME = 2
    """What happened in a stretch of time."""
    KEYS = 3
    """So much for each key, however long ago it was seen."""
    DATA = 4
    """As long as the events say."""
    NEVER = 5


@dataclass(frozen=True)
class Bound:
    kind: Kind
    words: str
    span: int = 0
    """Of time, in microseconds, where that bounds it."""

    def __str__(self) -> str:
        return f"UNBOUNDED: {self.words}" if self.kind == Kind.NEVER else self.words


NOTHING = Bound(Kind.NONE, "nothing: it works event by event")


def state_bound(node: Node, lives: Lives | None = None) -> str:
    """What a node remembers and for how long, in words."""
    return str(bound_of(node, lives or {}))


def output_bound(root: Node, lives: Lives | None = None) -> str:
    """The worst of all nodes of a plan: ``bounded: ...`` or ``UNBOUNDED at ...``."""
    place, bound = worst(root, lives or {})
    if bound.kind == Kind.NONE:
        return "no state: it works event by event"
    if bound.kind == Kind.NEVER:
        return f"UNBOUNDED at “{place.label}”: {bound.words}"
    return f"{'bounded by the data' if bound.kind == Kind.DATA else 'bounded'}: {bound.words}"


def worst(root: Node, lives: Lives) -> tuple[Node, Bound]:
    """The node that remembers most, and what; of equal ones the one nearest to the inputs."""
    found: dict[str, tuple[Node, Bound]] = {}

    def walk(node: Node) -> None:
        if node.identity not in found:
            for child in node.inputs:
                walk(child)
            found[node.identity] = (node, bound_of(node, lives))

    walk(root)
    return max(found.values(), key=lambda each: (each[1].kind, each[1].span))


def bound_of(node: Node, lives: Lives) -> Bound:
    if node.stateless or isinstance(node, Input | Union):
        return NOTHING
    if problem_of(node) is not None:
        return _unbounded(node)
    if isinstance(node, Join):
        return _clip(node, lives) if node.kind == "clip" else _join(node, lives)
    if isinstance(node, AsOf):
        return _asof(node)
    if isinstance(node, Track):
        return _track(node)
    if isinstance(node, Apply):
        return _apply(node)
    if isinstance(node, SessionAggregate | SessionLifetime):
        return _session(node)
    return _over_events(node, life_of(node.inputs[0], lives))


def _unbounded(node: Node) -> Bound:
    waits = problem_of(node) == "PLAN.STUCK"
    origins = list(dict.fromkeys(origin for child in node.inputs for origin in _endless(child)))
    what = f"events that never end ({', '.join(origins)})"
    return Bound(Kind.NEVER, f"{what}, and time cannot pass them" if waits else what)


def _endless(node: Node) -> list[str]:
    """What makes events endless, by label."""
    if not node.endless:
        return []
    if isinstance(node, Input):
        return [f"{node.kind} {node.stream}"]
    found = [origin for child in node.inputs for origin in _endless(child)]
    return found or [node.label]


# -- over one input ----------------------------------------------------------------------------------------


def _over_events(node: Node, life: Life) -> Bound:
    if isinstance(node, WindowAggregate):
        return _window(node, node.window, life)
    if isinstance(node, TopK) and node.window is not None:
        return _window(node, node.window, life)
    if isinstance(node, CountAggregate):
        words = f"the events of the last {node.n} start times {_each(node.keys)}"
        if life.longest is None:
            return Bound(Kind.DATA, f"{words}, and events that live longer, {life}")
        return Bound(Kind.KEYS, words)
    if isinstance(node, Chop):
        return Bound(Kind.DATA, "events whose end is open: they are cut as time goes on")
    if isinstance(node, Stitch):
        return _alive(life, "one chain per row that goes on, of")
    keys = node.keys if isinstance(node, SnapshotAggregate | TopK) else None
    return _alive(life, f"one snapshot {'per row' if keys is None else _each(keys)}, of")


def _window(node: WindowAggregate | TopK, window: Window, life: Life) -> Bound:
    if isinstance(node, TopK):
        words, pieces = f"{spoken(window.size)} of events", "windows"
    else:
        each = f"{', '.join(node.keys)} and pane" if node.keys else "pane"
        revisions = ", and how often each was given early" if node.early else ""
        kept = f"a partial result per {each} of {spoken(window.pane)}{revisions}"
        words, pieces = f"{spoken(window.size)} of {'keys' if node.keys else 'results'} ({kept})", "panes"
    if life.longest == 1:
        return Bound(Kind.TIME, words, window.size)
    longer = f"{words}, and events that span several {pieces}"
    if life.longest is None:
        return Bound(Kind.DATA, f"{longer}, {life}")
    return Bound(Kind.TIME, f"{longer}, for {spoken(life.longest)}", window.size + life.longest)


def _alive(life: Life, what: str) -> Bound:
    if life.longest is None:
        return Bound(Kind.DATA, f"{what} events that are alive, {life}")
    if life.longest == 1:
        return Bound(Kind.TIME, f"{what} points that time has not passed", 1)
    return Bound(Kind.TIME, f"{what} events of the last {_stretch(life.longest)}", life.longest)


def _session(node: SessionAggregate | SessionLifetime) -> Bound:
    what = "the events of an open session" if isinstance(node, SessionLifetime) else "one open session"
    ends = f"{what} {_each(node.keys)}: it ends {spoken(node.timeout)} after its last event"
    if node.maximum is None:
        return Bound(Kind.DATA, f"{ends}, however long that takes")
    longest = 2 * node.maximum
    return Bound(Kind.TIME, f"{ends} and lasts at most {spoken(longest)}", longest + node.timeout)


def _track(node: Track) -> Bound:
    what = f"one state {_each(node.keys)}"
    if node.timeout is None:
        return Bound(Kind.KEYS, f"{what}, for ever unless the code drops it")
    return Bound(Kind.TIME, f"{what}, until {spoken(node.timeout)} after its last event", node.timeout)


def _apply(node: Apply) -> Bound:
    operator = node.operator
    step = f"the events of an open step of {spoken(operator.every)} {_each(node.keys)}"
    if operator.state is None:
        return Bound(Kind.TIME, step, operator.every)
    keeps = operator.keeps
    if keeps is None:
        return Bound(Kind.KEYS, f"{step}, and a state that is kept for ever unless the code drops it")
    words = f"{step}, and a state until {spoken(keeps)} after its last step"
    return Bound(Kind.TIME, words, keeps)


# -- over two inputs ---------------------------------------------------------------------------------------


def _join(node: Join, lives: Lives) -> Bound:
    left, right = _side(node.left, lives), _side(node.right, lives)
    if left == right:
        words = left.words.replace("SIDE", "both sides")
    else:
        words = f"{left.words.replace('SIDE', 'the left side')}; {right.words.replace('SIDE', 'the right side')}"
    if node.kind != "inner":
        words += "; pieces without a match so far" if node.kind != "semi" else "; pieces with a match so far"
    return Bound(max(left.kind, right.kind), words, max(left.span, right.span))


def _side(node: Node, lives: Lives) -> Bound:
    life = life_of(node, lives)
    if is_static(node):
        return Bound(Kind.TABLE, "the rows of SIDE, a table")
    if life.longest is None or life.endless:
        return Bound(Kind.DATA, f"events of SIDE that are alive, {life}")
    if life.longest == 1:
        return Bound(Kind.TIME, "points of SIDE, until time has passed them on the other side", 1)
    return Bound(Kind.TIME, f"events of the last {_stretch(life.longest)} of SIDE", life.longest)


def _clip(node: Join, lives: Lives) -> Bound:
    life = life_of(node.left, lives)
    what = "events of the left side until the next match of their key"
    if life.endless:
        return Bound(Kind.KEYS, f"{what}: one {_each(node.left_keys)} for a signal that holds until its next value")
    if life.longest is None:
        return Bound(Kind.DATA, f"{what}, {life}")
    return Bound(Kind.TIME, f"{what}, at most {spoken(life.longest)}", life.longest)


def _asof(node: AsOf) -> Bound:
    last = f"the last event of the right side {_each(node.right_keys)}"
    waiting = "events of the left side, until time has passed their start on the right"
    if node.tolerance is None:
        return Bound(Kind.KEYS, f"{last}; {waiting}")
    return Bound(Kind.TIME, f"{last}, for {spoken(node.tolerance)}; {waiting}", node.tolerance)


def _each(keys: tuple[str, ...]) -> str:
    return f"per {', '.join(keys)}" if keys else "in all"


def _stretch(duration: int) -> str:
    return spoken(duration).removeprefix("1 ")
