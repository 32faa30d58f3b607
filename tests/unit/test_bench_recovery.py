"""The benchmarks of recovery: their pure parts, and tiny sizes in this process. No JVM and no timing."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bench import plot, rebuild, rebuild_waterclock, recovery, snapshots, snapshots_waterclock
from bench.common import report
from bench.data import Load, Pairs, pair_table
from bench.expected import compare
from bench.loss import destroy, undurable
from bench.recovery_sender import first_match, matches, rows, wanted
from bench.recovery_waterclock import declare
from bench.watch import _note
from waterclock.catalog import Catalog
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.log import StreamReader
from waterclock.runtime.vertex import VertexWorker

LOAD = Load(seconds=3, rate=1_000)
OUTAGE = recovery.Outage(0.1, 5.0, 4.0, 4.5, [(0.0, 0.1), (0.5, 5.0), (1.0, 0.1)])


@pytest.fixture(autouse=True)
def _figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(plot, "folder", lambda: tmp_path)


def test_a_drawing_has_axes_curves_and_names() -> None:
    drawing = plot.draw("T <1>", "x", "y", {"a": [(0, 1), (5, 20)], "b": [(1, 0.5)]}, log_y=True, mark=(2, "here"))
    words = {each.text for each in ET.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")}
    assert {"T <1>", "x", "y", "a", "b", "here", "0.1", "1", "10", "100", "5"} <= words
    assert drawing.count("<polyline") == 2
    ET.fromstring(plot.draw("empty", "x", "y", {"nothing": []}))


def test_ticks_are_round() -> None:
    assert plot.ticks(0, 45) == [0, 10, 20, 30, 40]
    assert plot.ticks(0.5, 5.0) == [1, 2, 3, 4, 5]


def test_rolled_back_rows_are_seen_when_they_are_back() -> None:
    seen: list[tuple[int, float]] = []
    for mark, now in ((10, 1.0), (20, 2.0), (30, 3.0), (15, 4.0), (30, 5.0)):
        _note(seen, mark, now)
    assert seen == [(10, 1.0), (15, 2.0), (30, 5.0)]


def test_an_outage_by_hand() -> None:
    before = [(second, second + 0.1) for second in (1.0, 2.0, 3.0)]
    after = [(3.4, 3.6), (4.0, 9.0), (8.0, 9.0), (9.0, 9.5), (10.0, 10.2), (11.0, 11.1)]
    found = pl.DataFrame([*before, *after], schema=["sent", "seen"], orient="row")
    outage = recovery.Outage.of(found, 0.0, 3.5, 1.0)
    assert outage.usual == pytest.approx(0.1)
    assert outage.recovery == pytest.approx(10.2 - 3.5)
    assert outage.gap == pytest.approx(9.0 - 3.6)
    assert outage.worst == pytest.approx(5.0)
    assert outage.curve[3] == pytest.approx((4.0, 5.0))
    assert recovery.Outage.of(found.head(6), 0.0, 3.5, 1.0).recovery is None
    with pytest.raises(ValueError, match="before the failure"):
        recovery.Outage.of(found, 0.0, 0.5, 0.0)


def test_each_event_of_the_right_matches_one_before() -> None:
    left, right = (rows(LOAD, 1, side, 0, LOAD.batches, 1_000) for side in (False, True))
    both = left.join(right, on="key")
    answer = wanted(LOAD, 1, 1_000)
    assert both.height == answer.height == left.height - first_match(LOAD, 1) == 2_010
    assert ((both["ts_right"] - both["ts"]).dt.total_milliseconds() == 1_000).all()
    assert both["ts_right"].dt.timestamp("us").sort().equals(answer["start"].sort(), check_names=False)
    pieces = pl.concat([rows(LOAD, 1, True, 0, 7, 1_000), rows(LOAD, 1, True, 7, LOAD.batches, 1_000)])
    assert pieces.equals(right)


@pytest.mark.parametrize("strategy", ["checkpoint", "replay", "replicate"])
def test_the_join_of_recovery_gives_the_answer(strategy: str, tmp_path: Path) -> None:
    app, streams = declare(str(tmp_path / "store"), (2, 2), strategy)
    for number, stream in enumerate(streams):
        stream.push(rows(LOAD, 1, bool(number), 0, LOAD.batches, 1_000))
    app.run(mode="offline")
    catalog = Catalog.open(app.store)
    found = StreamReader(catalog, "out").read(0, matches(LOAD, 1))
    assert catalog.streams.get("out").next == found.height
    assert bool(destroy(Path(app.store), undurable(catalog))) == (strategy == "replay")  # which saves no state
    catalog.close()
    compare(found.select("key", start="_vs"), wanted(LOAD, 1, 1_000), strategy)


def test_results_of_structured_streaming_are_those_its_logs_name(tmp_path: Path) -> None:
    target, commits = tmp_path / "out", tmp_path / "checkpoint" / "commits"
    (target / "_spark_metadata").mkdir(parents=True)
    commits.mkdir(parents=True)
    for batch, name in ((0, "0"), (1, "1.compact"), (2, "2")):
        pl.DataFrame({"key": [batch], "start": [7]}).write_parquet(target / f"{batch}.parquet")
        named = [f"{n}.parquet" for n in (range(2) if batch == 1 else (batch,))]
        lines = ["v1", *(json.dumps({"path": f"file://{target / each}"}) for each in named)]
        (target / "_spark_metadata" / name).write_text("\n".join(lines))
        if batch < 2:  # the last one was not committed
            (commits / str(batch)).touch()
            os.utime(commits / str(batch), (100 + batch, 100 + batch))
    found = recovery.committed(target, tmp_path / "checkpoint")
    assert sorted(found.select("key", "seen").rows()) == [(0, 100.0), (1, 101.0)]
    assert recovery.committed(tmp_path / "none", tmp_path / "none").height == 0


def test_the_section_of_recovery(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def ours(sizes: recovery.Sizes, way: recovery.Way, into: recovery.Runs) -> recovery.Outage:
        into.destroyed += [] if way.standby else [2e6]
        return OUTAGE

    monkeypatch.setattr(recovery, "waterclock_run", ours)
    monkeypatch.setattr(recovery, "spark_run", lambda *_: recovery.Outage(1.0, 9.0, 8.0, 9.0, [(0.0, 1.0)]))
    section = recovery.measure(recovery.QUICK, lambda line: None)
    text = report([section], [], [])
    assert "2.00x" in text
    assert "![Latency around a failure](figures/recovery.svg)" in text
    assert "| Waterclock | replay, restarted | 100 | 4.00 | 4.50 | 5.00 | 2.0 | 1 | 1 |" in text
    assert (tmp_path / "recovery.csv").read_text().splitlines()[:2] == [
        "engine,strategy,second,latency",
        'Waterclock,"checkpoint, restarted",0,0.1000',
    ]


def test_lost_ranges_are_rebuilt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sizes = rebuild.QUICK

    def here(sizes: rebuild.Sizes, behind: int) -> list[dict[str, float]]:
        given = {**asdict(sizes), "behind": behind}
        found = []
        for lost in sizes.lost:
            store = tmp_path / f"store-{behind}-{lost}"
            rebuild_waterclock.make(store, Load(rate=sizes.rate), given)
            found.append(rebuild_waterclock.measure(store, given, lost, InProcessRunner()))
        return found

    monkeypatch.setattr(rebuild, "waterclock_run", here)
    section = rebuild.measure(sizes, lambda line: None)
    assert [line[3] for line in section.table.rows] == ["12%", "100%", "12%", "100%"]
    assert len((tmp_path / "rebuild.csv").read_text().splitlines()) == 5


def given_snapshots(tmp_path: Path, every: str | None) -> dict[str, Any]:
    pairs = Pairs(rows=6_000, file_rows=1_000, seconds=600)
    for side in ("left", "right"):
        (tmp_path / side).mkdir(exist_ok=True)
        for file in range(6):
            pl.DataFrame(pair_table(pairs, side, file)).write_parquet(tmp_path / side / f"{file}.parquet")
    sizes = snapshots.QUICK
    return {"store": str(tmp_path / f"store-{every}"), "epoch_rows": 500, "every": every, "lives": sizes.lives,
            "groups": sizes.groups, "window": sizes.window,
            "inputs": [str(tmp_path / side / "*.parquet") for side in ("left", "right")]}  # fmt: skip


def test_the_program_with_snapshots_has_three_exchanges(tmp_path: Path) -> None:
    text = snapshots_waterclock.declare(given_snapshots(tmp_path, None)).explain("physical")
    exchanges = [
        line.strip().split("exchange ")[1].split(" ->")[0] for line in text.splitlines() if "-> exchange" in line
    ]
    assert exchanges == ["by key", "by key", "by group", "by few"]  # the join has two sides


@pytest.mark.parametrize("synchronous", [False, True])
def test_snapshots_of_both_kinds_are_complete(
    synchronous: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VertexWorker, "turn", VertexWorker.turn)  # and back again afterwards
    if synchronous:
        snapshots_waterclock.stop_the_world()
    given = given_snapshots(tmp_path, "10ms")
    snapshots_waterclock.declare(given).run(mode="offline")
    catalog = Catalog.open(given["store"])
    taken = catalog.snapshots.of(snapshots_waterclock.APP)
    assert taken
    assert {each.state for each in taken} == {"complete"}
    assert catalog.streams.get("out").next > 0
    catalog.close()


def test_the_section_of_snapshots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fake(sizes: snapshots.Sizes, every: float | None, synchronous: bool) -> dict[str, Any]:
        seconds = 10.0 + (0 if every is None else 4 if synchronous else 1)
        return {"seconds": seconds, "snapshots": 3, "waits": [0.2], "state": 5e8, "rows": 7}

    monkeypatch.setattr(snapshots, "waterclock_run", fake)
    monkeypatch.setattr(snapshots, "pair_files", lambda pairs: None)
    section = snapshots.measure(snapshots.FULL, lambda line: None)
    assert [line[3] for line in section.table.rows[:3]] == ["-", "10.0 (10.0..10.0)", "40.0 (40.0..40.0)"]
    assert (tmp_path / "snapshots.csv").read_text().splitlines()[1] == "asynchronous,0.5,11.000,10.00"
