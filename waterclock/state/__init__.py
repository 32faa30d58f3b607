"""Operator state: immutable sorted runs, merged in tiers, dropped by time, found by key or by time."""

from waterclock.state.order import in_order
from waterclock.state.runs import Run, RunCache, live_in, slice_range
from waterclock.state.table import GONE, ID, Indexed, Table, changes, merge, spread
from waterclock.state.tiers import pick_merge

__all__ = [
    "GONE", "ID", "Indexed", "Run", "RunCache", "Table", "changes", "in_order", "live_in", "merge", "pick_merge",
    "slice_range", "spread",
]  # fmt: skip
