"""Drains a Waterclock app while another process watches its commits: what the children of the benchmarks share."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import waterclock as wc
from bench.common import hear, start
from bench.watch import VERTEX
from waterclock.catalog import Catalog


def drain(app: wc.App, log: Path, vertex: str = VERTEX) -> dict[str, Any]:
    """Runs the app until its input is used up; gives what was seen from outside and what the app says of itself."""
    Catalog.open(app.store, create=True).close()
    watcher = start("bench.watch", {"store": app.store, "what": "commits", "pause": 0.02, "vertex": vertex}, log)
    hear(watcher, "ready")
    before = time.time()
    handle = app.run(mode="drain")
    ready = time.time()
    handle.wait()
    ended = time.time()
    watcher.stdin.write("stop\n")  # type: ignore[union-attr]
    watcher.stdin.flush()  # type: ignore[union-attr]
    seen = hear(watcher, "commits")
    watcher.wait()
    vertices = handle.status().vertices
    status = vertices[0]
    return {
        "commits": seen["commits"], "state": seen["state"], "started": seen["started"], "startup": ready - before,
        "ready": ready, "ended": ended, "sent_rows": sum(each.recent.sent_rows for each in vertices),
        "sent_bytes": sum(each.recent.sent_bytes for each in vertices),
        "epochs": status.epoch + 1, "overhead": status.recent.overhead,
        "latency": status.recent.epoch_seconds.median if status.recent.epoch_seconds else None,
    }  # fmt: skip
