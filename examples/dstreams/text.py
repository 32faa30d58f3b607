"""Lines of random text for the programs here, and how they are run.

    python examples/dstreams/text.py lines.jsonl --seconds 120

writes lines with their times. Common words are common: the second is half as frequent as the first, and so on.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable

import waterclock as wc

WORDS = "the of to be and a in that is it for on was as at not by he with his or are question nobler arms sea".split()
START = 1_767_607_200
"""2026-01-05T10:00:00Z in seconds."""


def lines(seconds: int, rate: int = 5, seed: int = 1) -> list[dict[str, object]]:
    """``rate`` lines a second, up to half a second out of order; times in microseconds."""
    chance = random.Random(seed)
    weights = [1 / (place + 1) for place in range(len(WORDS))]
    found: list[dict[str, object]] = []
    for number in range(seconds * rate):
        at = START * 1_000_000 + number * 1_000_000 // rate + chance.randrange(500_000)
        found.append({"ts": at, "text": " ".join(chance.choices(WORDS, weights, k=chance.randint(1, 8)))})
    return found


def run(program: Callable[[wc.DStream], wc.DStream], interval: str) -> None:
    """Runs a program over the file named on the command line, in this process, and prints its first results.

    Intervals are shown in seconds since the first line.
    """
    app = wc.App("dstreams", store=tempfile.mkdtemp(prefix="wc-dstreams-"))
    made = program(wc.dstream(stream(app, sys.argv[1]), interval))
    made.into("result")
    frame = app.run(mode="offline").frame("result")
    for row in frame.sort("_vs", "_ve", *made.schema.names).head(10).iter_rows(named=True):
        start, end = (row.pop(name) / 1_000_000 - START for name in ("_vs", "_ve"))
        print(f"[{start:g}, {end:g})", *(f"{name}={value}" for name, value in row.items()))


def stream(app: wc.App, file: str) -> wc.SourceStream:
    return app.stream("lines", {"ts": int, "text": str}, time="ts", slack="1s", source=wc.files(file))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--rate", type=int, default=5, help="lines a second")
    given = parser.parse_args()
    with open(given.file, "w") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines(given.seconds, given.rate))
