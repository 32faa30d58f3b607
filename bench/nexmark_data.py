"""Input of the Nexmark benchmark: the files of examples/nexmark/generator.py, and the answers that only one engine has.

Event time crosses midnight three quarters of the way, so that the queries by day close a day.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bench.data import ROOT

sys.path.append(str(Path(__file__).parent.parent / "examples" / "nexmark"))

from generator import ACTIVE_AUCTIONS, AUCTIONS, CYCLE, DAY, PERSONS, Events, write

KINDS = ("person", "auction", "bid")
SHARES = {"person": PERSONS, "auction": AUCTIONS, "bid": CYCLE - PERSONS - AUCTIONS}
"""Of the events of a cycle."""
FOREVER = 2**63 - 1


@dataclass(frozen=True)
class House:
    """What the files hold: the first ``events`` events at ``rate`` a second, shuffled in groups of ``disorder``."""

    events: int
    rate: int
    file_events: int
    disorder: int
    seed: int = 1

    @property
    def folder(self) -> Path:
        return ROOT / f"nexmark-{self.events}-{self.rate}-{self.file_events}-{self.disorder}-{self.seed}"

    @property
    def seconds(self) -> float:
        return self.events / self.rate

    @property
    def midnight(self) -> str:
        """The day that ends within the events."""
        return "2015-07-15"

    @property
    def longest(self) -> int:
        """Microseconds that no auction lasts longer than."""
        return 2_000_000 * ACTIVE_AUCTIONS * CYCLE // AUCTIONS // self.rate + 10_000

    def rows(self, kinds: tuple[str, ...], events: int | None = None) -> int:
        """Of these kinds, among the first events; whole cycles."""
        return (self.events if events is None else events) // CYCLE * sum(SHARES[kind] for kind in kinds)


def house_files(house: House) -> Path:
    """The folder with a folder of files for each kind, made if it is not there. Modification times rise."""
    folder = house.folder
    if folder.exists():
        return folder
    if house.events % house.file_events or house.file_events % CYCLE or house.file_events % house.disorder:
        raise ValueError("files must hold whole cycles and whole groups of events")
    making = folder.with_name(folder.name + ".making")
    shutil.rmtree(making, ignore_errors=True)
    base = DAY + 24 * 3_600_000 - int(house.seconds * 750)
    write(making, Events(house.rate, house.seed, house.disorder, base), house.events, house.file_events)
    for kind in KINDS:
        for number, file in enumerate(sorted((making / kind).iterdir())):
            os.utime(file, (1_735_689_600 + number, 1_735_689_600 + number))
    making.rename(folder)
    return folder


def last_time(house: House) -> int:
    """The time of the last event, in microseconds."""
    top = pl.scan_parquet(house_files(house) / "bid" / "*.parquet").select(pl.col("dateTime").max().dt.epoch("us"))
    return int(top.collect().item())


# -- what Structured Streaming cannot express --------------------------------------------------------------


def q4(house: House) -> pl.DataFrame:
    """The running average of the winning prices of each category, a row from each close to the next."""
    folder = house_files(house)
    auctions = _read(folder / "auction", "id", "category", "reserve", "dateTime", "expires")
    bids = _read(folder / "bid", "auction", "price", at="dateTime")
    inside = (pl.col("at") >= pl.col("dateTime")) & (pl.col("at") < pl.col("expires"))
    reached = auctions.join(bids, left_on="id", right_on="auction").filter(
        inside & (pl.col("price") >= pl.col("reserve"))
    )
    winning = reached.group_by("id", "category", "expires").agg(pl.col("price").max())
    closed = winning.group_by("category", "expires").agg(total=pl.col("price").sum(), n=pl.len()).sort("expires")
    running = closed.select(
        "category",
        start="expires",
        end=pl.col("expires").shift(-1, fill_value=FOREVER).over("category"),
        average=(pl.col("total").cum_sum() / pl.col("n").cum_sum()).over("category"),
    )
    return running.collect()


def q18(house: House) -> pl.DataFrame:
    """Every bid until the bidder's next on that auction."""
    bids = _read(house_files(house) / "bid", "auction", "bidder", "price", "channel", "url", "dateTime", "extra")
    keys = ["bidder", "auction"]
    times = bids.select(*keys, "dateTime").unique().sort("dateTime")
    lives = times.with_columns(end=pl.col("dateTime").shift(-1, fill_value=FOREVER).over(keys))
    return bids.join(lives, on=[*keys, "dateTime"]).with_columns(start="dateTime").collect()


def _read(folder: Path, *columns: str, **named: str) -> pl.LazyFrame:
    """With times in microseconds."""
    rows = pl.scan_parquet(folder / "*.parquet").with_columns(pl.selectors.datetime().dt.epoch("us"))
    return rows.select(*columns, **{name: pl.col(column) for name, column in named.items()})
