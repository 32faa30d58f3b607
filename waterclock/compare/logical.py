"""Logical differences: the rows that are alive more often on one side than on the other, and when.

How lifetimes are cut does not matter: a row that lives ``[0, 4)`` is two that live ``[0, 2)`` and ``[2, 4)``. All is
done on whole columns: rows become steps up and down in time, and the running sum of the steps of a payload is how often
it is there more on the one side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from waterclock.errors import ConfigError
from waterclock.operators.groups import places
from waterclock.schema import VE, VS
from waterclock.state.table import distinct, spread

N = "_n"
"""How often a row is there; less than 0 on the other side."""
ID = "_id"
"""The number of a payload."""
AT = "_at"
MOST = 20_000_000
"""Pieces of rows with equal keys."""


class Surplus(NamedTuple):
    payloads: pl.DataFrame
    """Distinct, in order: those with equal keys stand together."""
    pieces: pl.DataFrame
    """``_id``, ``_vs``, ``_ve`` and ``_n``."""


class Paired(NamedTuple):
    only: pl.DataFrame
    """Pieces, as of ``Surplus``."""
    changed: pl.DataFrame
    """``a`` and ``b``, the numbers of two payloads, ``_vs``, ``_ve`` and ``_n``."""


def surplus(a: pl.DataFrame, b: pl.DataFrame, columns: Sequence[str]) -> Surplus:
    """What is alive more often in ``a`` (``_n`` above 0) and in ``b`` (below). Both have the same columns."""
    signed = [rows.lazy().select(VS, VE, *columns, pl.lit(sign, pl.Int64).alias(N)) for sign, rows in ((1, a), (-1, b))]
    # Rows that are the same on both sides, mostly all, are gone before anything is sorted.
    left = pl.concat(signed).group_by(VS, VE, *columns).agg(pl.col(N).sum()).filter(pl.col(N) != 0)
    each = left.group_by(columns).agg(VS, VE, N).sort(columns).with_row_index(ID).collect()
    rows = each.select(pl.col(ID).cast(pl.Int64), VS, VE, N).explode(VS, VE, N)
    return Surplus(each.select(columns), levels(rows))


def levels(rows: pl.DataFrame) -> pl.DataFrame:
    """For each ``_id``, the longest stretches of time in which the sum of ``_n`` stays the same and is not 0."""
    up, down = rows.select(ID, pl.col(VS).alias(AT), N), rows.select(ID, pl.col(VE).alias(AT), -pl.col(N))
    steps = pl.concat([up, down]).lazy().group_by(ID, AT).agg(pl.col(N).sum()).filter(pl.col(N) != 0).sort(ID, AT)
    # The steps of each number add up to 0, so one running sum serves all, and no stretch reaches into the next number.
    level = steps.select(ID, pl.col(AT).alias(VS), pl.col(AT).shift(-1).alias(VE), pl.col(N).cum_sum())
    return level.filter(pl.col(N) != 0).collect()


def paired(found: Surplus, keys: Sequence[str]) -> Paired:
    """Where both sides have rows with equal keys at the same time, they are one row that changed.

    Several rows with equal keys are paired in their order, and what one side has more of stays alone.
    """
    numbers = _numbers(found.payloads, keys)
    ids, vs, ve, n = (found.pieces[name].to_numpy() for name in (ID, VS, VE, N))
    key = numbers[ids]
    on_a, on_b = (np.isin(key, key[side]) for side in (n > 0, n < 0))
    both = np.flatnonzero(on_a & on_b)
    alone = found.pieces.filter(~(on_a & on_b))
    if not both.size:
        return Paired(alone, _pairs(levels(alone.clear()), 1))
    ids, vs, ve, n, key = ids[both], vs[both], ve[both], n[both], key[both]
    # All pieces of a key are cut where one of them starts or ends.
    begin, end = places((key, vs), (key, ve))
    cuts, where = np.unique(np.concatenate([begin, end]), return_index=True)
    times = np.concatenate([vs, ve])[where]
    first, last = np.searchsorted(cuts, begin), np.searchsorted(cuts, end)
    if (total := int((last - first).sum())) > MOST:
        raise ConfigError("RESULT.KEYS_OVERLAP", keys=", ".join(keys), pieces=total)
    piece, cell = np.repeat(np.arange(ids.size), last - first), spread(first, last)
    a, b = (_ranked(piece[side], cell[side], ids, np.abs(n), cuts.size) for side in (n[piece] > 0, n[piece] < 0))
    width = np.maximum(a.total, b.total)
    start = np.cumsum(width) - width
    ends = distinct(np.concatenate([a.ends(start), b.ends(start)]))
    (of_a, in_a), (of_b, in_b) = a.at(start, ends), b.at(start, ends)
    at = np.where(in_a, a.cell[of_a], b.cell[of_b])
    rows = pl.DataFrame({
        "a": np.where(in_a, ids[a.piece[of_a]], -1),
        "b": np.where(in_b, ids[b.piece[of_b]], -1),
        VS: times[at],
        VE: times[at + 1],
        N: np.diff(ends, prepend=0),
    })  # fmt: skip
    some = len(found.payloads)
    changed = rows.filter(pl.col("a") >= 0, pl.col("b") >= 0)
    more = [
        rows.filter(pl.col(other) < 0).select(pl.col(side).alias(ID), VS, VE, pl.col(N) * sign)
        for side, other, sign in (("a", "b", 1), ("b", "a", -1))
    ]
    pairs = levels(changed.select((pl.col("a") * some + pl.col("b")).alias(ID), VS, VE, N))
    return Paired(levels(pl.concat([alone, *more])), _pairs(pairs, some))


def _pairs(pieces: pl.DataFrame, some: int) -> pl.DataFrame:
    return pieces.select((pl.col(ID) // some).alias("a"), (pl.col(ID) % some).alias("b"), VS, VE, N)


def _numbers(payloads: pl.DataFrame, keys: Sequence[str]) -> np.ndarray:
    """One for each key; payloads with equal keys stand together."""
    same = pl.all_horizontal(pl.col(key).eq_missing(pl.col(key).shift()) for key in keys)
    return payloads.select((~same).cum_sum().cast(pl.Int64)).to_series().to_numpy()


class _Ranked(NamedTuple):
    """The rows of one side in order of cell and payload."""

    piece: np.ndarray
    cell: np.ndarray
    n: np.ndarray
    total: np.ndarray
    """Of each cell."""

    def ends(self, start: np.ndarray) -> np.ndarray:
        """Where each row ends if the rows of each cell are laid out one after another from ``start`` of it."""
        before = np.cumsum(self.total) - self.total
        found: np.ndarray = start[self.cell] + np.cumsum(self.n) - before[self.cell]
        return found

    def at(self, start: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The row that lies before each place, and whether there is one."""
        ends = self.ends(start)
        found = np.minimum(np.searchsorted(ends, places), ends.size - 1)
        return found, (ends[found] - self.n[found] < places) & (places <= ends[found])


def _ranked(piece: np.ndarray, cell: np.ndarray, ids: np.ndarray, n: np.ndarray, cells: int) -> _Ranked:
    order = np.lexsort((ids[piece], cell))
    piece, cell = piece[order], cell[order]
    total = np.bincount(cell, weights=n[piece], minlength=cells).astype(np.int64)
    return _Ranked(piece, cell, n[piece], total)
