"""Stitch: events of equal payload become one where one ends exactly when another starts.

Copies stay apart: of several chains that end together the one that started first goes on first, with the shortest of
the events that start there. A link is made once the CTI is behind it, so all that takes part in it is known.

    result may be emitted   chain end < c (at c another event may still start)
    output CTI              min(c, starts of open chains)
    state dropped           emitted chains; a chain is one row
"""

from __future__ import annotations

import numpy as np
import polars as pl

from waterclock.operators.base import Operator, Spec, Stepped, Turn, hashed, hashes_of
from waterclock.operators.groups import both, earliest, identify, places
from waterclock.plan.lifetime import Stitch
from waterclock.schema import VE, VS
from waterclock.state.table import ID, spread
from waterclock.time import BEGINNING, FOREVER

CHAINS = "chains"


class StitchOperator(Operator):
    tables = (Spec(CHAINS, mortal=True),)

    def __init__(self, node: Stitch) -> None:
        super().__init__(node)
        self._payload = node.schema.names

    def prepare(self, port: int, rows: pl.LazyFrame) -> dict[str, pl.DataFrame]:
        return {CHAINS: hashed(rows.select(VS, VE, *self._payload).collect(), self._payload)}

    def step(self, turn: Turn) -> Stepped:
        (old,), (new,) = turn.old, turn.new
        table, came = turn.state[CHAINS], turn.arrived.get(CHAINS)
        upto = FOREVER if new == FOREVER else max(new, BEGINNING + 1) - 1  # what ends by then is settled
        due = table.due(max(old, BEGINNING + 1) - 1, upto)
        rows = both(table.of(hashes_of(hashes_of(came), due)), came)
        output, added, removed = self.nothing, None, None
        if rows is not None:
            ids = identify(rows, self._payload)
            of_chain, ends = chained(ids, rows[VS].to_numpy(), rows[VE].to_numpy(), new)
            first = np.flatnonzero(of_chain == np.arange(rows.height))
            known = rows[ID].is_not_null().to_numpy()
            final = ends[first] <= upto
            alone = np.bincount(of_chain, minlength=rows.height)[first] == 1
            changed = np.zeros(rows.height, dtype=bool)
            changed[first] = final | ~(alone & known[first])
            chains = rows[first].drop(ID).with_columns(pl.Series(VE, ends[first], dtype=pl.Int64))
            output = chains.filter(final)
            added = chains.filter(~final & changed[first])
            removed = rows.filter(changed[of_chain] & known)
        return Stepped(
            output,
            earliest(new, table.least(removed), None if added is None else added[VS].min()),
            {} if added is None or not added.height else {CHAINS: added},
            {} if removed is None or not removed.height else {CHAINS: removed},
        )


def chained(ids: np.ndarray, vs: np.ndarray, ve: np.ndarray, new: int) -> tuple[np.ndarray, np.ndarray]:
    """For each row the row that its chain starts with, and for those rows where the chain ends.

    Links where a single row ends are made all at once and give stretches; where several end together, in order of
    time, for all payloads side by side.
    """
    size = vs.size
    begin, end = places((ids, vs), (ids, ve))
    starters = np.lexsort((ve, begin))
    enders = np.argsort(end, kind="stable")
    sorted_begin, sorted_end = begin[starters], end[enders]
    # What starts where a row ends, and what ends there too.
    first, last = (np.searchsorted(sorted_begin, sorted_end, side=side) for side in ("left", "right"))
    low, high = (np.searchsorted(sorted_end, sorted_end, side=side) for side in ("left", "right"))
    meets = (first < last) & (ve[enders] < new)
    single = np.flatnonzero(meets & (high - low == 1))
    before = np.arange(size)
    before[starters[first[single]]] = enders[single]
    origin = before
    while not np.array_equal(further := origin[origin], origin):
        origin = further
    tail = np.arange(size)
    goes_on = np.zeros(size, dtype=bool)
    goes_on[enders[single]] = True
    stretch_end = np.flatnonzero(~goes_on)
    tail[origin[stretch_end]] = stretch_end
    groups = np.flatnonzero(meets & (high - low > 1) & (low == np.arange(size)))
    if not groups.size:
        return origin, ve[tail]
    chain = np.arange(size)  # of the first row of each stretch: the first row of its chain
    of_payload = ids[enders[groups]]
    number = np.arange(groups.size) - np.searchsorted(of_payload, of_payload, side="left")
    ordered = groups[np.argsort(number, kind="stable")]
    for some in np.split(ordered, np.cumsum(np.bincount(number))[:-1]):
        ending = enders[spread(low[some], high[some])]
        group = np.repeat(np.arange(some.size), high[some] - low[some])
        ending = ending[np.lexsort((vs[chain[origin[ending]]], group))]
        links = np.minimum(high[some] - low[some], last[some] - first[some])
        offset = np.cumsum(high[some] - low[some]) - (high[some] - low[some])
        one = origin[ending[spread(offset, offset + links)]]
        other = starters[spread(first[some], first[some] + links)]
        chain[other] = chain[one]
        tail[chain[one]] = tail[other]
    return chain[origin], ve[tail]
