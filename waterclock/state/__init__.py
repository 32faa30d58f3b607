"""Operator state: immutable sorted runs, merged in tiers, dropped by time, sliced by key range."""

from waterclock.state.runs import Run, RunCache, live_in, slice_range
from waterclock.state.tiers import pick_merge

__all__ = ["Run", "RunCache", "live_in", "pick_merge", "slice_range"]
