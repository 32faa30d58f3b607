"""Sessions: events of a key less than a timeout apart. Aggregates over them, and lifetimes up to their end.

Events that surely share a session are folded into a fragment ``[first, last + timeout)``; fragments that overlap are
one session, so an event that comes late may join two. With a maximum a session is cut at multiples of it: the first
cut of a chain of close events depends on where the chain starts, all others are the cells of the grid. So starts are
kept apart until the CTI is behind them, and after a cut it is remembered for how long an event would continue.

    result may be emitted   session end <= c
    output CTI              min(c, starts of open sessions); c where results are stamped at the end
    state dropped           fragments (and events) of closed sessions; a remembered cut once last + timeout <= c
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from waterclock.operators.aggregates import Aggregates
from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashed, hashes_of
from waterclock.operators.groups import both, earliest, identify, places
from waterclock.plan.aggregate import SessionAggregate
from waterclock.plan.lifetime import SessionLifetime
from waterclock.schema import HASH, VE, VS
from waterclock.state.table import ID

OPEN = "open"
CUTS = "cuts"
EVENTS = "events"
_LAST = "_last"
_HARD = "_hard"
_GROUP = "_g"


@dataclass(frozen=True)
class Tracked:
    """What one epoch did to the sessions."""

    closed: pl.DataFrame | None
    """Sessions that ended: key, start, end, last start and partial results."""
    held: int
    """The CTI, or the start of the earliest open session before it."""
    added: dict[str, pl.DataFrame]
    removed: dict[str, pl.DataFrame]


class Sessions:
    """The open sessions of an operator: tables ``OPEN`` (fragments) and ``CUTS``."""

    def __init__(
        self, keys: Sequence[str], timeout: int, maximum: int | None, aggregates: Aggregates | None = None
    ) -> None:
        self.keys = list(keys)
        self.timeout = timeout
        self.maximum = maximum
        self.aggregates = aggregates

    def fragments(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with hash, start, key and values as fragments: what is close together, or starts together."""
        ids = identify(rows, self.keys)
        (at,) = places((ids, rows[VS].to_numpy()))
        order = np.argsort(at, kind="stable")
        rows, ids = rows[order], ids[order]
        starts = rows[VS].to_numpy()
        gap = self.timeout if self.maximum is None else 1
        border = _border(ids) | (np.diff(starts, prepend=starts[:1]) >= gap)
        first = np.flatnonzero(border)
        lasts = starts[np.append(first[1:], starts.size) - 1] if first.size else starts
        found = rows[first].select(HASH, VS, *self.keys).with_columns(pl.Series(_LAST, lasts))
        if self.maximum is not None:
            found = found.with_columns(pl.lit(None, dtype=pl.Int64).alias(_HARD))
        if self.aggregates is not None:
            grouped = rows.with_columns(pl.Series(_GROUP, np.cumsum(border)))
            parts = self.aggregates.accumulated(grouped, [_GROUP]).sort(_GROUP)
            found = found.hstack(parts.select(self.aggregates.parts).get_columns())
        return found.with_columns(pl.Series(VE, self._soonest(starts[first], lasts))).sort(HASH, VS, VE)

    def step(self, turn: Turn) -> Tracked:
        (old,), (new,) = turn.old, turn.new
        table, came = turn.state[OPEN], turn.arrived.get(OPEN)
        touched = hashes_of(hashes_of(came), table.due(old, new))
        rows = both(table.of(touched), came)
        if rows is None:
            return Tracked(None, earliest(new, table.least()), {}, {})
        cuts = None if self.maximum is None else turn.state[CUTS].of(touched)
        named = [rows.select(HASH, *self.keys), *([] if cuts is None else [cuts.select(HASH, *self.keys)])]
        every = identify(pl.concat(named), self.keys)
        ids = every[: rows.height]
        begin, end = places((ids, rows[VS].to_numpy()), (ids, rows[_LAST].to_numpy() + self.timeout))
        order = np.argsort(begin, kind="stable")
        rows, ids, begin, end = rows[order], ids[order], begin[order], end[order]
        starts, lasts = rows[VS].to_numpy(), rows[_LAST].to_numpy()
        border = _border(ids)
        border[1:] |= begin[1:] >= np.maximum.accumulate(end)[:-1]
        hard = np.empty(0, dtype=np.int64)
        if self.maximum is not None:
            until = np.full(int(every.max()) + 1, np.iinfo(np.int64).min)
            if cuts is not None:
                np.maximum.at(until, every[rows.height :], cuts[VE].to_numpy())
            hard = self._hard_ends(rows, starts, border, until[ids])
            border[1:] |= np.diff(hard) > 0
        first = np.flatnonzero(border)
        ends = np.maximum.reduceat(lasts, first) + self.timeout
        if self.maximum is not None:
            ends = np.minimum(ends, hard[first])
        session = np.cumsum(border) - 1
        return self._changed(turn, rows, border, session, ends, hard)

    def _changed(
        self,
        turn: Turn,
        rows: pl.DataFrame,
        border: np.ndarray,
        session: np.ndarray,
        ends: np.ndarray,
        hard: np.ndarray,
    ) -> Tracked:
        """Closed sessions, and what changes of the open ones: fragments are folded as far as that is safe.

        Per row: whether a session starts with it, the number of its session, and the latest end (with a maximum);
        per session: its end.
        """
        (new,) = turn.new
        is_closed = ends <= new
        starts, lasts = rows[VS].to_numpy(), rows[_LAST].to_numpy()
        known = rows[ID].is_not_null().to_numpy()
        parts = border.copy()
        settled = known.copy()  # a row of the state that says all there is to say
        if self.maximum is not None:
            parts |= starts >= new
            settled &= (starts >= new) | rows[_HARD].is_not_null().to_numpy()
        part = np.cumsum(parts) - 1
        at = np.flatnonzero(parts)
        size = np.diff(np.append(at, rows.height))
        closing = is_closed[session[at]]
        changing = closing | ~((size == 1) & settled[at])
        affected = changing[part]
        folded = rows[at[changing]].select(HASH, VS, *self.keys)
        part_last = np.maximum.reduceat(lasts, at)[changing]
        due = part_last + self.timeout
        columns: list[pl.Series | pl.Expr] = [pl.Series(_LAST, part_last)]
        if self.maximum is not None:
            behind = starts[at[changing]] < new
            fixed = hard[at[changing]]
            due = np.where(behind, np.minimum(due, fixed), self._soonest(starts[at[changing]], part_last))
            columns.append(pl.when(pl.Series(behind)).then(pl.Series(fixed)).alias(_HARD))
        folded = folded.with_columns(*columns, pl.Series(VE, due, dtype=pl.Int64))
        if self.aggregates is not None and folded.height:
            grouped = rows.filter(affected).with_columns(pl.Series(_GROUP, part[affected]))
            merged = self.aggregates.merged(grouped, [_GROUP]).sort(_GROUP)
            folded = folded.hstack(merged.select(self.aggregates.parts).get_columns())
        over = closing[changing]
        removed = rows.filter(affected & known)
        closed = folded.filter(over).with_columns(pl.Series(VE, ends[is_closed], dtype=pl.Int64))
        added = {OPEN: folded.filter(~over)}
        if self.maximum is not None:
            going_on = pl.col(_LAST) + self.timeout
            forced = closed.filter(going_on > new) if new < np.iinfo(np.int64).max else closed.clear()
            added[CUTS] = forced.select(HASH, pl.col(_LAST).alias(VS), going_on.alias(VE), *self.keys)
        held = earliest(new, turn.state[OPEN].least(removed), added[OPEN][VS].min())
        return Tracked(
            closed if closed.height else None,
            held,
            {name: frame for name, frame in added.items() if frame.height},
            {OPEN: removed} if removed.height else {},
        )

    def _hard_ends(self, rows: pl.DataFrame, starts: np.ndarray, border: np.ndarray, until: np.ndarray) -> np.ndarray:
        """Per row the latest end of its session; ``until`` says how long a forced cut of its key lets it continue."""
        assert self.maximum is not None
        cell = starts - starts % self.maximum
        fresh = np.where(cell == starts, cell, cell + self.maximum) + self.maximum
        fixed = rows[_HARD].to_numpy() if rows[_HARD].null_count() == 0 else None
        begun = np.where(starts < until, cell + self.maximum, fresh)
        if fixed is None:
            fixed = rows[_HARD].fill_null(pl.Series(begun)).to_numpy()
        of_chain = fixed[np.flatnonzero(border)][np.cumsum(border) - 1]
        hard: np.ndarray = np.where(starts < of_chain, of_chain, cell + self.maximum)
        return hard

    def _soonest(self, starts: np.ndarray, lasts: np.ndarray) -> np.ndarray:
        """The earliest end that the session of a fragment can have: when to look at it again."""
        ends: np.ndarray = lasts + self.timeout
        if self.maximum is None:
            return ends
        cut: np.ndarray = starts - starts % self.maximum + self.maximum
        soonest: np.ndarray = np.minimum(ends, cut)
        return soonest


class SessionOperator(Operator):
    """One result for each session."""

    def __init__(self, node: SessionAggregate) -> None:
        super().__init__(node)
        self.node = node
        self._aggregates = Aggregates(node.aggregates, node.input.schema)
        self._sessions = Sessions(node.keys, node.timeout, node.maximum, self._aggregates)
        self.tables = _tables(node.maximum)

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        found = rows.select(VS, VE, *self.node.keys, *self._aggregates.values()).collect()
        return {OPEN: self._sessions.fragments(hashed(found, self.node.keys))}

    def step(self, turn: Turn) -> Stepped:
        (new,) = turn.new
        tracked = self._sessions.step(turn)
        output = self.nothing if tracked.closed is None else self._results(tracked.closed)
        cti = tracked.held if self.node.result == "window" else new
        return Stepped(output, cti, tracked.added, tracked.removed, _lows(self.node.maximum, new))

    def _results(self, closed: pl.DataFrame) -> pl.DataFrame:
        start, end = pl.col(VS), pl.col(VE)
        vs, ve = {
            "window": (start, end),
            "point_end": (end, end + 1),
            "hold": (end, end + (end - start)),
        }[self.node.result]
        return self._aggregates.results(closed, vs.alias(VS), ve.alias(VE), *self.node.keys)


class SessionLifetimeOperator(Operator):
    """Every event, living until the end of its session."""

    def __init__(self, node: SessionLifetime) -> None:
        super().__init__(node)
        self.node = node
        self._sessions = Sessions(node.keys, node.timeout, node.maximum)
        self.tables = (*_tables(node.maximum), Spec(EVENTS, mortal=True))

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        events = hashed(rows.select(VS, VE, *self.schema.names).collect(), self.node.keys)
        return {OPEN: self._sessions.fragments(events.select(HASH, VS, *self.node.keys)), EVENTS: events}

    def step(self, turn: Turn) -> Stepped:
        (new,) = turn.new
        tracked = self._sessions.step(turn)
        added, removed, came = dict(tracked.added), dict(tracked.removed), turn.arrived.get(EVENTS)
        output = self.nothing
        if tracked.closed is not None:
            closed = tracked.closed
            events = both(turn.state[EVENTS].of(hashes_of(closed)), came)
            assert events is not None, "a session without events"
            ends = self._ends(events, closed)
            final = ends > np.iinfo(np.int64).min
            known = events[ID].is_not_null().to_numpy()
            output = events.filter(final).with_columns(pl.Series(VE, ends[final], dtype=pl.Int64))
            removed[EVENTS] = events.filter(final & known)
            came = events.filter(~final & ~known).drop(ID)
        if came is not None and came.height:
            added[EVENTS] = came
        return Stepped(output, tracked.held, added, removed, _lows(self.node.maximum, new))

    def _ends(self, events: pl.DataFrame, closed: pl.DataFrame) -> np.ndarray:
        """The end of the closed session that each event belongs to; the least number where it has none."""
        keys = self.node.keys
        ids = identify(pl.concat([events.select(HASH, *keys), closed.select(HASH, *keys)]), keys)
        mine, theirs = ids[: events.height], ids[events.height :]
        at, begins = places((mine, events[VS].to_numpy()), (theirs, closed[VS].to_numpy()))
        order = np.argsort(begins, kind="stable")
        before = np.searchsorted(begins[order], at, side="right") - 1
        found = order[np.maximum(before, 0)]
        inside = (before >= 0) & (theirs[found] == mine) & (events[VS].to_numpy() <= closed[_LAST].to_numpy()[found])
        ends: np.ndarray = np.where(inside, closed[VE].to_numpy()[found], np.iinfo(np.int64).min)
        return ends


def _tables(maximum: int | None) -> tuple[Spec, ...]:
    fragments = Spec(OPEN, mortal=True)
    return (fragments,) if maximum is None else (fragments, Spec(CUTS))


def _lows(maximum: int | None, cti: int) -> dict[str, int]:
    return {} if maximum is None else {CUTS: cti}


def _border(ids: np.ndarray) -> np.ndarray:
    """Where a key differs from the one before it."""
    borders: np.ndarray = np.diff(ids, prepend=ids[:1] - 1) != 0
    return borders
