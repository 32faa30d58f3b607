"""The D-Stream API: a stream as a sequence of datasets, one per interval of time. A thin skin over the same plan."""

from waterclock.lang.dstream.stream import DStream, dstream

__all__ = ["DStream", "dstream"]
