"""Rows of equal keys, and their order in time, as numbers: what the operators that search by key and start share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from waterclock.schema import HASH
from waterclock.state.table import ID, distinct


def identify(rows: pl.DataFrame, keys: Sequence[str]) -> np.ndarray:
    """A number per row, ordered by hash: rows have the same one iff their keys are equal (null equals null)."""
    hashes = rows[HASH].to_numpy()
    _, first, numbers = np.unique(hashes, return_index=True, return_inverse=True)
    ids: np.ndarray = numbers.astype(np.int64)
    like = first[ids]
    if all(not rows[key].ne_missing(rows[key].gather(like)).any() for key in keys):
        return ids
    # Different keys share a hash.
    named = rows.select(HASH, *keys)
    known = named.unique(maintain_order=True).sort(HASH, maintain_order=True).with_row_index("_g")
    found = named.join(known, on=[HASH, *keys], how="left", nulls_equal=True, maintain_order="left")
    return found["_g"].cast(pl.Int64).to_numpy()


def places(*sides: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
    """One number for each key and time of some frames: ordered by key, then by time."""
    found = [times for _, times in sides if times.size]
    if not found:
        return [np.empty(0, dtype=np.int64) for _ in sides]
    low, high = min(int(times.min()) for times in found), max(int(times.max()) for times in found)
    keys = max(int(ids.max()) for ids, _ in sides if ids.size) + 1
    span = high - low + 1
    if keys * span < 2**63:
        return [ids * span + (times - low) for ids, times in sides]
    known = distinct(np.concatenate(found))
    return [ids * known.size + np.searchsorted(known, times) for ids, times in sides]


def both(state: pl.DataFrame | None, arrived: pl.DataFrame | None) -> pl.DataFrame | None:
    """Rows of a mortal table and new ones as one frame; the new ones have no number."""
    found = [frame for frame in (state, arrived) if frame is not None and frame.height]
    if not found:
        return None
    rows = pl.concat(found, how="diagonal")
    return rows if ID in rows.columns else rows.with_columns(pl.lit(None, dtype=pl.Int64).alias(ID))


def earliest(*times: object) -> int:
    """The least of some times; None and such, for none, do not count."""
    return min(time for time in times if isinstance(time, int))
