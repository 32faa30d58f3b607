"""Six operators with three exchanges and large state, drained, with snapshots of both kinds."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import waterclock as wc
from bench.common import MASTER, arguments, say
from bench.drain import drain
from bench.expected import SLACK
from waterclock.catalog import Catalog
from waterclock.runtime.vertex import VertexWorker

APP = "snapshots"
VERTICES = ("joined", "summed", "out")
LOOK = 0.25
"""Seconds between looks at the size of the state."""


def declare(given: dict[str, Any]) -> wc.App:
    """Each output is a vertex, so that barriers travel through all three."""
    wanted = wc.Snapshots(every=given["every"]) if given["every"] is not None else None
    app = wc.App(APP, given["store"], master=MASTER, epoch_rows=given["epoch_rows"], snapshots=wanted)
    schema: dict[str, object] = {"key": int, "ts": "timestamp", "payload": str}
    left, right = (
        app.stream(f"in{number}", schema, time="ts", source=wc.files(files), slack=f"{SLACK}us", duration=f"{life}s")
        for number, (files, life) in enumerate(zip(given["inputs"], given["lives"], strict=True))
    )
    never = wc.checkpoint("1h")  # only snapshots make state durable
    joined = left.join(right.select("key"), on="key")
    joined.select(group=wc.col("key") % given["groups"], size=wc.col("payload").length()).into("joined", recovery=never)
    summed = app.read("joined").group_by("group").tumbling(f"{given['window']}s").agg(n=wc.count(), size=wc.sum("size"))
    summed.into("summed", recovery=never)
    few = app.read("summed").select("n", "size", few=wc.col("group") % 100)
    few.group_by("few").tumbling(f"{given['window']}s").agg(groups=wc.count(), n=wc.sum("n")).into(
        "out", recovery=never
    )
    return app


def stop_the_world() -> None:
    """As Naiad's snapshots: who stands at a barrier takes no more until everybody does and all of it is synced."""
    turn = VertexWorker.turn

    def turn_or_wait(self: VertexWorker) -> bool:
        if any(self.vertex in each.parts for each in self.store.catalog.snapshots.pending(APP)):
            time.sleep(0.001)
            return False
        return turn(self)

    VertexWorker.turn = turn_or_wait  # type: ignore[method-assign]


class Largest(threading.Thread):
    """Looks at the bytes of live state now and then."""

    def __init__(self, store: str) -> None:
        super().__init__(daemon=True)
        self._store = store
        self._over = threading.Event()
        self.bytes = 0

    def run(self) -> None:
        catalog = Catalog.open(self._store, create=True)
        while not self._over.wait(LOOK):
            self.bytes = max(self.bytes, sum(catalog.epochs.state_size(vertex)[2] for vertex in VERTICES))
        catalog.close()

    def end(self) -> int:
        self._over.set()
        self.join()
        return self.bytes


def main() -> None:
    given = arguments()
    if given["synchronous"]:
        stop_the_world()
    app = declare(given)
    largest = Largest(given["store"])
    largest.start()
    found = drain(app, Path(given["log"]))
    state = largest.end()
    catalog = Catalog.open(given["store"])
    taken = catalog.snapshots.of(APP)
    say(
        "result", seconds=found["commits"][-1][0] - found["ready"], state=state,
        snapshots=max((each.id for each in taken), default=0), rows=catalog.streams.get("out").next,
        waits=[(each.finished - each.requested) / 1e6 for each in taken if each.finished is not None],
    )  # fmt: skip
    catalog.close()


if __name__ == "__main__":
    main()
