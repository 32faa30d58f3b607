"""The answers of the algebra's benchmarks against the reference evaluator, and their other pure parts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from bench import algebra_waterclock, answers, bounded, growth, hotkey, join, memory, operators
from bench.algebra import Query, commits, prints
from bench.common import report
from bench.data import Events, Pairs, event_table, pair_table
from bench.expected import SLACK, compare
from waterclock.optimizer.cut import VertexPlan
from waterclock.reference import evaluate

LEFT = Events(rows=120, file_rows=120, keys=3, seconds=20, seed=5)
RIGHT = replace(LEFT, seed=6)
PAIRS = Pairs(rows=240, file_rows=100, seconds=120, behind=5)


def _rows(events: Events) -> pl.DataFrame:
    frame = prints(pl.DataFrame(event_table(events, 0)))
    return frame.with_columns(pl.col("payload").cast(pl.String))


def _events(rows: pl.DataFrame, life: int | None) -> list[tuple[int, int, dict[str, Any]]]:
    starts = rows["ts"].dt.timestamp("us").to_list()
    return [(vs, vs + (life or 1), row) for vs, row in zip(starts, rows.to_dicts(), strict=True)]


def _reference(
    name: str, frames: list[pl.DataFrame], lives: tuple[int | None, ...], schema: str, **options: int
) -> Any:
    given = {"query": name, "options": options, "schema": schema, "store": "unused", "epoch_rows": 1,
             "inputs": [("unused/*.parquet", life) for life in lives]}  # fmt: skip
    plan = algebra_waterclock.declare(given)._outputs["out"][0]
    assert isinstance(plan, VertexPlan)
    inputs = {f"in{n}": _events(rows, life) for n, (rows, life) in enumerate(zip(frames, lives, strict=True))}
    found = evaluate(plan.root, inputs)
    return pl.DataFrame([{"start": vs, "end": ve, **payload} for vs, ve, payload in found])


ONE = {"snapshot": (answers.snapshot, 700_000, "size"), "session": (answers.session, 400_000, "timeout")}
TWO = {
    "join of values": (answers.join, (900_000, 500_000)),
    "anti join": (answers.anti, (1_500_000, 300_000)),
    "clip join": (answers.clip, (900_000, 1)),
}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("hot", [0.0, 0.5])
def test_answers_of_one_stream(name: str, hot: float) -> None:
    answer, time, option = ONE[name]
    rows = _rows(replace(LEFT, hot=hot))
    wanted = answer(rows, time)
    compare(_reference(name, [rows], (None,), "events", **{option: time}), wanted, name)
    assert wanted.height > 10


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("hot", [0.0, 0.5])
def test_answers_of_two_streams(name: str, hot: float) -> None:
    answer, lives = TWO[name]
    left, right = _rows(replace(LEFT, hot=hot)), _rows(replace(RIGHT, hot=hot))
    wanted = answer(left, right, lives)
    compare(_reference(name, [left, right], lives, "events"), wanted, name)
    assert wanted.height > 10


@pytest.fixture
def pair_rows(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> list[pl.DataFrame]:
    """Both sides of ``PAIRS``, with its files in a folder of the test."""
    monkeypatch.setattr("bench.data.ROOT", tmp_path)
    sides = [pl.concat([pl.DataFrame(pair_table(PAIRS, side, n)) for n in range(3)]) for side in ("left", "right")]
    return [prints(side).with_columns(pl.col("payload").cast(pl.String)) for side in sides]


@pytest.mark.parametrize("lives", [(20_000_000, 10_000_000), (7_000_000, 1_000_000), (4_000_000, 4_000_000)])
def test_answers_of_pairs(pair_rows: list[pl.DataFrame], lives: tuple[int, int]) -> None:
    joined = answers.pairs(PAIRS, lives)
    assert joined.height == (0 if lives[0] < 5_000_000 else PAIRS.rows - PAIRS.unmatched)
    if joined.height:
        compare(_reference("join", pair_rows, lives, "pairs"), joined, "join")
    compare(_reference("anti join", pair_rows, lives, "pairs"), answers.pairs_anti(PAIRS, lives), "anti join")


def test_answers_of_buckets(pair_rows: list[pl.DataFrame]) -> None:
    found = _reference("hopping", pair_rows[:1], (None,), "pairs", keys=20, hop=10_000_000)
    compare(found, answers.buckets(PAIRS, 20, 10_000_000), "hopping")


def test_pairs_run_through_the_same_time_and_are_100_bytes(pair_rows: list[pl.DataFrame]) -> None:
    assert pair_table(PAIRS, "left", 1).equals(pair_table(PAIRS, "left", 1))
    assert pair_table(PAIRS, "left", 0)["payload"].to_pylist() != pair_table(PAIRS, "right", 0)["payload"].to_pylist()
    assert {len(text) for text in pair_table(PAIRS, "left", 0)["payload"].to_pylist()} == {84}
    left, right = (side["ts"].dt.timestamp("us") for side in pair_rows)
    assert ((left - right).abs() <= SLACK).all()
    for ts in (left, right):
        assert 0 < (ts.cum_max() - ts).max() <= SLACK  # type: ignore[operator]
    assert PAIRS.unmatched == 10
    with pytest.raises(ValueError, match="whole rows"):
        pair_table(replace(PAIRS, behind=1, seconds=7), "left", 0)


def test_full_epochs_are_timed_and_the_rest_left_out() -> None:
    result = {"commits": [[10.0, 60], [11.0, 100], [12.0, 200], [14.0, 300], [15.0, 350]]}
    assert growth.epoch_times(result, 350, 100, 2) == [1.0, 2.0]
    with pytest.raises(ValueError, match="2 full epochs"):
        growth.epoch_times(result, 350, 100, 3)
    with pytest.raises(ValueError, match="350 of 400"):
        commits(result, 400)


def test_the_sampler_adds_up_a_process_and_those_below_it() -> None:
    code = "import subprocess, sys; a = bytearray(40 << 20); subprocess.run([sys.executable, '-c', sys.argv[1]])"
    below = "import time; a = bytearray(40 << 20); print('x', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code, below], stdout=subprocess.PIPE, start_new_session=True) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            sampler = memory.Sampler(0.01)
            with sampler(child.pid):
                while len(sampler.samples) < 2:
                    time.sleep(0.01)
        finally:
            os.killpg(child.pid, signal.SIGKILL)
    peak = sampler.peak()
    assert peak["processes"] == 2
    assert 80 << 20 < peak["Pss"] <= peak["Rss"]
    assert (
        80 << 20 < peak["Pss_Anon"] <= peak["Private_Clean"] + peak["Private_Dirty"] + peak["Pss_Shmem"] + peak["Pss"]
    )


def test_sections_are_written_from_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Query] = []

    def fake(query: Query, beside: Any = None) -> dict[str, Any]:
        ran.append(query)
        step = query.epoch_rows * len(query.lives)
        great = (query.lives[0] or 0) > 150_000_000 or query.options.get("hop", 0) > 50_000_000
        slow = 2 if great else 1
        if beside is not None:
            beside.samples.append(dict.fromkeys((*memory.KINDS, "processes"), 2**30))
        seen = [[100.0 + slow * n, n * step] for n in range(1, query.rows // step + 1)]
        return {"commits": seen, "state": [7, 9, 8], "started": 100.0}

    def fake_spark(pairs: Pairs, epoch_rows: int, state: str, version: int) -> join.Drained:
        rate = {"rocksdb": 1_000.0 * version, "in-memory": 1_000.0}[state]
        step = 2 * epoch_rows
        return join.Drained([(n * step / rate, n * step) for n in range(1, 9)], 0.0, [5])

    for module in (join, operators, growth, memory):
        monkeypatch.setattr(module, "waterclock", fake)
    for module in (join, bounded):
        monkeypatch.setattr(module, "spark_drain", fake_spark)
    monkeypatch.setattr("bench.answers.kept", lambda *_: pl.DataFrame({"a": [1, 2]}))
    monkeypatch.setattr("bench.answers.pair_files", lambda *_: None)
    monkeypatch.setattr("bench.answers.event_files", lambda *_: None)
    told: list[str] = []
    modules = (join, operators, growth, memory, hotkey, bounded)
    sections = [module.measure(module.FULL, told.append) for module in modules]
    text = report(sections, [], [])
    assert "spark.sql.streaming.join.stateFormatVersion=4" in text
    assert f"{join.FULL.epochs[0] * 2 / 4_000:.2f}x" in text
    assert [line[1] for line in sections[2].summary] == ["2.00", "2.00"] * 3
    assert [line[1] for line in sections[3].summary] == ["1.00 (1.00..1.00)"]
    assert {query.name for query in ran} == set(algebra_waterclock.QUERIES)
    assert all(query.rows % (query.epoch_rows * len(query.lives)) == 0 for query in ran)


def test_the_latency_under_full_load_is_that_of_two_batches() -> None:
    times = [0.0, 9.0, 9.5, 10.0, 10.2, 10.4, 10.9]  # the first three are warm-up
    run = join.Drained([(at, 100 * number) for number, at in enumerate(times)], 0.0, [0])
    point = bounded.Point.of(run, 50)
    assert point.rate == pytest.approx(300 / 0.9)
    assert point.latency == pytest.approx(0.7)


def test_the_best_rate_is_one_that_keeps_the_bound() -> None:
    points = [bounded.Point(size, rate, latency) for size, rate, latency in ((1, 10, 0.5), (2, 15, 0.9), (3, 20, 1.1))]
    assert bounded.best(points, 1.0) == [15]
    assert bounded.best(points, 2.0) == [20]
    assert bounded.best(points, 0.1) == []
