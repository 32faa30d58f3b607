"""One program with or without the optimizer: drains the files, outputs kept as streams of the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import waterclock as wc
from bench.common import MASTER, arguments, say
from bench.drain import drain

STREAM = """
CREATE STREAM {name} (key BIGINT, ts TIMESTAMP, value BIGINT, payload STRING)
  LIFETIME (ts, ts + 500ms)
  WATERMARK ts - 1s
  FROM files(:{name});
"""
PROGRAMS = {
    "filter above a join": """
pairs = SELECT a.key, a.value AS one, b.value AS other, a.payload FROM a JOIN b ON a.key = b.key;
out = SELECT * FROM pairs WHERE one < 100000 AND other >= 500000;
OUTPUT out;
""",
    "wide rows, few columns": """
pairs = SELECT a.*, b.value AS other, b.payload AS theirs FROM a JOIN b ON a.key = b.key;
out = SELECT key, value + other AS total FROM pairs;
OUTPUT out;
""",
    "two queries on one sub-plan": """
sums = SELECT key, COUNT(*) AS n, SUM(value) AS total FROM a GROUP BY key WITH SNAPSHOT;
out = SELECT key, total FROM sums WHERE n > 1;
more = SELECT key, n FROM sums WHERE total > 900000;
OUTPUT out;
OUTPUT more;
""",
    "three steps on one key": """
busy = SELECT key, COUNT(*) AS n FROM a GROUP BY key WITH TUMBLING(1s);
met = SELECT busy.key, n, b.value FROM busy JOIN b ON busy.key = b.key;
out = SELECT key, SUM(n * value) AS weight FROM met GROUP BY key WITH TUMBLING(5s);
OUTPUT out;
""",
    "filter on keys above a window, constants": """
sums = SELECT key, COUNT(*) AS n, SUM(value * (3 - 1)) AS total FROM a GROUP BY key WITH HOPPING(10s, 5s);
out = SELECT key, n, total FROM sums WHERE key < 50 + 50 AND 1 = 1;
OUTPUT out;
""",
}


def inputs(program: str) -> list[str]:
    return ["a", "b"] if "JOIN b" in PROGRAMS[program] else ["a"]


def outputs(program: str) -> list[str]:
    return ["out", "more"] if "OUTPUT more" in PROGRAMS[program] else ["out"]


def declare(given: dict[str, Any]) -> wc.App:
    names = inputs(given["program"])
    text = "".join(STREAM.format(name=name) for name in names) + PROGRAMS[given["program"]]
    params = {name: given["files"][name] for name in names}
    options = {"store": given["store"], "epoch_rows": given["epoch_rows"], "master": MASTER}
    return wc.sql(text, params, name="optimizer", **options, optimize=given["optimize"])


def main() -> None:
    given = arguments()
    say("result", **drain(declare(given), Path(given["log"])))


if __name__ == "__main__":
    main()
