"""The level of each sensor, smoothed: the estimate for the next minute is made of the one before and what was measured.

A cycle: an estimate holds for a minute, meets the mean of that minute, and gives the estimate of the next.
Run it with ``python examples/feedback_estimate.py``.
"""

from __future__ import annotations

import tempfile

import waterclock as wc

app = wc.App("feedback-estimate", tempfile.mkdtemp())
readings = app.stream("readings", {"sensor": str, "value": float, "at": "timestamp"}, time="at")
begin = app.stream("begin", {"sensor": str, "level": float, "at": "timestamp"}, time="at", duration="1m")

measured = readings.group_by("sensor").tumbling("1m").agg(mean=wc.avg("value"))


def smoothed(loop: wc.Stream) -> wc.Stream:
    level = wc.col("level") * 0.8 + wc.col("mean") * 0.2
    return loop.join(measured, on="sensor").select("sensor", level=level).shift("1m")


estimates = begin.select("sensor", "level").iterate(smoothed, name="estimates")
found: list[dict[str, object]] = []
compared = estimates.join(measured, on="sensor").select("sensor", "level", "mean", at=wc.start())
compared.to(wc.callback(lambda epoch, rows: found.extend(rows.to_dicts())), name="compared")

NOON = 1_794_830_400_000_000  # 2026-11-16T12:00:00Z
MINUTE = 60_000_000
begin.push([{"sensor": "boiler", "level": 60.0, "at": NOON}, {"sensor": "pump", "level": 3.0, "at": NOON}])
for minute in range(10):
    at = [NOON + minute * MINUTE + second * 1_000_000 for second in (0, 20, 40)]
    heat = 60.0 if minute < 3 else 90.0  # a step, which the estimate follows
    readings.push([{"sensor": "boiler", "value": heat + n, "at": t} for n, t in zip((-1.0, 0.0, 1.0), at, strict=True)])
    readings.push([{"sensor": "pump", "value": 3.0 + minute % 2, "at": at[-1]}])
begin.end()
readings.end()
app.run(mode="offline")

for row in sorted(found, key=lambda row: (str(row["sensor"]), str(row["at"]))):
    print(f"{row['at']:%H:%M}  {row['sensor']:<6}  measured {row['mean']:6.2f}  estimate {row['level']:6.2f}")
