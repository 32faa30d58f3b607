"""The catalog: the only mutable thing. What it says is committed is what exists."""

from waterclock.catalog.catalog import Catalog
from waterclock.catalog.epochs import Commit, Intent, Range, Snapshot, Vertex
from waterclock.catalog.filters import Filter
from waterclock.catalog.leases import Lease
from waterclock.catalog.pins import Pin
from waterclock.catalog.sinks import Delivery
from waterclock.catalog.snapshots import GlobalSnapshot, Part
from waterclock.catalog.streams import StreamRow

__all__ = [
    "Catalog", "Commit", "Delivery", "Filter", "GlobalSnapshot", "Intent", "Lease", "Part", "Pin", "Range", "Snapshot",
    "StreamRow", "Vertex",
]  # fmt: skip
