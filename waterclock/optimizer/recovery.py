"""How a query gets lost state back: what was asked for, checked against the plan, or what costs least."""

from __future__ import annotations

from waterclock.errors import ConfigError
from waterclock.optimizer.cost import weight
from waterclock.optimizer.cut import VertexPlan
from waterclock.optimizer.lives import Lives, life_of
from waterclock.optimizer.statistics import Statistics
from waterclock.plan import (
    Distinct,
    Input,
    Join,
    Node,
    SessionAggregate,
    SessionLifetime,
    Shift,
    SnapshotAggregate,
    TopK,
    Union,
    WindowAggregate,
)
from waterclock.plan.strategy import REPLAY, Strategy
from waterclock.time import FOREVER, show_duration

COSTLY = 64 << 20
"""Bytes of state from which on saving it is worth avoiding, ..."""
QUICK = 2.0
"""... if computing it again takes no more seconds than this."""
UNITS = 5_000_000
"""Of work (see ``cost.Weight``) in a second."""


def chosen(plan: VertexPlan, wanted: Strategy | None, lives: Lives, measured: Statistics) -> Strategy:
    """The strategy of a vertex, with the window of a replay filled in."""
    if wanted is None:
        return _cheapest(plan, lives, measured)
    if wanted.kind != REPLAY:
        return wanted
    # Without state there is nothing to replay, and nothing to save.
    return Strategy(REPLAY, window=_window(plan, wanted.window, lives)) if plan.nodes else Strategy()


def _cheapest(plan: VertexPlan, lives: Lives, measured: Statistics) -> Strategy:
    """By what was measured in earlier runs: nothing is replayed before it is known what that costs."""
    state = sum(size for _, size in measured.states.values())
    if state < COSTLY:
        return Strategy()
    try:
        window = _window(plan, None, lives)
    except ConfigError:
        return Strategy()
    rates = [measured.rates.get(name) for name in plan.inputs]
    if any(rate is None for rate in rates):
        return Strategy()
    units = sum(weight(node.node).cost for node in plan.nodes)
    seconds = sum(rate or 0.0 for rate in rates) * window / 1e6 * units / UNITS
    return Strategy(REPLAY, window=window) if seconds <= QUICK else Strategy()


def _window(plan: VertexPlan, told: int | None, lives: Lives) -> int:
    if plan.name in plan.inputs:
        raise _refused(plan.name, "it feeds itself, so that what it knows may be as old as it is")
    known = _memory(plan.root, plan.name, lives, told is not None)
    if told is None:
        return known
    if told < known:
        why = f"its events matter for {show_duration(known)}, which is longer than {show_duration(told)}"
        raise _refused(plan.name, why, f"Write replay(window={show_duration(known)!r}) or more.")
    return told


def memory(plan: VertexPlan, lives: Lives) -> int | None:
    """How long after its start an input event can matter to what the vertex gives; None: for ever, or unknown."""
    try:
        return (
            _window(plan, None, lives)
            if plan.nodes
            else max(_life(leg.source, plan.name, lives, False) for leg in plan.legs)
        )
    except ConfigError:
        return None


def _memory(node: Node, name: str, lives: Lives, told: bool) -> int:
    """How long after its start an input event can matter to the state of a node and of those before it, at most.

    Where the data decides how long events live, a user who has ``told`` a window vouches for them.
    """
    if isinstance(node, Input):
        if node.static:
            raise _refused(name, f"the rows of table {node.stream} matter for ever")
        return _life(node, name, lives, told)
    before = max(_memory(child, name, lives, told) for child in node.inputs)
    alive = max(_life(child, name, lives, told) for child in node.inputs)
    if isinstance(node, Shift):
        return before + abs(node.by)
    if isinstance(node, Union):
        return before
    if node.stateless:
        return before + alive + _life(node, name, lives, told)
    if isinstance(node, WindowAggregate | TopK) and node.window is not None:
        if isinstance(node, WindowAggregate) and node.early:
            raise _refused(name, f"“{node.label}” remembers what it gave early")
        return before + 2 * alive + node.window.size + node.window.hop
    if isinstance(node, SnapshotAggregate | Distinct | TopK | Join):
        # What is alive may have begun where something ended that is not.
        return before + 2 * alive
    if isinstance(node, SessionAggregate | SessionLifetime) and node.maximum is not None:
        return before + alive + 2 * (2 * node.maximum + node.timeout)
    raise _refused(name, f"“{node.label}” may remember any event")


def _life(node: Node, name: str, lives: Lives, told: bool) -> int:
    life = life_of(node, lives)
    if life.longest is None or life.longest == FOREVER:
        if told:
            return 0
        fix = "If you know how long an event matters, write replay(window=...)."
        raise _refused(name, f"events live {life}", fix)
    return life.longest


def _refused(name: str, why: str, fix: str = "Use checkpoint().") -> ConfigError:
    return ConfigError("PLAN.NO_REPLAY", name=name, why=why, fix=fix)
