"""The queries of Nexmark give the answers of plain loops, offline and on Spark."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import polars as pl
import pytest

import waterclock as wc
from tests.conftest import SPARK
from tests.docs.nexmark_reference import ANSWERS, Data, winners
from tests.docs.test_docs import blocks

FOLDER = Path(__file__).parents[2] / "examples" / "nexmark"
COUNT = 5_000
STEP = 30_000_000


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("nexmark_generator", FOLDER / "generator.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclass looks for the names in its annotations
    spec.loader.exec_module(module)
    return module


generator = _generator()
EVENTS = {
    "usual": generator.Events(rate=100, disorder=49),  # 50 seconds, half a second of disorder
    "dense": generator.Events(rate=50_000, disorder=1_999),  # many events in a millisecond, few different prices
    "ties": generator.Events(rate=0.5),  # five events in ten seconds, few different prices
    "sparse": generator.Events(rate=0.05),  # more than a day
}
CASES = [
    *((query, "usual") for query in ANSWERS),
    *((query, "dense") for query in ("q4", "q9", "q18", "q20")),
    *((query, "ties") for query in ("q4", "q5", "q7", "q9")),
    *((query, "sparse") for query in ("q14", "q15", "q16", "q17")),
]


class Files(NamedTuple):
    folder: Path
    rows: Data


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    made = {}
    for name, events in EVENTS.items():
        folder = tmp_path_factory.mktemp(name)
        generator.write(folder, events, COUNT, part=900)
        if name in ("dense", "ties"):
            for file in folder.glob("bid/*.parquet"):
                steps = (pl.col("price") // STEP + 1) * STEP
                pl.read_parquet(file).with_columns(price=steps).write_parquet(file)
        made[name] = Files(folder, Data(folder))
    return made


def program(query: str, data: Path, store: Path) -> wc.App:
    path = FOLDER / f"{query}.sql"
    known = {**{kind: str(data / kind) for kind in ("person", "auction", "bid")}, "side": str(data / "side_input.csv")}
    params = {name: known[name] for name in re.findall(r"files\(:(\w+)\)", path.read_text())}
    return wc.sql(path, params, store=store, epoch_rows=1_000, master="local[2]", spark=SPARK)


def found(handle: wc.Handle, query: str) -> Counter[tuple[Any, ...]]:
    return Counter(handle.frame(query).with_columns(pl.selectors.datetime().dt.epoch("us")).rows())


def test_every_query_has_an_answer() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == set(ANSWERS)


def test_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(FOLDER.parent)
    lines = [line for block in blocks(FOLDER / "README.md") for line in block.text.splitlines()]
    assert len(lines) > 2
    for line in lines:
        _, verb, *arguments = shlex.split(line)
        command = {"python": [sys.executable], "waterclock": [sys.executable, "-m", "waterclock.cli.main"]}[verb]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


def test_the_page_lists_every_query() -> None:
    listed = re.findall(r"^\| \[(q\d+)\]\(\1\.sql\)", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(ANSWERS)


@pytest.mark.parametrize(("query", "kind"), CASES)
def test_offline(query: str, kind: str, files: dict[str, Files], tmp_path: Path) -> None:
    expected = Counter(ANSWERS[query](files[kind].rows))
    assert expected
    assert found(program(query, files[kind].folder, tmp_path).run(mode="offline"), query) == expected


@pytest.mark.spark
@pytest.mark.parametrize("query", ["q4", "q5", "q8"])
def test_on_spark(query: str, files: dict[str, Files], tmp_path: Path) -> None:
    handle = program(query, files["usual"].folder, tmp_path).run(mode="drain")
    assert handle.wait(120)
    assert found(handle, query) == Counter(ANSWERS[query](files["usual"].rows))


def test_events_are_the_same_however_they_are_cut() -> None:
    events = EVENTS["usual"]
    whole, parts = events.make(0, 1_000), [events.make(start, start + 250) for start in range(0, 1_000, 250)]
    for kind, rows in whole.items():
        assert rows.equals(pl.concat([part[kind] for part in parts]))
        assert not rows.equals(generator.Events(rate=100, disorder=49, seed=2).make(0, 1_000)[kind])


def test_there_are_ties(files: dict[str, Files]) -> None:
    """Those that q5, q7, q9 and q18 have to decide about."""

    def most(kind: str, query: str, *columns: int) -> int:
        answer = ANSWERS[query](files[kind].rows)
        return max(Counter(tuple(row[column] for column in columns) for row in answer).values())

    assert most("ties", "q5", 0) > 1  # auctions in a window
    assert most("ties", "q7", 0) > 1  # bids in a window
    assert most("dense", "q9", 2) > 1  # bids that win an auction
    assert most("dense", "q18", 0, 2, 3) > 1  # bids of a bidder on an auction at an instant
    auctions = {a["id"]: a for a, _ in winners(files["ties"].rows)}
    won = {a["id"]: (b["price"], b["dateTime"]) for a, b in winners(files["ties"].rows)}
    assert any(  # a bid with the price of the winner that came later
        b["price"] == won[b["auction"]][0] and won[b["auction"]][1] < b["dateTime"] < auctions[b["auction"]]["expires"]
        for b in files["ties"].rows.bids
        if b["auction"] in won
    )


def test_events_follow_the_rules() -> None:
    made = generator.Events(rate=100).make(0, 50_000)
    assert {kind: len(rows) for kind, rows in made.items()} == {"person": 1_000, "auction": 3_000, "bid": 46_000}
    person, auction, bid = made["person"], made["auction"], made["bid"]
    assert person["id"].to_list() == list(range(1000, 2000))
    assert auction["id"].to_list() == list(range(1000, 4000))
    assert person["dateTime"].diff().unique().drop_nulls().to_list() == [person["dateTime"][1] - person["dateTime"][0]]
    assert (auction["expires"] > auction["dateTime"]).all()
    assert (auction["expires"] - auction["dateTime"]).mean().total_seconds() == pytest.approx(16.66, rel=0.05)
    assert (auction["reserve"] > auction["initialBid"]).all()
    assert set(auction["category"]) == {10, 11, 12, 13, 14}
    assert (bid["auction"] % 100 == 0).mean() == pytest.approx(0.5, abs=0.02)
    assert (bid["bidder"] % 100 == 1).mean() == pytest.approx(0.75, abs=0.02)
    assert (auction["seller"] % 100 == 0).mean() == pytest.approx(0.75, abs=0.03)
    assert bid["price"].is_between(100, 100_000_000).all()
    assert bid["price"].log10().mean() == pytest.approx(5, abs=0.05)
    assert bid["channel"].is_in(generator.HOT_CHANNELS).mean() == pytest.approx(0.5, abs=0.02)
    assert bid["extra"].str.len_bytes().mean() == pytest.approx(100 - 32, rel=0.03)
