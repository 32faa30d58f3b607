"""The border: user rows become events, bad, too early and late ones are told apart, and time advances.

Order of steps: lifetimes, bad rows, rows too far ahead, late rows, then the new CTI. What happens depends only on the
rows, the CTI and the clock value handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from waterclock.errors import DataError
from waterclock.schema import VE, VS, bounds
from waterclock.streams.declaration import Declaration
from waterclock.streams.segment import with_lifetime
from waterclock.time import BEGINNING, FOREVER, about, show_duration, show_instant

LIMIT = 2**61
"""Instants beyond about 73,000 years are mistakes, and would overflow when durations are added."""
EVER = 1 - LIMIT
"""The start of the rows of a table: before every event."""

_CTI, _ROW, _SEEN = "_cti", "_row", "_seen"


@dataclass(frozen=True)
class Rejected:
    """A row that is not an event: where it was, what is wrong, the row as text."""

    where: str
    reason: str
    row: str
    error: DataError


@dataclass
class Admitted:
    events: pl.DataFrame
    cti: int
    late: pl.DataFrame
    """Late events that go to the side stream (policy divert)."""
    quarantined: pl.DataFrame
    """Events too far ahead to be believed."""
    rejected: list[Rejected] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Bounds:
    """What rows are held against; one beyond ``horizon`` or ``jump`` is not believed."""

    now: int
    horizon: int
    jump: int
    """The last start before the first step that is too wide."""


Place = Callable[[int], str]
"""Names a row in errors, by its number."""


def row_of(where: str) -> Place:
    return lambda row: f"{where} row {row}".lstrip()


def admit(rows: pl.DataFrame, declaration: Declaration, cti: int, now: int, place: Place) -> Admitted:
    """Checks rows that already have the declared columns and types."""
    events = with_lifetime(rows.lazy(), declaration).collect()
    if declaration.cti is None:
        every, span = extent(events)
        if every and (span is None or extent_fits(declaration, *span, cti, now)):  # the common case, in one pass
            cti = cti if span is None else max(cti, declaration.reached(span[1]))
            return Admitted(events, cti, events.clear(), events.clear(), [], {"rows": events.height})
        events = events.with_columns(pl.lit(None, dtype=pl.Int64).alias(_CTI))
    else:
        ticks = pl.Series(_CTI, rows[declaration.cti].to_physical().cast(pl.Int64) * declaration.ticks(declaration.cti))
        events = events.with_columns(ticks)
    flags = events.select(_good() & _fair_cti() | _only_cti()).to_series()
    rejected = _reject(events, flags, declaration, place)
    # From here on in order of arrival: a CTI in the data binds what comes behind it.
    good = events.with_row_index(_ROW).filter(flags)
    limits = _bounds(good, declaration, cti, now)
    good, quarantined = _split_ahead(good, declaration, limits, place)
    known = pl.col(_CTI).fill_null(BEGINNING).cum_max().shift(1, fill_value=BEGINNING)
    good = good.with_columns(pl.max_horizontal(known, pl.lit(cti, dtype=pl.Int64)).alias(_SEEN))
    reached = max([cti, *good[_CTI].drop_nulls().top_k(1)])
    starting = good.drop_nulls(VS)
    counters = {"quarantined": quarantined.height, "ctis": good.height - starting.height}
    taken, late, changed = _split_late(starting, declaration, place)
    if taken.height:
        reached = max(reached, declaration.reached(bounds(taken, VS)[1]))
    counters = {name: number for name, number in (counters | changed).items() if number}
    return Admitted(taken, reached, late, quarantined, rejected, counters | {"rows": taken.height})


def extent(events: pl.DataFrame) -> tuple[bool, tuple[int, int] | None]:
    """Whether all rows are good, and their least and greatest start, if there is one."""
    every, first, last = events.select(_good().all(), pl.col(VS).min(), pl.col(VS).max().alias("last")).row(0)
    return every, None if first is None else (first, last)


def extent_fits(d: Declaration, least: int, greatest: int, cti: int, now: int) -> bool:
    """Whether good rows that start between ``least`` and ``greatest`` are all on time and to be believed."""
    if d.cti is not None or least < cti or greatest > _horizon(d, now):
        return False
    base = least if cti == BEGINNING else cti + (d.slack or 0)
    return d.max_jump is None or greatest - base <= d.max_jump


def _good() -> pl.Expr:
    vs, ve = pl.col(VS), pl.col(VE)
    good = vs.is_not_null() & (vs < ve) & (vs > -LIMIT) & (vs <= LIMIT) & ((ve <= LIMIT) | (ve == FOREVER))
    return good.fill_null(False).alias("good")


def _fair_cti() -> pl.Expr:
    return pl.col(_CTI).is_null() | pl.col(_CTI).is_between(-LIMIT, LIMIT)


def _only_cti() -> pl.Expr:
    """A row without a start that moves time."""
    return pl.col(VS).is_null() & pl.col(_CTI).is_not_null() & _fair_cti()


def _reject(events: pl.DataFrame, flags: pl.Series, d: Declaration, place: Place) -> list[Rejected]:
    # As text: Python has no times beyond the year 9999.
    bad = events.with_row_index(_ROW).filter(~flags).with_columns(pl.selectors.temporal().cast(pl.String))
    return [_rejected(row, d, place(row.pop(_ROW))) for row in bad.iter_rows(named=True)]


def _rejected(row: dict[str, object], d: Declaration, at: str) -> Rejected:
    # Only rows that were found bad come here, one by one.
    vs, ve, cti = row.pop(VS), row.pop(VE), row.pop(_CTI)
    if isinstance(cti, int) and not -LIMIT <= cti <= LIMIT:
        error = DataError("DATA.BAD_CTI", where=at, cti=show_instant(cti))
    elif vs is None:
        error = DataError("DATA.NO_TIME", where=at, column=d.time)
    else:
        assert isinstance(vs, int)
        assert isinstance(ve, int)
        error = DataError("DATA.BAD_LIFETIME", where=at, vs=show_instant(vs), ve=show_instant(ve))
    return Rejected(at, error.message, repr(row), error)


# -- too far ahead -----------------------------------------------------------------------------------------


def _horizon(d: Declaration, now: int) -> int:
    return LIMIT if d.max_ahead is None else min(LIMIT, now + d.max_ahead)


def _bounds(good: pl.DataFrame, d: Declaration, cti: int, now: int) -> _Bounds:
    horizon = _horizon(d, now)
    if d.max_jump is None:
        return _Bounds(now, horizon, LIMIT)
    times = np.sort(pl.concat([good[VS], good[_CTI]]).drop_nulls().to_numpy())
    times = times[times <= horizon]
    if cti != BEGINNING:
        time = cti + (d.slack or 0)
    elif len(times):
        time = int(times[(len(times) - 1) // 2])  # nothing is known yet: most clocks are right
    else:
        return _Bounds(now, horizon, LIMIT)
    # From one start to the next one after it: inside a chunk time may pass in many small steps, in whatever order.
    steps = np.concatenate([[time], times[times > time]])
    wide = np.flatnonzero(np.diff(steps) > d.max_jump)
    return _Bounds(now, horizon, int(steps[wide[0]]) if len(wide) else LIMIT)


def _split_ahead(
    good: pl.DataFrame, d: Declaration, limits: _Bounds, place: Place
) -> tuple[pl.DataFrame, pl.DataFrame]:
    reach = pl.max_horizontal(VS, _CTI)
    limit = min(limits.horizon, limits.jump)
    ahead = good.filter(reach > limit)
    if ahead.height and d.ahead == "fail":
        row, reached = ahead.select(_ROW, reach).row(0)
        at, shown = place(row), show_instant(reached)
        if reached > limits.horizon:
            bound = show_duration(d.max_ahead or 0)
            raise DataError("DATA.FUTURE", where=at, vs=shown, ahead=about(reached - limits.now), bound=bound)
        bound, time = show_duration(d.max_jump or 0), show_instant(limits.jump)
        raise DataError("DATA.JUMP", where=at, vs=shown, ahead=about(reached - limits.jump), time=time, bound=bound)
    # A row that only moves time is kept as a point there.
    start, end = pl.col(VS).fill_null(pl.col(_CTI)), pl.when(pl.col(VS).is_null()).then(pl.col(_CTI) + 1)
    kept = ahead.with_columns(start, end.otherwise(pl.col(VE)).alias(VE))
    return good.filter(reach <= limit), _bare(kept)


# -- late --------------------------------------------------------------------------------------------------


def _split_late(good: pl.DataFrame, d: Declaration, place: Place) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int]]:
    """What is taken, what goes to the side stream, and how many were late."""
    vs, ve, seen = pl.col(VS), pl.col(VE), pl.col(_SEEN)
    late = good.filter(vs < seen)
    if late.height and d.late == "fail":
        row, first, cti = late.select(_ROW, VS, _SEEN).row(0)
        raise DataError("DATA.LATE", where=place(row), vs=show_instant(first), cti=show_instant(cti))
    if d.late == "adjust":
        # A point can never reach over the CTI, so adjusting it means dropping it.
        taken = good.filter((vs >= seen) | (ve > seen)).with_columns(pl.max_horizontal(vs, seen).alias(VS))
        dropped = good.height - taken.height
        changed = {"late_adjusted": late.height - dropped, "late_dropped": dropped}
        return _bare(taken), _bare(late.clear()), changed
    taken = _bare(good.filter(vs >= seen))
    if d.late == "divert":
        return taken, _bare(late), {"late_diverted": late.height}
    return taken, _bare(late.clear()), {"late_dropped": late.height}


def _bare(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.drop(_ROW, _CTI, _SEEN, strict=False)


assert BEGINNING < -LIMIT
