"""Named places where a test can end the process, as a crash would. In normal runs a place costs one comparison.

``WATERCLOCK_CRASH=name:3`` kills the process with SIGKILL when the place ``name`` is reached for the third time.
``tests/recovery`` and ``tests/chaos`` stop the system at every one of them.
"""

from __future__ import annotations

import os
import signal

PLACES = (
    "ingest.before_write",
    "ingest.before_commit",
    "ingest.after_commit",
    "epoch.before_intent",
    "epoch.after_intent",
    "task.running",
    "task.after_files",
    "epoch.before_commit",
    "epoch.after_commit",
    "sync.before_mark",
    "sync.after_mark",
    "sink.after_pending",
    "sink.before_finish",
    "compact.after_file",
    "compact.after_swap",
    "trim.after_catalog",
)
"""Every run comes by here."""
RARE = (
    "rebuild.after_step",
    "rebuild.after_commit",
    "snapshot.after_begin",
    "snapshot.before_finish",
    "snapshot.after_finish",
    "move.before_finish",
)
"""Only where state was lost, a global snapshot is taken, or a vertex moves."""

_wanted: str | None = None
_left = 0
_gently = False


class Crash(BaseException):
    """In place of a kill, for a test that goes on in the same process: nothing catches it on its way."""


def arm(wanted: str | None, gently: bool = False) -> None:
    """``name:3`` from now on, or nothing. ``gently`` raises ``Crash`` there, once."""
    global _wanted, _left, _gently
    _wanted, _left, _gently = None, 0, gently
    if wanted:
        _wanted, visit = wanted.split(":")
        _left = int(visit)
        assert _wanted in PLACES + RARE


def reach(place: str) -> None:
    global _left
    if _wanted is None:
        return
    assert place in PLACES + RARE
    if _wanted == place:
        _left -= 1
        if _left == 0:
            if _gently:
                arm(None)
                raise Crash(place)
            os.kill(os.getpid(), signal.SIGKILL)


arm(os.environ.get("WATERCLOCK_CRASH"))
