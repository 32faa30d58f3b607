"""Unions of intervals, row by row: what of a row's lifetime is covered by others, and what is left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from waterclock.operators.groups import identify
from waterclock.schema import HASH, VE, VS

Pieces = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Number of the row, start, end."""


class Cover:
    """The covered pieces of rows, gathered as the pairs come."""

    def __init__(self) -> None:
        self._found: list[Pieces] = []

    def add(self, rows: np.ndarray, start: np.ndarray, end: np.ndarray) -> None:
        self._found.append(united(rows, start, end))

    def pieces(self) -> Pieces:
        """Maximal pieces in order of row and time."""
        if not self._found:
            nothing = np.empty(0, dtype=np.int64)
            return nothing, nothing, nothing
        if len(self._found) > 1:
            rows, start, end = (np.concatenate(arrays) for arrays in zip(*self._found, strict=True))
            self._found = [united(rows, start, end)]
        return self._found[0]


def united(rows: np.ndarray, start: np.ndarray, end: np.ndarray) -> Pieces:
    """The union of intervals for each row. Intervals that touch are one."""
    ordered = (rows[1:] > rows[:-1]) | ((rows[1:] == rows[:-1]) & (start[1:] >= start[:-1]))
    if not ordered.all():
        order = np.lexsort((start, rows))
        rows, start, end = rows[order], start[order], end[order]
    reach = running_max(rows, end)
    fresh = np.ones(rows.size, dtype=bool)
    fresh[1:] = (rows[1:] != rows[:-1]) | (start[1:] > reach[:-1])
    if fresh.all():
        return rows, start, end
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], rows.size) - 1
    return rows[first], start[first], reach[last]


def left_over(vs: np.ndarray, ve: np.ndarray, covered: Pieces) -> Pieces:
    """The pieces of lifetimes that are not covered; ``covered`` as ``united`` gives it, inside the lifetimes."""
    rows, start, end = covered
    n = vs.size
    each = np.bincount(rows, minlength=n) + 1  # a gap before each covered piece, and one behind the last
    last = np.cumsum(each) - 1
    total = int(each.sum())
    owner = np.repeat(np.arange(n), each)
    heads, tails = np.zeros(total, dtype=bool), np.zeros(total, dtype=bool)
    heads[last - each + 1] = True
    tails[last] = True
    gap_start, gap_end = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    gap_start[heads], gap_start[~heads] = vs, end
    gap_end[tails], gap_end[~tails] = ve, start
    real = gap_start < gap_end
    return owner[real], gap_start[real], gap_end[real]


def running_max(groups: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The greatest value so far within each stretch of equal groups."""
    found = values
    step = 1
    while step < values.size:
        same = groups[step:] == groups[:-step]
        if not same.any():
            break
        higher = np.where(same, np.maximum(found[step:], found[:-step]), found[step:])
        found = np.concatenate([found[:step], higher])
        step *= 2
    return found


def folded(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Rows that matter only as a cover, told as the union of those with equal keys."""
    vs, ve = rows[VS].to_numpy(), rows[VE].to_numpy()
    groups = rows[HASH].to_numpy() if keys else np.zeros(rows.height, dtype=np.uint64)
    order = np.lexsort((vs, groups))
    groups = groups[order]
    same = np.flatnonzero(groups[1:] == groups[:-1])
    if not same.size:
        return rows
    if any(rows[key].gather(order[same]).ne_missing(rows[key].gather(order[same + 1])).any() for key in keys):
        groups = identify(rows, keys)  # different keys share a hash
        order = np.lexsort((vs, groups))
        groups = groups[order]
    named, start, end = united(groups, vs[order], ve[order])
    like = order[np.searchsorted(groups, named)]
    return rows[like].with_columns(pl.Series(VS, start, dtype=pl.Int64), pl.Series(VE, end, dtype=pl.Int64))
