"""An app without input: how many Spark jobs and how much CPU does it take?"""

from __future__ import annotations

import time

import psutil

from bench.common import arguments, say
from bench.latency_waterclock import declare


def jobs() -> int:
    """All jobs that this context's scheduler has ever been given."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    assert context is not None
    return int(context._jsc.sc().dagScheduler().numTotalJobs())


def cpu() -> float:
    me = psutil.Process()
    return float(sum(p.cpu_times().user + p.cpu_times().system for p in [me, *me.children(recursive=True)]))


def main() -> None:
    given = arguments()
    app, lines = declare(given["store"], "window")
    handle = app.run(mode="live")
    lines.push([{"ts": "2026-01-01T00:00:00Z", "key": 1, "text": "one"}])  # it does run jobs when there is input
    time.sleep(2.0)
    epochs, before, used = handle.status().vertices[0].epoch, jobs(), cpu()
    time.sleep(given["seconds"])
    after = handle.status().vertices[0].epoch
    say("result", before=before, jobs=jobs() - before, epochs=after - epochs, cpu=cpu() - used)
    handle.stop()


if __name__ == "__main__":
    main()
