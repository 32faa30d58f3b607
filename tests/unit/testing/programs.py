"""Small programs under test."""

from __future__ import annotations

import waterclock as wc

CLICKS = """
CREATE STREAM clicks (user STRING, amount BIGINT, ts TIMESTAMP)
  POINT AT ts
  WATERMARK ts - 2s IDLE AFTER 30s
  LATE DROP;

per_user =
SELECT user, COUNT(*) AS n, SUM(amount) AS total
FROM clicks
GROUP BY user
WITH TUMBLING(10s);

OUTPUT per_user TO jsonl('must-not-be-written.jsonl');
"""

STAYS = """
CREATE STREAM stays (guest STRING, room INT, since TIMESTAMP, until TIMESTAMP)
  LIFETIME (since, until)
  WATERMARK NONE;

CREATE STREAM alarms (room INT, kind STRING, ts TIMESTAMP)
  POINT AT ts
  WATERMARK NONE;

woken = SELECT guest, kind FROM stays INNER JOIN alarms ON stays.room == alarms.room;
taken = SELECT room, COUNT(*) AS guests FROM CLIP_DURATION(stays, 1d) GROUP BY room WITH SNAPSHOT;

OUTPUT woken;
OUTPUT taken;
"""


def clicks() -> wc.App:
    """The first of them in Python; it allows rows to be late and bad."""
    app = wc.App("clicks", "never-made")
    stream = app.stream(
        "clicks", {"user": str, "amount": int, "ts": "timestamp"}, time="ts", slack="2s", late="divert", on_bad="skip",
        source=wc.files("never-read/*.csv"),
    )  # fmt: skip
    stream.group_by("user").tumbling("10s").agg(n=wc.count(), total=wc.sum("amount")).into("per_user")
    return app
