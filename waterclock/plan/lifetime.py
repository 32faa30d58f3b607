"""Operators that change lifetimes. A result that would end at or before its start is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Call, Expr, Literal, Start
from waterclock.plan.aggregate import check_session, show_session
from waterclock.plan.nodes import Ended, Unary
from waterclock.schema import INTEGERS
from waterclock.time import FOREVER, show_duration


@dataclass(frozen=True, eq=False)
class Lifetime(Unary):
    """Changes lifetimes and nothing else."""

    @cached_property
    def points(self) -> bool:
        return False

    @property
    def stateless(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Shift(Lifetime):
    """Start and end by ``by`` later (earlier if negative); an open end stays open."""

    by: int

    @cached_property
    def points(self) -> bool:
        return self.input.points

    @property
    def label(self) -> str:
        return f"shift {show_duration(self.by)}"


@dataclass(frozen=True, eq=False)
class SetDuration(Lifetime):
    """Ends ``duration`` after the start: microseconds, FOREVER, or an integer expression (null: never ends)."""

    duration: int | Expr

    def __post_init__(self) -> None:
        if isinstance(self.duration, Expr):
            kind = self.duration.type_in(self.input.schema)
            if kind not in INTEGERS:
                fix = "It takes microseconds as an integer; cast with .cast('bigint')."
                raise ConfigError("EXPR.WRONG_TYPE", what="set_duration", types=kind, fix=fix)
        elif self.duration <= 0:
            raise ConfigError("PLAN.BAD_DURATION", what="set_duration", value=show_duration(self.duration))

    @cached_property
    def points(self) -> bool:
        return self.duration == 1 if isinstance(self.duration, int) else False

    @cached_property
    def open_ended(self) -> bool:
        return isinstance(self.duration, Expr) or self.duration == FOREVER

    @cached_property
    def endless(self) -> bool:
        return not isinstance(self.duration, Expr) and self.duration == FOREVER

    @property
    def label(self) -> str:
        if isinstance(self.duration, Expr):
            return f"set duration {self.duration!r}"
        return f"set duration {'forever' if self.duration == FOREVER else show_duration(self.duration)}"


@dataclass(frozen=True, eq=False)
class AlterLifetime(Lifetime):
    """Start and duration as expressions; the start must be a non-decreasing function of ``wc.start()`` alone.

    ``start`` is in microseconds (``wc.start().unix_micros()``), as is ``duration`` (null: never ends).
    """

    start: Expr
    duration: Expr

    def __post_init__(self) -> None:
        for what, expr in (("start", self.start), ("duration", self.duration)):
            kind = expr.type_in(self.input.schema)
            if kind not in INTEGERS:
                fix = "It takes microseconds as an integer, such as wc.start().unix_micros() + 5."
                raise ConfigError("EXPR.WRONG_TYPE", what=f"{what} of alter_lifetime", types=kind, fix=fix)
        if not is_monotone(self.start):
            raise ConfigError("PLAN.NOT_MONOTONE", expr=repr(self.start))

    @cached_property
    def open_ended(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return f"alter lifetime start {self.start!r} duration {self.duration!r}"


@dataclass(frozen=True, eq=False)
class Extend(Lifetime):
    """Ends ``by`` later, or earlier if negative."""

    by: int

    @property
    def label(self) -> str:
        return f"extend {show_duration(self.by)}"


@dataclass(frozen=True, eq=False)
class ClipDuration(Ended, Lifetime):
    """Lasts at most ``limit``."""

    limit: int

    def __post_init__(self) -> None:
        if self.limit <= 0:
            raise ConfigError("PLAN.BAD_DURATION", what="clip_duration", value=show_duration(self.limit))

    @cached_property
    def points(self) -> bool:
        return self.input.points or self.limit == 1

    @property
    def label(self) -> str:
        return f"clip duration {show_duration(self.limit)}"


@dataclass(frozen=True, eq=False)
class PointAtEnd(Ended, Lifetime):
    """A point where the event ends; an open-ended event gives nothing."""

    @cached_property
    def points(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return "point at end"


@dataclass(frozen=True, eq=False)
class Quantize(Lifetime):
    """Start down to the grid of ``progress``, end up to the grid of ``hop``, at least ``width`` long."""

    width: int
    hop: int
    offset: int = 0
    progress: int | None = None

    def __post_init__(self) -> None:
        _check_grid("quantize", self.width, self.hop, self.progress or 1)

    @property
    def step(self) -> int:
        return self.hop if self.progress is None else self.progress

    @property
    def label(self) -> str:
        progress = "" if self.progress is None else f" progress={show_duration(self.progress)}"
        return (
            f"quantize {show_duration(self.width)} hop={show_duration(self.hop)} "
            f"offset={show_duration(self.offset)}{progress}"
        )


@dataclass(frozen=True, eq=False)
class HopLifetime(Ended, Lifetime):
    """Trill's hopping lifetime: from the next grid point for ``width``; the end of the event does not matter."""

    width: int
    hop: int
    offset: int = 0

    def __post_init__(self) -> None:
        _check_grid("hop_lifetime", self.width, self.hop)

    @property
    def label(self) -> str:
        return (
            f"hop lifetime {show_duration(self.width)} hop={show_duration(self.hop)} "
            f"offset={show_duration(self.offset)}"
        )


@dataclass(frozen=True, eq=False)
class Chop(Lifetime):
    """Cuts lifetimes at the grid points strictly inside them.

    An event that never ends is cut as far as time has come; at the end of the stream the rest is one piece.
    """

    period: int
    offset: int = 0

    def __post_init__(self) -> None:
        _check_grid("chop", self.period)

    @cached_property
    def points(self) -> bool:
        return self.input.points or self.period == 1

    @property
    def stateless(self) -> bool:
        return not self.input.open_ended

    @property
    def label(self) -> str:
        return f"chop {show_duration(self.period)} offset={show_duration(self.offset)}"


@dataclass(frozen=True, eq=False)
class SessionLifetime(Ended, Lifetime):
    """Every event lives until the end of its session."""

    keys: tuple[str, ...]
    timeout: int
    maximum: int | None = None

    def __post_init__(self) -> None:
        check_session(self.timeout, self.maximum)
        for key in self.keys:
            self.input.schema.type_of(key)

    @property
    def stateless(self) -> bool:
        return False

    @property
    def label(self) -> str:
        keys = f" by {', '.join(self.keys)}" if self.keys else ""
        return f"{show_session(self.timeout, self.maximum)} lifetime{keys}"


@dataclass(frozen=True, eq=False)
class Stitch(Lifetime):
    """Joins events of equal payload where one ends exactly when another starts."""

    @property
    def stateless(self) -> bool:
        return False

    @property
    def label(self) -> str:
        return "stitch"


def is_monotone(expr: Expr) -> bool:
    """Whether an integer expression is a non-decreasing function of the start alone, as far as its form shows."""
    if isinstance(expr, Literal):
        return expr.value is not None
    if isinstance(expr, Call) and expr.function == "unix_micros":
        return isinstance(expr.args[0], Start)
    if not isinstance(expr, Call):
        return False
    first, *rest = expr.args
    if not is_monotone(first):
        return False
    if expr.function == "add":
        return all(is_monotone(other) for other in rest)
    constants = [other.value for other in rest if isinstance(other, Literal) and other.value is not None]
    if len(constants) < len(rest):
        return False
    positive = expr.function in ("multiply", "div", "floor_to", "ceil_to") and constants[0] > 0
    return positive or expr.function == "subtract"


def _check_grid(what: str, *durations: int) -> None:
    for duration in durations:
        if duration <= 0:
            raise ConfigError("PLAN.BAD_DURATION", what=what, value=show_duration(duration))
