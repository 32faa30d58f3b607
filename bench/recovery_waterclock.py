"""The join of the recovery benchmark on Waterclock, live, until it is killed: one driver of it."""

from __future__ import annotations

from collections.abc import Sequence

import waterclock as wc
from bench.common import MASTER, arguments, say

STRATEGIES = {"checkpoint": wc.checkpoint(), "replay": wc.replay(), "replicate": wc.replicate(2)}


def declare(store: str, lives: Sequence[int], strategy: str) -> tuple[wc.App, list[wc.SourceStream]]:
    app = wc.App("recovery", store, master=MASTER)
    left, right = (
        app.stream(name, {"key": int, "ts": "timestamp", "payload": str}, time="ts", duration=f"{life}s")
        for name, life in zip(("left", "right"), lives, strict=True)
    )
    left.join(right, on="key").into("out", recovery=STRATEGIES[strategy])
    return app, [left, right]


def main() -> None:
    given = arguments()
    app, _ = declare(given["store"], given["lives"], given["strategy"])
    handle = app.run(mode="live", standby=given["standby"], driver=given["driver"])
    say("ready")
    handle.wait()


if __name__ == "__main__":
    main()
