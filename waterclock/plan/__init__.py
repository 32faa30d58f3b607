"""The plan: frozen nodes with derived schema and stream properties."""

from waterclock.plan.aggregate import (
    Aggregate,
    Aggregation,
    CountAggregate,
    Distinct,
    SessionAggregate,
    SnapshotAggregate,
    TopK,
    WindowAggregate,
)
from waterclock.plan.explain import explain
from waterclock.plan.guarded import Attempt, OnError, guarded
from waterclock.plan.join import AsOf, Join
from waterclock.plan.lifetime import (
    AlterLifetime,
    Chop,
    ClipDuration,
    Extend,
    HopLifetime,
    PointAtEnd,
    Quantize,
    SessionLifetime,
    SetDuration,
    Shift,
    Stitch,
)
from waterclock.plan.nodes import Explode, Filter, Input, Node, Project, Union
from waterclock.plan.user import Apply, Elements, Track, UserAggregate, codes_of, user_code
from waterclock.plan.window import Window

__all__ = [
    "Aggregate", "Aggregation", "AlterLifetime", "Apply", "AsOf", "Attempt", "Chop", "ClipDuration", "CountAggregate",
    "Distinct", "Elements", "Explode", "Extend", "Filter", "HopLifetime", "Input", "Join", "Node", "OnError",
    "PointAtEnd", "Project", "Quantize", "SessionAggregate", "SessionLifetime", "SetDuration", "Shift",
    "SnapshotAggregate", "Stitch", "TopK", "Track", "Union", "UserAggregate", "Window", "WindowAggregate", "codes_of",
    "explain", "guarded", "user_code",
]  # fmt: skip
