"""The border: user rows become events, bad and late ones are told apart, and time advances.

Order of steps: lifetimes, bad rows, late rows, then the new CTI. What happens depends only on the rows, the CTI
and the clock value handed in.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from waterclock.errors import DataError
from waterclock.schema import VE, VS, bounds
from waterclock.streams.declaration import Declaration
from waterclock.streams.segment import with_lifetime
from waterclock.time import BEGINNING, FOREVER, about, show_duration, show_instant

LIMIT = 2**61
"""Instants beyond about 73,000 years are mistakes, and would overflow when durations are added."""


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
    rejected: list[Rejected] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)


def admit(rows: pl.DataFrame, declaration: Declaration, cti: int, now: int, where: str) -> Admitted:
    """Checks rows that already have the declared columns and types. ``where`` names them in errors."""
    events = with_lifetime(rows.lazy(), declaration).collect()
    horizon = LIMIT if declaration.max_ahead is None else min(LIMIT, now + declaration.max_ahead)
    every, first, last = events.select(_good(horizon).all(), pl.col(VS).min(), pl.col(VS).max().alias("last")).row(0)
    if every and (first is None or first >= cti):  # the common case, in one pass
        cti = cti if last is None else max(cti, last - declaration.slack)
        return Admitted(events, cti, events.clear(), [], {"rows": events.height})
    good, rejected = _split_bad(events, declaration, now, horizon, where)
    counters: dict[str, int] = {}
    late = good.filter(pl.col(VS) < cti)
    side = good.clear()
    if late.height:
        good, side, changed = _late(good, late, declaration, cti, where)
        counters |= changed
    counters["rows"] = good.height
    if good.height:
        cti = max(cti, bounds(good, VS)[1] - declaration.slack)
    return Admitted(good, cti, side, rejected, counters)


def _good(horizon: int) -> pl.Expr:
    vs, ve = pl.col(VS), pl.col(VE)
    good = vs.is_not_null() & (vs < ve) & (vs > -LIMIT) & (vs <= horizon) & ((ve <= LIMIT) | (ve == FOREVER))
    return good.fill_null(False).alias("good")


def _split_bad(
    events: pl.DataFrame, d: Declaration, now: int, horizon: int, where: str
) -> tuple[pl.DataFrame, list[Rejected]]:
    flags = events.select(_good(horizon)).to_series()
    # As text: Python has no times beyond the year 9999.
    bad = events.with_row_index("_row").filter(~flags).with_columns(pl.selectors.temporal().cast(pl.String))
    return events.filter(flags), [_reject(row, d, now, horizon, where) for row in bad.iter_rows(named=True)]


def _reject(row: dict[str, object], d: Declaration, now: int, horizon: int, where: str) -> Rejected:
    # Only rows that were found bad come here, one by one.
    at = f"{where} row {row.pop('_row')}" if where else f"row {row.pop('_row')}"
    vs, ve = row.pop(VS), row.pop(VE)
    if vs is None:
        error = DataError("DATA.NO_TIME", where=at, column=d.time)
    elif isinstance(vs, int) and horizon < vs < LIMIT:
        error = DataError(
            "DATA.FUTURE",
            where=at,
            vs=show_instant(vs),
            ahead=about(vs - now),
            bound=show_duration(d.max_ahead or 0),
        )
    else:
        assert isinstance(vs, int)
        assert isinstance(ve, int)
        error = DataError("DATA.BAD_LIFETIME", where=at, vs=show_instant(vs), ve=show_instant(ve))
    return Rejected(at, error.message, repr(row), error)


def _late(
    good: pl.DataFrame, late: pl.DataFrame, d: Declaration, cti: int, where: str
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int]]:
    on_time = good.filter(pl.col(VS) >= cti)
    if d.late == "fail":
        first = int(late[VS][0])
        raise DataError("DATA.LATE", where=where or d.name, vs=show_instant(first), cti=show_instant(cti))
    if d.late == "divert":
        return on_time, late, {"late_diverted": late.height}
    if d.late == "adjust":
        # A point can never reach over the CTI, so adjusting it means dropping it.
        moved = late.filter(pl.col(VE) > cti).with_columns(pl.lit(cti, dtype=pl.Int64).alias(VS))
        dropped = late.height - moved.height
        kept = good.filter((pl.col(VS) >= cti) | (pl.col(VE) > cti)).with_columns(
            pl.max_horizontal(pl.col(VS), pl.lit(cti, dtype=pl.Int64)).alias(VS)
        )
        return kept, good.clear(), {"late_adjusted": moved.height, "late_dropped": dropped}
    return on_time, good.clear(), {"late_dropped": late.height}


assert BEGINNING < -LIMIT
