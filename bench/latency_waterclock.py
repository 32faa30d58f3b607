"""Grep and windowed count on Waterclock, live: rows are pushed durably, results read by another process."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import waterclock as wc
from bench.common import MASTER, arguments, hear, say, start
from bench.data import NEEDLE, Load, records
from bench.sender import pace, push_sender


def declare(store: str, workload: str) -> tuple[wc.App, wc.SourceStream]:
    app = wc.App("latency", store, master=MASTER)
    lines = app.stream("lines", {"ts": "timestamp", "key": int, "text": str}, time="ts")
    if workload == "grep":
        lines.filter(wc.col("text").contains(NEEDLE)).into("out")
    else:
        lines.group_by("key").tumbling("1s").agg(n=wc.count()).into("out")
    return app, lines


def next_start() -> int:
    """A whole second, far enough ahead that the sender can make its records."""
    return (int(time.time()) + 7) * 1000


def main() -> None:
    given = arguments()
    load, store, log = Load(**given["load"]), given["store"], Path(given["log"])
    app, lines = declare(store, given["workload"])
    handle = app.run(mode="live")
    sender = None
    if given["sender"] == "process":
        asked = {"how": "push", "store": store, "workload": given["workload"], "load": given["load"]}
        sender = start("bench.sender", asked, log)
        hear(sender, "ready")
    start_ms = next_start()
    deadline = start_ms / 1000 + load.seconds + given["patience"]
    watcher = start(
        "bench.watch",
        {"store": store, "what": "rows", "wanted": given["wanted"], "deadline": deadline, "pause": 0.002,
         "target": given["target"]},
        log,
    )  # fmt: skip
    figures: dict[str, Any] = {}
    if sender is not None:
        sender.stdin.write(f"{start_ms}\n")  # type: ignore[union-attr]
        sender.stdin.flush()  # type: ignore[union-attr]
        figures = hear(sender, "sent")
        sender.wait()
    else:
        send = push_sender(lines, load, records(load, start_ms))
        thread = threading.Thread(target=lambda: figures.update(pace(load, start_ms, 1, send)), name="sender")
        thread.start()
        thread.join()
        if not figures:
            raise RuntimeError("the sender failed")
    status = handle.status()
    hear(watcher, "rows")
    watcher.wait()
    handle.stop()
    vertex = status.vertices[0]
    took = vertex.recent.epoch_seconds
    say(
        "result", start_ms=start_ms, sender=figures, epochs=vertex.epoch + 1, overhead=vertex.recent.overhead,
        latency=took.median if took else None,
    )  # fmt: skip


if __name__ == "__main__":
    main()
