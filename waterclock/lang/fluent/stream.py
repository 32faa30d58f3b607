"""A stream of events, and what can be made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr, as_expr, coalesce, col, lit
from waterclock.lang.fluent.user import OperatorFunction
from waterclock.lang.fluent.windows import Grouped, Keys, Windowed, as_keys
from waterclock.plan import (
    AlterLifetime,
    AsOf,
    Chop,
    ClipDuration,
    Distinct,
    Explode,
    Extend,
    Filter,
    HopLifetime,
    Join,
    Node,
    OnError,
    PointAtEnd,
    Project,
    Quantize,
    SessionLifetime,
    SetDuration,
    Shift,
    Stitch,
    Union,
    explain,
    guarded,
)
from waterclock.plan.join import ONE_SIDED
from waterclock.plan.strategy import Strategy
from waterclock.schema import Schema
from waterclock.time import FOREVER, Duration, micros


class Outputs(Protocol):
    """The app that a stream belongs to, as far as streams know it."""

    def add_output(
        self, name: str | None, plan: Node, sink: Any, recovery: Strategy | None = None,
        retention: Duration | None = None,
    ) -> None: ...  # fmt: skip

    def add_cycle(self, name: str, seeds: Node, body: Callable[[Node], Node]) -> Node: ...

    def explain_plan(self, plan: Node, stage: str) -> str: ...


class Stream:
    """Immutable: every method gives a new stream."""

    def __init__(self, app: Outputs, plan: Node) -> None:
        self._app = app
        self._plan = plan

    @property
    def schema(self) -> Schema:
        """Names and types of the columns."""
        return self._plan.schema

    def filter(self, predicate: Expr) -> Stream:
        """The events that satisfy the predicate.

        >>> alerts.filter(wc.col("severity") >= 3)  # doctest: +SKIP
        """
        return Stream(self._app, Filter(self._plan, predicate))

    where = filter

    def select(self, *columns: str | Expr, **named: object) -> Stream:
        """A new payload: columns to keep by name, and ``new=expression``."""
        chosen = [(self._name(column), as_expr(column)) for column in columns]
        chosen += [(name, as_expr(value)) for name, value in named.items()]
        return Stream(self._app, Project(self._plan, tuple(chosen)))

    def with_columns(self, **named: object) -> Stream:
        """The payload with columns added or replaced."""
        kept = [(name, col(name)) for name in self.schema.names if name not in named]
        return Stream(self._app, Project(self._plan, (*kept, *((n, as_expr(v)) for n, v in named.items()))))

    def drop(self, *columns: str) -> Stream:
        """The payload without these columns."""
        for column in columns:
            self.schema.type_of(column)
        return self.select(*(name for name in self.schema.names if name not in columns))

    def union(self, *others: Stream) -> Stream:
        """All events of streams with the same columns; duplicates stay."""
        return Stream(self._app, Union((self._plan, *(other._plan for other in others))))

    def explode(self, **arrays: Expr) -> Stream:
        """One event for every element of an array: ``explode(word=wc.split("text", " "))``."""
        plan = self._plan
        for name, array in arrays.items():
            plan = Explode(plan, name, as_expr(array))
        return Stream(self._app, plan)

    def on_error(self, policy: str, limit: int | None = None) -> Stream:
        """What becomes of events for which the user code of the last operator fails, or gives what it must not.

        ``fail`` (the default) stops the run; ``skip`` leaves them out and counts them; ``dead_letter`` also keeps them
        in the stream ``OUTPUT.dead`` of each output. More than ``limit`` of them, since the beginning, fail the run.

        >>> clicks.select(price=parse("text")).on_error("dead_letter", limit=100)  # doctest: +SKIP
        """
        return Stream(self._app, guarded(self._plan, OnError(policy, limit)))

    # -- lifetimes -----------------------------------------------------------------------------------------

    def shift(self, by: Duration) -> Stream:
        """Every event so much later (earlier if negative)."""
        return Stream(self._app, Shift(self._plan, micros(by)))

    def set_duration(self, duration: Duration | Expr) -> Stream:
        """Every event lasts ``duration`` from its start: a time, ``"forever"``, or microseconds as an expression."""
        if isinstance(duration, Expr):
            return Stream(self._app, SetDuration(self._plan, duration))
        return Stream(self._app, SetDuration(self._plan, FOREVER if duration == "forever" else micros(duration)))

    def alter_lifetime(self, start: Expr, duration: object) -> Stream:
        """Start and duration in microseconds as expressions; the start must follow ``wc.start()``."""
        return Stream(self._app, AlterLifetime(self._plan, start, lit(duration)))

    def extend(self, by: Duration) -> Stream:
        """Every event ends so much later (earlier if negative); what would end before it starts is dropped."""
        return Stream(self._app, Extend(self._plan, micros(by)))

    def clip_duration(self, limit: Duration) -> Stream:
        """No event lasts longer than ``limit``."""
        return Stream(self._app, ClipDuration(self._plan, micros(limit)))

    def point_at_end(self) -> Stream:
        """A point where each event ends."""
        return Stream(self._app, PointAtEnd(self._plan))

    def quantize(
        self, width: Duration, hop: Duration | None = None, offset: Duration = 0, progress: Duration | None = None
    ) -> Stream:
        """Lifetimes rounded outwards to a grid, at least ``width`` long."""
        size = micros(width)
        step = None if progress is None else micros(progress)
        return Stream(self._app, Quantize(self._plan, size, size if hop is None else micros(hop), micros(offset), step))

    def hop_lifetime(self, width: Duration, hop: Duration | None = None, offset: Duration = 0) -> Stream:
        """From the next grid point on for ``width``, whenever the event ends."""
        size = micros(width)
        return Stream(self._app, HopLifetime(self._plan, size, size if hop is None else micros(hop), micros(offset)))

    def session_lifetime(self, timeout: Duration, maximum: Duration | None = None, by: Keys = ()) -> Stream:
        """Every event lives until its session ends: until ``timeout`` passes without another start of its key.

        With ``maximum`` sessions are cut at its multiples, so one can last almost twice as long.
        """
        longest = None if maximum is None else micros(maximum)
        return Stream(self._app, SessionLifetime(self._plan, as_keys(by), micros(timeout), longest))

    def chop(self, period: Duration, offset: Duration = 0) -> Stream:
        """Lifetimes cut at every grid point."""
        return Stream(self._app, Chop(self._plan, micros(period), micros(offset)))

    def stitch(self) -> Stream:
        """Events of equal payload that touch become one."""
        return Stream(self._app, Stitch(self._plan))

    # -- sets ----------------------------------------------------------------------------------------------

    def distinct(self, *columns: str) -> Stream:
        """At every instant each payload once (of the named columns, if any)."""
        chosen = self.select(*columns) if columns else self
        return Stream(self._app, Distinct(chosen._plan))

    def top(self, k: int, by: str | Expr, *, descending: bool = True, rank: str | None = None) -> Stream:
        """At every instant the ``k`` events that are greatest by ``by``, with all ties; a null has no rank."""
        return self.group_by().top(k, by, descending=descending, rank=rank)

    def apply(self, operator: OperatorFunction) -> Stream:
        """What a user's operator (``@wc.operator``) makes of all events, in steps of time."""
        return self.group_by().apply(operator)

    # -- joins ---------------------------------------------------------------------------------------------

    def join(
        self, other: Stream, on: Keys = (), *, how: str = "inner", left_on: Keys = (), right_on: Keys = (),
        where: Expr | None = None, suffix: str = "_right",
    ) -> Stream:  # fmt: skip
        """Pairs of events that overlap in time, have equal keys and satisfy ``where``.

        ``how``: inner, left, full, semi, anti or clip. Columns of the right side that the left has too get ``suffix``;
        keys given with ``on`` appear once.
        """
        leftas_keys, rightas_keys, names, shared = self._pairing(other, on, left_on, right_on, suffix)
        joined = Stream(self._app, Join(how, self._plan, other._plan, leftas_keys, rightas_keys, names, where))
        return joined if how in ONE_SIDED else joined._without_doubles(shared, dict(names), how == "full")

    def semi_join(self, other: Stream, on: Keys = (), **options: Any) -> Stream:
        """The parts of events during which a match exists."""
        return self.join(other, on, how="semi", **options)

    def anti_join(self, other: Stream, on: Keys = (), **options: Any) -> Stream:
        """The parts of events during which no match exists."""
        return self.join(other, on, how="anti", **options)

    def clip_join(self, other: Stream, on: Keys = (), **options: Any) -> Stream:
        """Events cut short where the next match starts."""
        return self.join(other, on, how="clip", **options)

    def asof_join(
        self, other: Stream, on: Keys = (), *, how: str = "left", left_on: Keys = (), right_on: Keys = (),
        tolerance: Duration | None = None, suffix: str = "_right",
    ) -> Stream:  # fmt: skip
        """Each event with the last one of ``other`` that had started when it started, ``tolerance`` back at most."""
        leftas_keys, rightas_keys, names, shared = self._pairing(other, on, left_on, right_on, suffix)
        within = None if tolerance is None else micros(tolerance)
        plan = AsOf(how, self._plan, other._plan, leftas_keys, rightas_keys, names, within)
        return Stream(self._app, plan)._without_doubles(shared, dict(names), full=False)

    def _pairing(
        self, other: Stream, on: Keys, left_on: Keys, right_on: Keys, suffix: str
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
        if on and (left_on or right_on):
            fix = "Give either on, or left_on and right_on."
            raise ConfigError("CONFIG.BAD_OPTION", option="on", value=on, fix=fix)
        shared = as_keys(on)
        taken = set(self.schema.names)
        names: list[tuple[str, str]] = []
        for name in other.schema.names:
            new = name
            while new in taken:
                new += suffix or "_right"
            taken.add(new)
            names.append((name, new))
        return shared or as_keys(left_on), shared or as_keys(right_on), tuple(names), shared

    def _without_doubles(self, shared: tuple[str, ...], names: dict[str, str], full: bool) -> Stream:
        doubles = {names[key]: key for key in shared}
        if not doubles:
            return self
        keys = {key: coalesce(col(key), col(double)) if full else col(key) for double, key in doubles.items()}
        columns = [(name, keys.get(name, col(name))) for name in self.schema.names if name not in doubles]
        return Stream(self._app, Project(self._plan, tuple(columns)))

    # -- windows -------------------------------------------------------------------------------------------

    def group_by(self, *keys: str) -> Grouped[Stream]:
        """Per value of these columns; a window, ``top``, ``track`` or ``apply`` behind it says what is made of each.

        >>> clicks.group_by("user").tumbling("10s").agg(n=wc.count())  # doctest: +SKIP
        """
        return Grouped(self._plan, keys, lambda plan: Stream(self._app, plan))

    def tumbling(
        self, size: Duration, offset: Duration = 0, result: str = "window", early: Duration = 0
    ) -> Windowed[Stream]:
        """Windows of ``size`` one after another, of all events; see ``Grouped.tumbling``."""
        return self.group_by().tumbling(size, offset, result, early)

    def hopping(
        self, size: Duration, hop: Duration, offset: Duration = 0, result: str = "hold", early: Duration = 0
    ) -> Windowed[Stream]:
        """Windows of ``size``, a new one every ``hop``, of all events; see ``Grouped.hopping``."""
        return self.group_by().hopping(size, hop, offset, result, early)

    def sliding(self, size: Duration, result: str = "window") -> Windowed[Stream]:
        """At every instant the events of the last ``size``; see ``Grouped.sliding``."""
        return self.group_by().sliding(size, result)

    def snapshot(self, result: str = "window") -> Windowed[Stream]:
        """A result for every stretch of time in which the same events are alive."""
        return self.group_by().snapshot(result)

    def session(self, timeout: Duration, maximum: Duration | None = None, result: str = "window") -> Windowed[Stream]:
        """A result per session of all events, by their starts alone; see ``Grouped.session``."""
        return self.group_by().session(timeout, maximum, result)

    def last(self, n: int, result: str = "point_end") -> Windowed[Stream]:
        """At every start the events since the ``n``-th last distinct start time; see ``Grouped.last``."""
        return self.group_by().last(n, result)

    def iterate(self, body: Callable[[Stream], Stream], name: str) -> Stream:
        """These events, and all that ``body`` makes of the result itself: a cycle, kept as the stream ``name``.

        Every trip must move time on (``shift``), and a join with a stream whose events end must end the trips.

        >>> alerts.iterate(lambda loop: loop.semi_join(links, on="node").shift("1m"), name="spread")  # doctest: +SKIP
        """
        return Stream(
            self._app, self._app.add_cycle(name, self._plan, lambda edge: body(Stream(self._app, edge))._plan)
        )

    def to(
        self, sink: Any, name: str | None = None, *, recovery: Strategy | None = None,
        retention: Duration | None = None,
    ) -> Stream:  # fmt: skip
        """Makes this an output of the app, delivered to ``sink`` and kept as the stream ``name``.

        ``recovery`` says how lost state is had again: ``wc.checkpoint``, ``wc.replay`` or ``wc.replicate``.
        ``retention`` keeps its events for so long behind its CTI; without it, for ever.
        """
        self._app.add_output(name, self._plan, sink, recovery, retention)
        return self

    def into(self, name: str, *, recovery: Strategy | None = None, retention: Duration | None = None) -> Stream:
        """Makes this an output that is only kept as the stream ``name``; others may read it. See ``to``."""
        self._app.add_output(name, self._plan, None, recovery, retention)
        return self

    def explain(self, stage: str | None = None) -> str:
        """The plan as an indented tree, or a stage of its way: logical, optimized, physical or spark."""
        return explain(self._plan) if stage is None else self._app.explain_plan(self._plan, stage)

    def _repr_html_(self) -> str:
        """In notebooks: the plan as boxes and arrows, and the columns."""
        from waterclock.plan.drawing import picture_of, schema_table, scrolling, svg  # only notebooks need it

        return scrolling(svg([picture_of({"": self._plan})])) + schema_table(self.schema)

    def __repr__(self) -> str:
        return f"<Stream ({self.schema})>"

    @staticmethod
    def _name(column: str | Expr) -> str:
        if isinstance(column, str):
            return column
        name = getattr(column, "name", None)
        if not isinstance(name, str):
            raise ConfigError(
                "CONFIG.BAD_OPTION",
                option="column",
                value=column,
                fix="Give an expression a name: new=expression.",
            )
        return name
