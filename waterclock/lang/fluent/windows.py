"""Grouping and windows: what stands between a stream and its aggregates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr, as_expr
from waterclock.lang.fluent.user import OperatorFunction
from waterclock.plan import (
    Aggregate,
    Apply,
    CountAggregate,
    Extend,
    Node,
    SessionAggregate,
    SetDuration,
    SnapshotAggregate,
    TopK,
    Track,
    Window,
    WindowAggregate,
)
from waterclock.schema import Schema
from waterclock.time import Duration, micros
from waterclock.usercode import Code
from waterclock.usercode.machine import SINGLE

Keys = str | Sequence[str]
Named = tuple[tuple[str, Aggregate], ...]
S = TypeVar("S")


def as_keys(keys: Keys) -> tuple[str, ...]:
    return (keys,) if isinstance(keys, str) else tuple(keys)


class Grouped(Generic[S]):
    """A stream with keys, before its window is chosen."""

    def __init__(self, plan: Node, keys: tuple[str, ...], made: Callable[[Node], S]) -> None:
        for key in keys:
            plan.schema.type_of(key)
        self._plan = plan
        self._keys = keys
        self._made = made

    def agg(self, *_: object, **__: object) -> S:
        """Aggregates need a window; this says so."""
        raise ConfigError("PLAN.NO_WINDOW")

    def tumbling(
        self, size: Duration, offset: Duration = 0, result: str = "window", early: Duration = 0
    ) -> Windowed[S]:
        """Windows of ``size`` one after another; a result lives as long as its window.

        With ``early`` a result is given that long before it is final, and again with a new ``revision`` whenever
        events change it until then.
        """
        return self._fixed(Window(micros(size), micros(size), micros(offset), result), early)

    def hopping(
        self, size: Duration, hop: Duration, offset: Duration = 0, result: str = "hold", early: Duration = 0
    ) -> Windowed[S]:
        """Windows of ``size``, a new one every ``hop``; by default a result is valid until the next one."""
        return self._fixed(Window(micros(size), micros(hop), micros(offset), result), early)

    def snapshot(self, result: str = "window") -> Windowed[S]:
        """A result for every stretch of time in which the same events are alive."""
        return self._over(lambda named: SnapshotAggregate(self._plan, self._keys, named, result))

    def sliding(self, size: Duration, result: str = "window") -> Windowed[S]:
        """At every instant the events of the last ``size``: points live for it, others so much longer than before."""
        longer: Node = SetDuration(self._plan, micros(size)) if self._plan.points else Extend(self._plan, micros(size))
        return self._over(lambda named: SnapshotAggregate(longer, self._keys, named, result))

    def session(self, timeout: Duration, maximum: Duration | None = None, result: str = "window") -> Windowed[S]:
        """One result per session: events whose starts are less than ``timeout`` apart, however long they last.

        With ``maximum`` sessions are cut at its multiples, so one can last almost twice as long. Where the gap should
        count from the ends of events, ``extend(timeout).distinct(*keys).stitch()`` gives the stretches.
        """
        longest = None if maximum is None else micros(maximum)
        return self._over(
            lambda named: SessionAggregate(self._plan, self._keys, named, micros(timeout), longest, result)
        )

    def last(self, n: int, result: str = "point_end") -> Windowed[S]:
        """At every start the events since the ``n``-th last distinct start time, once there are so many.

        The result is a point 1 microsecond behind the start.
        """
        return self._over(lambda named: CountAggregate(self._plan, self._keys, named, n, result))

    def top(
        self, k: int, by: str | Expr, *, descending: bool = True, rank: str | None = None, window: Window | None = None
    ) -> S:
        """Per key and instant the ``k`` events that are greatest by ``by``, with all ties; a null has no rank.

        ``window`` (``wc.tumble("1m")`` or ``wc.hop("1m", "10s")``) ranks the events of each window instead.
        """
        return self._made(TopK(self._plan, self._keys, as_expr(by), k, descending, rank, window))

    def track(
        self, initialize: Callable[..., Any], update: Callable[..., Any], timeout: Duration | None,
        state: object = "bigint", result: str = "hold",
    ) -> S:  # fmt: skip
        """A state per key: ``initialize(key, event)`` makes it, ``update(key, state, event)`` changes it.

        Events come in order of start, end and payload, once no earlier one can follow; ``event.column`` is a value of
        theirs. None drops the state, and so does ``timeout`` without an event. ``state`` is a type (then a state is a
        value, in the column ``state``) or the columns and types of a dict. The result is the state from each start to
        the next one or to its end; with ``result="point"`` a point at each start.
        """
        columns = Schema.of(state if isinstance(state, Mapping) else {SINGLE: state})
        limit = None if timeout is None else micros(timeout)
        machine = Code.of(initialize), Code.of(update)
        return self._made(Track(self._plan, self._keys, *machine, columns, limit, result))

    def apply(self, operator: OperatorFunction) -> S:
        """What a user's operator (``@wc.operator``) makes of the events of each key, in steps of time."""
        if not isinstance(operator, OperatorFunction):
            fix = "Declare it first: @wc.operator(returns={...}, every='1s')."
            raise ConfigError("USER.NOT_CODE", what="apply", found=repr(operator), fix=fix)
        return self._made(Apply(self._plan, self._keys, operator.declared))

    def _fixed(self, window: Window, early: Duration) -> Windowed[S]:
        return self._over(lambda named: WindowAggregate(self._plan, self._keys, named, window, micros(early)))

    def _over(self, plan: Callable[[Named], Node]) -> Windowed[S]:
        return Windowed(plan, self._made)


class Windowed(Generic[S]):
    """A stream with keys and a window, before its aggregates are named."""

    def __init__(self, plan: Callable[[Named], Node], made: Callable[[Node], S]) -> None:
        self._plan = plan
        self._made = made

    def agg(self, *unnamed: object, **aggregates: Aggregate) -> S:
        """One result per key and window that has events.

        >>> clicks.group_by("user").tumbling("5s").agg(n=wc.count())  # doctest: +SKIP
        """
        if unnamed:
            raise ConfigError("PLAN.UNNAMED_AGGREGATE")
        for name, value in aggregates.items():
            if not isinstance(value, Aggregate):
                raise ConfigError("PLAN.NOT_AGGREGATE", name=name, value=value)
        return self._made(self._plan(tuple(aggregates.items())))


def tumble(size: Duration, offset: Duration = 0, result: str = "window") -> Window:
    """Windows one after another, for ``top``."""
    return Window(micros(size), micros(size), micros(offset), result)


def hop(size: Duration, every: Duration, offset: Duration = 0, result: str = "hold") -> Window:
    """Overlapping windows, for ``top``."""
    return Window(micros(size), micros(every), micros(offset), result)
