"""The catalog: the only mutable thing. What it says is committed is what exists."""

from waterclock.catalog.catalog import Catalog
from waterclock.catalog.epochs import Commit, Intent, Keys, Range, Snapshot, Standing, Vertex
from waterclock.catalog.filters import Filter
from waterclock.catalog.hosts import Hosting
from waterclock.catalog.leases import Held, Lease, Observer
from waterclock.catalog.makings import Making
from waterclock.catalog.pins import Pin
from waterclock.catalog.sinks import Delivery
from waterclock.catalog.snapshots import GlobalSnapshot, Part
from waterclock.catalog.streams import StreamRow

__all__ = [
    "Catalog", "Commit", "Delivery", "Filter", "GlobalSnapshot", "Held", "Hosting", "Intent", "Keys", "Lease",
    "Making", "Observer", "Part", "Pin", "Range", "Snapshot", "Standing", "StreamRow", "Vertex",
]  # fmt: skip
