"""One query of the temporal algebra on Waterclock: drains the files in place, output kept as a stream of the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import waterclock as wc
from bench.common import MASTER, arguments, say
from bench.drain import drain
from bench.expected import SLACK

Given = dict[str, Any]


def _hopping(streams: list[wc.Stream], given: Given) -> wc.Stream:
    buckets = streams[0].select(bucket=wc.col("key") % given["keys"])
    windows = buckets.group_by("bucket").hopping(f"{2 * given['hop']}us", f"{given['hop']}us", result="window")
    return windows.agg(n=wc.count())


def _values(streams: list[wc.Stream], given: Given) -> wc.Stream:
    left, right = (stream.select("key", "value") for stream in streams)
    return left.join(right, on="key")


def _payloads(stream: wc.Stream) -> wc.Stream:
    """A result has both payloads and the common lifetime, as in the other engine's query."""
    return stream.select("key", "payload")


QUERIES: dict[str, Callable[[list[wc.Stream], Given], wc.Stream]] = {
    "join": lambda streams, given: _payloads(streams[0]).join(_payloads(streams[1]), on="key"),
    "join of values": _values,
    "anti join": lambda streams, given: streams[0].anti_join(streams[1].select("key"), on="key"),
    "clip join": lambda streams, given: streams[0].clip_join(streams[1].select("key"), on="key"),
    "snapshot": lambda streams, given: (
        streams[0].group_by("key").sliding(f"{given['size']}us").agg(n=wc.count(), total=wc.sum(wc.col("value")))
    ),
    "session": lambda streams, given: (
        streams[0].group_by("key").session(f"{given['timeout']}us").agg(n=wc.count(), total=wc.sum(wc.col("value")))
    ),
    "hopping": _hopping,
}
SCHEMAS: dict[str, dict[str, object]] = {
    "events": {"key": int, "ts": "timestamp", "value": int, "payload": str},
    "pairs": {"key": int, "ts": "timestamp", "payload": str},
}


def declare(given: Given) -> wc.App:
    app = wc.App("algebra", given["store"], master=MASTER, epoch_rows=given["epoch_rows"])
    streams: list[wc.Stream] = [
        app.stream(
            f"in{number}", SCHEMAS[given["schema"]], time="ts", source=wc.files(files), slack=f"{SLACK}us",
            duration=None if life is None else f"{life}us",
        )
        for number, (files, life) in enumerate(given["inputs"])
    ]  # fmt: skip
    QUERIES[given["query"]](streams, given["options"]).into("out")
    return app


def main() -> None:
    given = arguments()
    say("result", **drain(declare(given), Path(given["log"])))


if __name__ == "__main__":
    main()
