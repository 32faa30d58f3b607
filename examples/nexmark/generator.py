"""The events of Nexmark: people register, open auctions and bid.

    python examples/nexmark/generator.py DATA --events 10000

writes DATA/person, DATA/auction and DATA/bid as Parquet files, and DATA/side_input.csv for query 13. Of every 50 events
one is a person, three are auctions and 46 are bids. Every value is a hash of the seed, the number of the event and
the field, so the same arguments give the same events, and any range of them can be made alone.

Against the Java generator: the identifier of a bidder is that of a person (there, it is shifted by 1000).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]

CYCLE, PERSONS, AUCTIONS = 50, 1, 3
FIRST_PERSON, FIRST_AUCTION, FIRST_CATEGORY, CATEGORIES = 1000, 1000, 10, 5
ACTIVE_PEOPLE, ACTIVE_AUCTIONS, AHEAD, HOT = 1000, 100, 10, 100
CHANNELS = 10_000
HOT_CHANNELS = ["Google", "Facebook", "Baidu", "Apple"]
FIRST_NAMES = "Peter Paul Luke John Saul Vicky Kate Julie Sarah Deiter Walter".split()
LAST_NAMES = "Shultz Abrams Spencer White Bartels Walton Smith Jones Noris".split()
STATES = "AZ CA ID OR WA WY".split()
CITIES = [
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne",
]  # fmt: skip
DAY = 1_436_918_400_000
"""2015-07-15 in milliseconds."""


@dataclass(frozen=True)
class Events:
    """Which events: ``rate`` per second from ``base`` on, shuffled in groups of ``disorder`` (1: in order)."""

    rate: float = 100.0
    seed: int = 1
    disorder: int = 1
    base: int = DAY

    def time(self, ids: Ints) -> Ints:
        """Milliseconds since 1970."""
        micros: Ints = np.floor(ids * (1e6 / self.rate)).astype(np.int64)
        return self.base + micros // 1000

    def make(self, start: int, stop: int) -> dict[str, pl.DataFrame]:
        """The events number start to stop (without it), in the order in which they come."""
        numbers = np.arange(start, stop, dtype=np.int64)
        ids = numbers // self.disorder * self.disorder + numbers * 953 % self.disorder
        place = ids % CYCLE
        kinds = {
            "person": ids[place < PERSONS],
            "auction": ids[(place >= PERSONS) & (place < PERSONS + AUCTIONS)],
            "bid": ids[place >= PERSONS + AUCTIONS],
        }
        makers = {"person": persons, "auction": auctions, "bid": bids}
        return {kind: makers[kind](self, chosen) for kind, chosen in kinds.items()}


class Draws:
    """Random values for events, each from a hash of the seed, the event and the number of the draw."""

    def __init__(self, seed: int, ids: Ints) -> None:
        self.ids = ids
        self.seed = seed
        self.drawn = 0

    def _key(self) -> NDArray[np.uint64]:
        self.drawn += 1
        return _mixed(self.ids.astype(np.uint64) ^ _mixed(np.array([self.seed * 1_000 + self.drawn], dtype=np.uint64)))

    def uniform(self) -> NDArray[np.float64]:
        return (self._key() >> np.uint64(11)).astype(np.float64) / 2.0**53

    def below(self, bound: Ints | int) -> Ints:
        return np.floor(self.uniform() * bound).astype(np.int64)

    def price(self) -> Ints:
        """From 100 to 100,000,000, its logarithm uniform."""
        return np.round(10.0 ** (6 * self.uniform()) * 100).astype(np.int64)

    def hot(self, ratio: int) -> NDArray[np.bool_]:
        return self.below(ratio) > 0

    def choice(self, values: list[str]) -> pl.Series:
        return pl.Series(values).gather(pl.Series(self.below(len(values))))

    def word(self, limit: int, blank: str = " ") -> pl.Series:
        """Three letters or more, fewer than ``limit``."""
        return self.text(3 + self.below(limit - 3), blank)

    def text(self, lengths: Ints, blank: str = " ") -> pl.Series:
        """Letters, every thirteenth or so a blank."""
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        places = np.arange(offsets[-1], dtype=np.uint64) - np.repeat(offsets[:-1], lengths).astype(np.uint64)
        random = _mixed(np.repeat(self._key(), lengths) + places)
        letters = np.where(
            random % np.uint64(13) == 0, ord(blank), ord("a") + (random >> np.uint64(32)) % np.uint64(26)
        )
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters.astype(np.uint8))]
        return _series(pa.Array.from_buffers(pa.string(), len(lengths), buffers))

    def extra(self, average: int, used: Ints) -> pl.Series:
        """What is missing to ``average`` bytes in a row, give or take a fifth."""
        missing = np.maximum(average - used, 0)
        fifth = np.round(missing * 0.2).astype(np.int64)
        return self.text(missing - fifth + self.below(2 * fifth))


def persons(events: Events, ids: Ints) -> pl.DataFrame:
    draws = Draws(events.seed, ids)
    cards = [draws.below(10_000) for _ in range(4)]
    rows = pl.DataFrame(
        {
            "id": FIRST_PERSON + _last_person(ids),
            "name": draws.choice(FIRST_NAMES) + " " + draws.choice(LAST_NAMES),
            "emailAddress": draws.word(7) + "@" + draws.word(5) + ".com",
            "creditCard": _joined([pl.Series(card).cast(pl.String).str.zfill(4) for card in cards]),
            "city": draws.choice(CITIES),
            "state": draws.choice(STATES),
            "dateTime": _moments(events.time(ids)),
        }
    )
    texts = _joined([rows[name] for name in ("name", "emailAddress", "creditCard", "city", "state")], "")
    return rows.with_columns(extra=draws.extra(200, 8 + _lengths(texts)))


def auctions(events: Events, ids: Ints) -> pl.DataFrame:
    draws = Draws(events.seed, ids)
    time = events.time(ids)
    horizon = events.time(ids + ACTIVE_AUCTIONS * CYCLE // AUCTIONS) - time
    first_bid = draws.price()
    last = _last_person(ids)
    seller = np.where(draws.hot(4), last // HOT * HOT, _some_person(draws, last))
    rows = pl.DataFrame(
        {
            "id": FIRST_AUCTION + _last_auction(ids),
            "itemName": draws.word(20),
            "description": draws.word(100),
            "initialBid": first_bid,
            "reserve": first_bid + draws.price(),
            "dateTime": _moments(time),
            "expires": _moments(time + 1 + draws.below(np.maximum(2 * horizon, 1))),
            "seller": FIRST_PERSON + seller,
            "category": FIRST_CATEGORY + draws.below(CATEGORIES),
        }
    )
    used = 7 * 8 + _lengths(rows["itemName"]) + _lengths(rows["description"])
    return rows.with_columns(extra=draws.extra(500, used))


def bids(events: Events, ids: Ints) -> pl.DataFrame:
    draws = Draws(events.seed, ids)
    last_auction, last_person = _last_auction(ids), _last_person(ids)
    least = np.maximum(last_auction - ACTIVE_AUCTIONS, 0)
    some_auction = least + draws.below(last_auction - least + 1 + AHEAD)
    auction = np.where(draws.hot(2), last_auction // HOT * HOT, some_auction)
    bidder = np.where(draws.hot(4), last_person // HOT * HOT + 1, _some_person(draws, last_person))
    hot, hot_channel, channel = draws.hot(2), draws.below(len(HOT_CHANNELS)), draws.below(CHANNELS)
    rows = pl.DataFrame(
        {
            "auction": FIRST_AUCTION + auction,
            "bidder": FIRST_PERSON + bidder,
            "price": draws.price(),
            "number": np.where(hot, CHANNELS + hot_channel, channel),
        }
    )
    rows = rows.join(_channels(events.seed), on="number", how="left", maintain_order="left").drop("number")
    return rows.with_columns(
        _moments(events.time(ids)).alias("dateTime"), extra=draws.extra(100, np.full(len(ids), 32, dtype=np.int64))
    )


def side_input() -> pl.DataFrame:
    """What query 13 joins bids with."""
    return pl.DataFrame({"key": range(10_000), "value": [str(number) for number in range(10_000)]})


def write(folder: Path, events: Events, count: int, part: int = 100_000) -> None:
    """The first ``count`` events, a file of each kind for every ``part`` of them."""
    for kind in ("person", "auction", "bid"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, count, part)):
        for kind, rows in events.make(start, min(start + part, count)).items():
            rows.write_parquet(folder / kind / f"{number:06}.parquet")
    side_input().write_csv(folder / "side_input.csv")


def _channels(seed: int) -> pl.DataFrame:
    """Every channel with its address; nine tenths of the cold ones carry an identifier in it."""
    numbers = np.arange(CHANNELS + len(HOT_CHANNELS), dtype=np.int64)
    draws = Draws(seed + 1, numbers)
    names = pl.Series([f"channel-{number}" for number in range(CHANNELS)] + HOT_CHANNELS)
    words = [draws.word(5, "_") for _ in range(3)]
    address = "https://www.nexmark.com/" + _joined(words, "/") + "/item.htm?query=1"
    with_id = address + "&channel_id=" + pl.Series(np.abs(_reversed_bits(numbers))).cast(pl.String)
    marked = pl.Series(draws.hot(10) & (numbers < CHANNELS))
    return pl.DataFrame({"number": numbers, "channel": names, "url": with_id.zip_with(marked, address)})


def _last_person(ids: Ints) -> Ints:
    """The number, from 0, of the last person at an event."""
    return ids // CYCLE


def _last_auction(ids: Ints) -> Ints:
    return ids // CYCLE * AUCTIONS + np.clip(ids % CYCLE - PERSONS, -1, AUCTIONS - 1)


def _some_person(draws: Draws, last: Ints) -> Ints:
    """One of the active people, or one that registers soon."""
    active = np.minimum(last + 1, ACTIVE_PEOPLE)
    return last + 1 - active + draws.below(active + AHEAD)


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _reversed_bits(numbers: Ints) -> Ints:
    """The 32 bits of a number from the last to the first, as a signed number."""
    bits = np.unpackbits(numbers.astype(">u4").view(np.uint8).reshape(-1, 4), axis=1)[:, ::-1]
    return np.packbits(bits, axis=1).view(">i4").reshape(-1).astype(np.int64)


def _moments(milliseconds: Ints) -> pl.Series:
    return pl.Series(milliseconds * 1000).cast(pl.Datetime("us", "UTC"))


def _joined(parts: list[pl.Series], separator: str = " ") -> pl.Series:
    return pl.select(pl.concat_str(parts, separator=separator)).to_series()


def _lengths(texts: pl.Series) -> Ints:
    return texts.str.len_bytes().cast(pl.Int64).to_numpy()


def _series(array: Any) -> pl.Series:
    series = pl.from_arrow(array)
    assert isinstance(series, pl.Series)
    return series


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=100.0, help="events per second of their own time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--disorder", type=int, default=1, help="events come shuffled in groups of so many")
    parser.add_argument("--part", type=int, default=100_000, help="events in a file")
    given = parser.parse_args()
    write(given.data, Events(given.rate, given.seed, given.disorder), given.events, given.part)
