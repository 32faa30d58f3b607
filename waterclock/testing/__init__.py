"""Tests of programs, without Java and in milliseconds.

from waterclock.testing import TestStream

ts = TestStream("clicks.sql")
ts.feed("clicks", "user | ts\n ann | 10:00:01").advance("10:00:20")
ts.expect("per_user", "user | clicks\n ann | 1")
"""

from waterclock.testing.differences import Differs
from waterclock.testing.harness import TestStream, crash, events
from waterclock.testing.tables import Table

__all__ = ["Differs", "Table", "TestStream", "crash", "events"]
