"""A stream of files, taken in by an app of its own: history to be asked."""

from __future__ import annotations

import waterclock as wc
from bench.common import arguments, say


def main() -> None:
    given = arguments()
    app = wc.App("archive", given["store"])
    schema: dict[str, object] = {"key": int, "ts": "timestamp", "value": int, "payload": str}
    files = wc.files(f"{given['files']}/in/*.parquet")
    archive = app.stream("archive", schema, time="ts", source=files, slack="2s")
    archive.filter(wc.col("value") < 0).into("none")
    app.run(mode="offline")
    say("result")


if __name__ == "__main__":
    main()
