"""The answers to the queries of Nexmark, by plain loops over lists of dicts. Times are microseconds.

An answer is a list of tuples: start, end, and the columns of the query in their order. This module knows nothing of
Waterclock.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

Row = dict[str, Any]
Answer = list[tuple[Any, ...]]

SECOND = 1_000_000
DAY = 86_400 * SECOND
FOREVER = 2**63 - 1


class Data:
    """The files of the generator as rows."""

    def __init__(self, folder: Path) -> None:
        self.persons, self.auctions, self.bids = (_rows(folder / kind) for kind in ("person", "auction", "bid"))
        self.side = dict(pl.read_csv(folder / "side_input.csv", schema={"key": pl.Int64, "value": pl.String}).rows())


def _rows(folder: Path) -> list[Row]:
    frame = pl.concat([pl.read_parquet(file) for file in sorted(folder.glob("*.parquet"))])
    return frame.with_columns(pl.selectors.datetime().dt.epoch("us")).to_dicts()


def point(row: Row, *values: Any) -> tuple[Any, ...]:
    return (row["dateTime"], row["dateTime"] + 1, *values)


def window(time: int, size: int) -> int:
    return time // size * size


def by(rows: Iterable[Row], *columns: str) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[column] for column in columns) if len(columns) > 1 else row[columns[0]]].append(row)
    return groups


def q0(data: Data) -> Answer:
    return [point(b, b["auction"], b["bidder"], b["price"], b["dateTime"], b["extra"]) for b in data.bids]


def q1(data: Data) -> Answer:
    return [point(b, b["auction"], b["bidder"], 0.908 * b["price"], b["dateTime"], b["extra"]) for b in data.bids]


def q2(data: Data) -> Answer:
    return [point(b, b["auction"], b["price"]) for b in data.bids if b["auction"] % 123 == 0]


def q3(data: Data) -> Answer:
    people = {p["id"]: p for p in data.persons if p["state"] in ("OR", "ID", "CA")}
    found = []
    for a in data.auctions:
        p = people.get(a["seller"])
        if p is not None and a["category"] == 10:
            found.append((max(a["dateTime"], p["dateTime"]), FOREVER, p["name"], p["city"], p["state"], a["id"]))
    return found


def winners(data: Data) -> list[tuple[Row, Row]]:
    """Auctions with their best bids, of which the first in time."""
    bids = by(data.bids, "auction")
    found = []
    for a in data.auctions:
        taken = [
            b for b in bids[a["id"]] if a["dateTime"] <= b["dateTime"] < a["expires"] and b["price"] >= a["reserve"]
        ]
        best = min(((-b["price"], b["dateTime"]) for b in taken), default=None)
        found += [(a, b) for b in taken if (-b["price"], b["dateTime"]) == best]
    return found


def q4(data: Data) -> Answer:
    finals: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    for a, b in winners(data):
        finals[a["category"]][a["id"]] = (a["expires"], b["price"])
    found = []
    for category, closed in finals.items():
        moments = sorted({expires for expires, _ in closed.values()})
        for start, end in zip(moments, [*moments[1:], FOREVER], strict=True):
            prices = [price for expires, price in closed.values() if expires <= start]
            found.append((start, end, category, sum(prices) / len(prices)))
    return found


def q5(data: Data) -> Answer:
    counts: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for b in data.bids:
        last = window(b["dateTime"], 2 * SECOND)
        for start in range(last - 8 * SECOND, last + 1, 2 * SECOND):
            counts[start][b["auction"]] += 1
    found = []
    for start, auctions in counts.items():
        end, most = start + 10 * SECOND, max(auctions.values())
        found += [(end, end + 2 * SECOND, auction, n, start, end) for auction, n in auctions.items() if n == most]
    return found


def q7(data: Data) -> Answer:
    windows: dict[int, list[Row]] = defaultdict(list)
    for b in data.bids:
        windows[window(b["dateTime"], 10 * SECOND)].append(b)
    found = []
    for start, bids in windows.items():
        most = max(b["price"] for b in bids)
        for b in bids:
            if b["price"] == most:
                values = (b["auction"], b["price"], b["bidder"], b["dateTime"], b["extra"])
                found.append((start, start + 10 * SECOND, *values))
    return found


def q8(data: Data) -> Answer:
    opened = {(a["seller"], window(a["dateTime"], 10 * SECOND)) for a in data.auctions}
    found = []
    for p in data.persons:
        start = window(p["dateTime"], 10 * SECOND)
        if (p["id"], start) in opened:
            found.append((start, start + 10 * SECOND, p["id"], p["name"], start, start + 10 * SECOND))
    return found


def q9(data: Data) -> Answer:
    columns = ("auction", "bidder", "price", "dateTime", "extra")
    return [(a["expires"], a["expires"] + 1, *a.values(), *(b[column] for column in columns)) for a, b in winners(data)]


def q11(data: Data) -> Answer:
    found = []
    for bidder, bids in by(data.bids, "bidder").items():
        sessions: list[list[int]] = []
        for time in sorted(b["dateTime"] for b in bids):
            if sessions and time < sessions[-1][-1] + 10 * SECOND:
                sessions[-1].append(time)
            else:
                sessions.append([time])
        for times in sessions:
            start, end = times[0], times[-1] + 10 * SECOND
            found.append((start, end, bidder, len(times), start, end))
    return found


def q13(data: Data) -> Answer:
    return [
        point(b, b["auction"], b["bidder"], b["price"], b["dateTime"], data.side[b["auction"] % 10_000])
        for b in data.bids
        if b["auction"] % 10_000 in data.side
    ]


def q14(data: Data) -> Answer:
    found = []
    for b in data.bids:
        price, hour = 0.908 * b["price"], utc(b["dateTime"]).hour
        kind = "dayTime" if 8 <= hour <= 18 else "nightTime" if hour <= 6 or hour >= 20 else "otherTime"
        if 1_000_000 < price < 50_000_000:
            values = (b["auction"], b["bidder"], price, kind, b["dateTime"], b["extra"], b["extra"].count("c"))
            found.append(point(b, *values))
    return found


def utc(micros: int) -> datetime:
    return datetime.fromtimestamp(micros // SECOND, UTC)


def ranks(bids: list[Row]) -> list[list[Row]]:
    """All bids, and those of each rank of price."""
    borders = ((0, FOREVER), (0, 10_000), (10_000, 1_000_000), (1_000_000, FOREVER))
    return [[b for b in bids if low <= b["price"] < high] for low, high in borders]


def numbers(bids: list[Row]) -> list[int]:
    parts = ranks(bids)
    distinct = [len({b[column] for b in part}) for column in ("bidder", "auction") for part in parts]
    return [len(part) for part in parts] + distinct


def days(bids: list[Row]) -> list[tuple[tuple[int, int], str, list[Row]]]:
    groups: dict[int, list[Row]] = defaultdict(list)
    for b in bids:
        groups[window(b["dateTime"], DAY)].append(b)
    return [((start, start + DAY), f"{utc(start):%Y-%m-%d}", bids) for start, bids in groups.items()]


def q15(data: Data) -> Answer:
    return [(*life, day, *numbers(bids)) for life, day, bids in days(data.bids)]


def q16(data: Data) -> Answer:
    return [
        (*life, channel, day, max(f"{utc(b['dateTime']):%H:%M}" for b in bids), *numbers(bids))
        for channel, of_channel in by(data.bids, "channel").items()
        for life, day, bids in days(of_channel)
    ]


def q17(data: Data) -> Answer:
    found = []
    for auction, of_auction in by(data.bids, "auction").items():
        for life, day, bids in days(of_auction):
            prices = [b["price"] for b in bids]
            figures = (min(prices), max(prices), sum(prices) / len(prices), sum(prices))
            found.append((*life, auction, day, *(len(part) for part in ranks(bids)), *figures))
    return found


def q18(data: Data) -> Answer:
    found = []
    for bids in by(data.bids, "bidder", "auction").values():
        for b in bids:
            later = [other["dateTime"] for other in bids if other["dateTime"] > b["dateTime"]]
            found.append((b["dateTime"], min(later, default=FOREVER), *b.values()))
    return found


def q20(data: Data) -> Answer:
    auctions = {a["id"]: a for a in data.auctions if a["category"] == 10}
    found = []
    for b in data.bids:
        a = auctions.get(b["auction"])
        if a is not None:
            of_auction = {name: value for name, value in a.items() if name != "id"}
            found.append((max(a["dateTime"], b["dateTime"]), FOREVER, *b.values(), *of_auction.values()))
    return found


def q21(data: Data) -> Answer:
    known = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    found = []
    for b in data.bids:
        match = re.search("(&|^)channel_id=([^&]*)", b["url"])
        channel_id = known.get(b["channel"].lower()) or (match and match[2])
        if channel_id:
            found.append(point(b, b["auction"], b["bidder"], b["price"], b["channel"], channel_id))
    return found


def q22(data: Data) -> Answer:
    return [point(b, b["auction"], b["bidder"], b["price"], b["channel"], *b["url"].split("/")[3:6]) for b in data.bids]


ANSWERS: dict[str, Callable[[Data], Answer]] = {
    answer.__name__: answer
    for answer in (q0, q1, q2, q3, q4, q5, q7, q8, q9, q11, q13, q14, q15, q16, q17, q18, q20, q21, q22)
}
