"""An alert on an account spreads along its transfers: who got money from a suspect within five minutes is one too.

A cycle: what is found is looked at again, a minute later, until no transfer leads on.
Run it with ``python examples/transitive_alerts.py``.
"""

from __future__ import annotations

import tempfile

import waterclock as wc

app = wc.App("transitive-alerts", tempfile.mkdtemp())
reports = app.stream("reports", {"account": str, "at": "timestamp"}, time="at")
transfers = app.stream("transfers", {"sender": str, "account": str, "at": "timestamp"}, time="at", duration="5m")


def spread(loop: wc.Stream) -> wc.Stream:
    """Along the transfers that are valid now; each account once, however many ways lead to it."""
    reached = loop.join(transfers, left_on="account", right_on="sender").select(
        account="account_right", hops=wc.col("hops") + 1, origin="origin"
    )
    return reached.distinct().shift("1m")


seeds = reports.select("account", hops=0, origin="account")
suspects = seeds.iterate(spread, name="suspects")
found: list[dict[str, object]] = []
suspects.select("account", "hops", "origin", at=wc.start()).to(
    wc.callback(lambda epoch, rows: found.extend(rows.to_dicts())), name="found"
)

DAY = "2026-11-16T"
transfers.push(
    [
        {"sender": "ann", "account": "bob", "at": f"{DAY}10:00:00Z"},
        {"sender": "bob", "account": "cem", "at": f"{DAY}10:01:00Z"},
        {"sender": "bob", "account": "dia", "at": f"{DAY}10:03:00Z"},
        {"sender": "cem", "account": "ann", "at": f"{DAY}10:04:00Z"},  # and so around, while transfers are valid
        {"sender": "dia", "account": "eve", "at": f"{DAY}10:30:00Z"},  # too late: dia is no suspect any more
    ]
)
reports.push([{"account": "ann", "at": f"{DAY}10:02:00Z"}])
reports.end()
transfers.end()
app.run(mode="offline")

for row in sorted(found, key=lambda row: (str(row["at"]), str(row["account"]))):
    print(f"{row['at']:%H:%M}  {row['account']}  {row['hops']} hops from {row['origin']}")
