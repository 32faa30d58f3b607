"""Aggregates over tumbling and hopping windows, membership by overlap (vs < window end and ve > window start).

Windows start and end only at pane borders, so lifetimes are rounded to panes and events of equal lifetime are folded
into one partial result. Those that overlap a window are merged when it closes.

    result may be emitted   window end <= c
    output CTI              window.output_cti(c)
    state dropped           what ends before the earliest open window starts

With ``early`` a window is due that much sooner. A window is given as revision 0 when it is due, or later when its first
event arrives, and again whenever events arrive until it is final; how often is kept per key and window until then.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from waterclock.operators.aggregates import Aggregates
from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashed, hashes_of, together
from waterclock.operators.groups import identify
from waterclock.operators.ranges import over_ranges
from waterclock.plan.aggregate import WindowAggregate
from waterclock.schema import HASH, VE, VS, bounds
from waterclock.state.table import spread
from waterclock.time import BEGINNING, FOREVER

PANES = "panes"
REVISIONS = "revisions"
_FROM, _TO = "_p", "_q"
_WINDOW, _BEHIND = "_n", "_m"
_LATE = 2**62
"""Ends behind this are not rounded, so that they do not run over."""
_OFTEN, _MANY = 16, 5_000_000
"""From so many windows per row, or so many copies of rows, it is better not to make a copy for each window."""


class WindowOperator(Operator):
    def __init__(self, node: WindowAggregate) -> None:
        super().__init__(node)
        self.tables = (Spec(PANES), Spec(REVISIONS)) if node.early else (Spec(PANES),)
        self.node = node
        self.window = node.window
        self.keys = list(node.keys)
        self.aggregates = Aggregates(node.aggregates, node.input.schema)

    # -- in front of the exchange ------------------------------------------------------------------------

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        """Rows of the input as partial results, hashed and sorted for the exchange."""
        taken = rows.select(VS, VE, *self.keys, *self.aggregates.values())
        start, end = self._floor(pl.col(VS)), pl.col(_FROM) + self.window.pane
        if self.node.input.points:
            folded = self.aggregates.accumulated(taken.with_columns(start.alias(_FROM)), [*self.keys, _FROM])
            folded = folded.with_columns(end.alias(_TO))
        else:
            rounded = self._floor(pl.col(VE) - 1) + self.window.pane
            behind = pl.when(pl.col(VE) < _LATE).then(rounded).otherwise(pl.col(VE))
            taken = taken.with_columns(start.alias(_FROM), behind.alias(_TO))
            folded = self.aggregates.accumulated(taken, [*self.keys, _FROM, _TO])
        return {PANES: hashed(folded.rename({_FROM: VS, _TO: VE}), self.keys)}

    def _floor(self, time: pl.Expr) -> pl.Expr:
        return time - (time - self.window.offset) % self.window.pane

    # -- behind the exchange -----------------------------------------------------------------------------

    def fold(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        by = [HASH, *self.keys, VS, VE]
        if table == REVISIONS:
            return rows.group_by(by).agg(pl.col("revision").sum()).select(rows.columns)
        return self.aggregates.merged(rows, by).select(rows.columns)

    def step(self, turn: Turn) -> Stepped:
        """Takes what arrived since the old CTI and emits the windows that close up to the new one."""
        arrived, (old,), (new,) = turn.arrived.get(PANES), turn.old, turn.new
        window = self.window
        assert arrived is None or bounds(arrived, VE)[0] > old, "an event arrived behind the CTI"
        first = None if old == BEGINNING else window.last_closed(old) + 1
        last = self._last(new, turn.top)
        low = FOREVER if new == FOREVER else BEGINNING if last is None else window.start(last + 1)
        added: dict[str, pl.DataFrame] = {}
        lows = {PANES: low}
        if self.node.early:
            output, revisions = self._revise(turn, first)
            lows[REVISIONS] = new
            if revisions is not None and new < FOREVER:
                added[REVISIONS] = revisions
        elif last is None or (first is not None and first > last):
            output = self.nothing
        else:
            output = self._closed(turn, first, last)
        if arrived is not None and new < FOREVER:
            kept = arrived.filter(pl.col(VE) > low)
            if kept.height:
                added[PANES] = kept
        return Stepped(output, window.output_cti(new), added, lows=lows)

    def _last(self, cti: int, top: int) -> int | None:
        """The number of the last window that is final; at the end the last that starts before the greatest time."""
        if cti == BEGINNING:
            return None
        if cti == FOREVER:
            return -((self.window.offset - top) // self.window.hop) - 1
        return self.window.last_closed(cti)

    def _closed(self, turn: Turn, first: int | None, last: int) -> pl.DataFrame:
        rows = together(turn.state[PANES].all(), turn.arrived.get(PANES))
        if rows is not None and self.window.size > self.window.hop:
            rows = self.aggregates.merged(self._between(rows, first, last), [HASH, *self.keys, VS, VE])
        found = self._numbered(rows, first, last)
        if found is None:
            return self.nothing
        copies = _copies(found)
        if copies > 2 * found.height and copies > min(_OFTEN * found.height, _MANY):
            return self._stamped(self._over_ranges(found))
        groups = self.aggregates.merged(_in_each(found.drop(VS, VE)), [HASH, *self.keys, _WINDOW])
        return self._stamped(self.aggregates.results(groups, HASH, *self.keys, _WINDOW))

    def _over_ranges(self, found: pl.DataFrame) -> pl.DataFrame:
        """Where rows are in many windows, they are not copied into each."""
        slots = Slots(identify(found, self.keys), found[_WINDOW].to_numpy(), found[_BEHIND].to_numpy())
        values = over_ranges(self.aggregates, len(slots), *slots.ranges, found.select(self.aggregates.parts))
        named = found.select(HASH, *self.keys)[slots.rows].with_columns(pl.Series(_WINDOW, slots.numbers))
        return pl.concat([named, values], how="horizontal")

    def _between(self, rows: pl.DataFrame, first: int | None, last: int) -> pl.LazyFrame:
        """The rows that overlap some time of the windows ``first..last``."""
        found = rows.lazy().filter(pl.col(VS) < self.window.start(last) + self.window.size)
        return found if first is None else found.filter(pl.col(VE) > self.window.start(first))

    def _numbered(self, rows: pl.DataFrame | None, first: int | None, last: int) -> pl.DataFrame | None:
        """Rows with the range of window numbers in ``first..last`` that they overlap; None where there are none."""
        if rows is None:
            return None
        window = self.window
        # n_min = floor((vs - o - w) / h) + 1 ; n_max = ceil((ve - o) / h) - 1, with a late end cut first.
        end = pl.min_horizontal(pl.col(VE), pl.lit(window.start(last + 1), dtype=pl.Int64))
        lowest = (pl.col(VS) - window.offset - window.size) // window.hop + 1
        behind = -((window.offset - end) // window.hop)
        if first is not None:
            lowest = pl.max_horizontal(lowest, pl.lit(first, dtype=pl.Int64))
        numbered = rows.lazy().with_columns(lowest.alias(_WINDOW), behind.alias(_BEHIND))
        found = numbered.filter(pl.col(_WINDOW) < pl.col(_BEHIND)).collect()
        return found if found.height else None

    def _stamped(self, results: pl.DataFrame) -> pl.DataFrame:
        """With the lifetime of the results, in a fixed order."""
        window = self.window
        start = pl.col(_WINDOW) * window.hop + window.offset
        end = start + window.size
        vs, ve = {
            "window": (start, end),
            "point_end": (end, end + 1),
            "hold": (end, end + window.hop),
        }[window.result]
        return results.with_columns(vs.alias(VS), ve.alias(VE)).sort(HASH, VS, *self.keys)

    # -- revisions ---------------------------------------------------------------------------------------

    def _revise(self, turn: Turn, first: int | None) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """The windows that are due and have changed, or were not given yet; and that they were given."""
        (old,), (new,), top = turn.old, turn.new, turn.top
        due, last = self._due(new, top)
        if last is None or due is None:
            return self.nothing, None
        known, _ = self._due(old, top)
        arrived = turn.arrived.get(PANES)
        state = turn.state[PANES]
        found: list[pl.DataFrame] = []
        if known is not None and arrived is not None:
            # Windows that were due before: only those of keys with arrivals can have changed.
            found += self._candidates(state.of(hashes_of(arrived)), arrived, first, min(known, last))
        later = known + 1 if known is not None else first
        if later is None or later <= last:
            found += self._candidates(state.all(), arrived, later, last)
        if not found:
            return self.nothing, None
        # An open-ended event alone does not bring about windows that time has not reached.
        rows = pl.concat(found).filter((pl.col(_WINDOW) <= due) | pl.col("_ends"))
        named = [HASH, *self.keys, _WINDOW]
        given = turn.state[REVISIONS].of(hashes_of(rows)) if rows.height else None
        if given is not None:
            number = (pl.col(VS) - self.window.offset) // self.window.hop
            counts = given.with_columns(number.alias(_WINDOW)).group_by(named).agg(pl.col("revision").sum())
            rows = rows.join(counts, on=named, how="left", nulls_equal=True)
        else:
            rows = rows.with_columns(pl.lit(None, dtype=pl.Int64).alias("revision"))
        rows = rows.filter(pl.col("_new") | pl.col("revision").is_null()).with_columns(pl.col("revision").fill_null(0))
        start = pl.col(_WINDOW) * self.window.hop + self.window.offset
        lifetime = (start.alias(VS), (start + self.window.size).alias(VE))
        revisions = rows.select(HASH, *self.keys, *lifetime, pl.lit(1, dtype=pl.Int64).alias("revision"))
        revisions = revisions.filter(pl.col(VE) > new)
        output = self._stamped(self.aggregates.results(rows, *named, "revision"))
        return output, revisions if revisions.height else None

    def _due(self, cti: int, top: int) -> tuple[int | None, int | None]:
        """The last window that is due whatever it holds, and the last that is due if something in it ends."""
        if cti in (BEGINNING, FOREVER):
            last = self._last(cti, top)
            return last, last
        last = self.window.last_closed(min(cti + self.node.early, FOREVER - 1))
        reached = -((self.window.offset - cti) // self.window.hop) - 1  # the last that starts before the CTI
        return min(last, reached), last

    def _candidates(
        self, state: pl.DataFrame | None, arrived: pl.DataFrame | None, first: int | None, last: int
    ) -> list[pl.DataFrame]:
        """Partial results per key and window, whether something new is in it and whether something in it ends."""
        marked = [
            frame.with_columns(pl.lit(new).alias("_new"))
            for frame, new in ((state, False), (arrived, True))
            if frame is not None
        ]
        numbered = self._numbered(together(*marked), first, last)
        if numbered is None:
            return []
        named = [HASH, *self.keys, _WINDOW]
        each = _in_each(numbered)
        marks = each.group_by(named).agg(pl.col("_new").any(), (pl.col(VE) < FOREVER).any().alias("_ends"))
        groups = self.aggregates.merged(each, named)
        return [
            groups.join(marks, on=named, how="inner", nulls_equal=True).select(
                *named, "_new", "_ends", *self.aggregates.parts
            )
        ]


class Slots:
    """The windows that exist, key after key, laid end to end."""

    def __init__(self, group: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> None:
        base = int(lo.min())
        span = int(hi.max()) - base + 1
        start, end = group * span + (lo - base), group * span + (hi - base)
        order = np.argsort(start, kind="stable")
        reach = np.maximum.accumulate(end[order])
        fresh = np.concatenate([[True], start[order][1:] >= reach[:-1]])
        heads = np.flatnonzero(fresh)
        begins, ends = start[order][heads], reach[np.append(heads[1:], len(reach)) - 1]
        before = np.cumsum(ends - begins) - (ends - begins)
        run = np.empty(len(order), dtype=np.int64)
        run[order] = np.cumsum(fresh) - 1
        shift = (before - begins)[run]
        self.ranges = start + shift, end + shift
        places = spread(begins, ends)
        self.numbers: np.ndarray = places % span + base
        """Of the windows."""
        self.rows: np.ndarray = np.repeat(order[heads], ends - begins)
        """For each window a row of its key."""

    def __len__(self) -> int:
        return len(self.numbers)


def _copies(rows: pl.DataFrame) -> int:
    return int((rows[_BEHIND] - rows[_WINDOW]).sum())


def _in_each(rows: pl.DataFrame) -> pl.DataFrame:
    """Each row once for every window of its range."""
    if int((rows[_BEHIND] - rows[_WINDOW]).max()) == 1:  # type: ignore[arg-type]
        return rows
    return rows.with_columns(pl.int_ranges(_WINDOW, _BEHIND).alias(_WINDOW)).drop(_BEHIND).explode(_WINDOW)
