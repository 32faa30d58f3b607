"""The pure parts of the benchmarks: figures, tables, data, reference answers. No JVM and no timing."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import polars as pl
import pytest

from bench import expected, hopping, latency, overhead
from bench.common import Section, Table, percentile, ratio, report, spread
from bench.data import BASE, DISORDER, NEEDLE, Events, Load, event_table, records
from bench.hopping_polars import panes
from bench.sender import pace
from bench.watch import _seen

TINY = Events(rows=1_000, file_rows=400, keys=7, seconds=60)
LOAD = Load(seconds=3, rate=1_000, keys=5)


@pytest.mark.parametrize(("q", "value"), [(50, 5.0), (95, 10.0), (99, 10.0), (100, 10.0), (10, 1.0), (0, 1.0)])
def test_percentile_is_a_measured_value(q: float, value: float) -> None:
    assert percentile([float(n) for n in range(10, 0, -1)], q) == value


def test_percentile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_spread_and_ratio_are_of_medians() -> None:
    assert spread([3.0, 1.0, 2.0]) == "2 (1..3)"
    assert spread([0.0015], 1, 1000) == "1.5"
    assert spread([]) == "void"
    assert ratio([4.0, 2.0, 3.0], [1.0, 2.0, 1.5]) == "2.00x"
    assert ratio([1.0], []) == "-"


def test_report_has_machine_summary_settings_and_notes() -> None:
    table = Table(["a", "b"], [["x|y", "2"]])
    section = Section("s", "The section", table, ["set so"], ["not included: x"], [["m", "2", "1", "2.00x"]])
    text = report([section], ["machine: this"], ["quick"])
    for part in (
        "* machine: this",
        "**quick**",
        "| m | 2 | 1 | 2.00x |",
        "| x\\|y | 2 |",
        "* set so",
        "* not included: x",
    ):
        assert part in text
    assert table.text().splitlines()[0].split() == ["a", "b"]


def test_events_are_the_same_again_and_110_bytes_wide() -> None:
    first, again = event_table(TINY, 0), event_table(TINY, 0)
    assert first.equals(again)
    assert not first.equals(event_table(TINY, 1))
    assert not first.equals(event_table(replace(TINY, seed=2), 0))
    assert [event_table(TINY, n).num_rows for n in range(3)] == [400, 400, 200]
    frame = pl.DataFrame(first)
    assert frame["payload"].str.len_bytes().unique().to_list() == [86]
    assert frame.schema["ts"] == pl.Datetime("us", "UTC")


def test_events_are_mildly_out_of_order_and_never_late() -> None:
    ts = pl.concat([pl.DataFrame(event_table(TINY, n)) for n in range(3)])["ts"].dt.timestamp("us")
    behind = ts.cum_max() - ts
    assert behind.max() > 0  # type: ignore[operator]
    assert behind.max() <= expected.SLACK  # type: ignore[operator]
    assert ts.min() >= BASE  # type: ignore[operator]
    assert ts.max() <= BASE + 60_000_000 + 2 * DISORDER  # type: ignore[operator]


def test_records_are_the_same_again_100_bytes_and_on_schedule() -> None:
    sent = records(LOAD, 1_700_000_000_000)
    frame = sent.frame()
    assert frame.equals(records(LOAD, 1_700_000_000_000).frame())
    assert frame.height == LOAD.batches * LOAD.batch == 3_010
    assert frame["text"].str.len_bytes().unique().to_list() == [100]
    assert frame["text"][0].startswith("1700000000000 0000000")
    assert (frame["text"].str.slice(0, 13).cast(pl.Int64) * 1000 == frame["ts"].dt.timestamp("us")).all()
    assert (frame["text"].str.slice(14, 8).cast(pl.Int64) == frame["key"]).all()
    assert sent.lines().decode().splitlines() == frame["text"].to_list()
    hits = frame["text"].str.contains(NEEDLE, literal=True).sum()
    assert 0 < hits < 100
    assert expected.grep(sent).height == hits


def _at(second: float) -> dt.datetime:
    return dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=second)


def test_hopping_answer_by_hand() -> None:
    rows = pl.DataFrame(
        {"key": [1, 1, 2], "ts": [_at(1), _at(6), _at(4.999999)], "value": [10, 20, 5]},
        schema_overrides={"ts": pl.Datetime("us", "UTC")},
    )
    origin = int(_at(0).timestamp()) * 1_000_000
    found = {
        (row["key"], (row["start"] - origin) // 1_000_000): (row["n"], row["total"])
        for row in expected.hopping(rows.lazy()).iter_rows(named=True)
    }
    assert found == {(1, -5): (1, 10), (1, 0): (2, 30), (1, 5): (1, 20), (2, -5): (1, 5), (2, 0): (1, 5)}


def test_the_floor_gives_the_reference_answer(tmp_path: object) -> None:
    path = f"{tmp_path}/events.parquet"
    pl.DataFrame(event_table(TINY, 0)).write_parquet(path)
    expected.compare(panes(path), expected.hopping(pl.scan_parquet(path)), "floor")


def test_tumbling_answer_counts_the_windows_that_close() -> None:
    sent = records(LOAD, 1_700_000_000_000)
    answer = expected.tumbling(sent)
    assert answer["start"].unique().sort().to_list() == [1_700_000_000_000_000 + n * 1_000_000 for n in range(3)]
    assert answer["n"].sum() == 3_000
    assert answer["last"].max() == 1_700_000_002_990_000


def test_a_wrong_answer_names_the_difference() -> None:
    wanted = pl.DataFrame({"a": [1, 2, 2], "b": ["x", "y", "y"]})
    expected.compare(wanted.select("b", "a").reverse(), wanted, "same")
    with pytest.raises(expected.WrongAnswer, match=r"1 missing, 1 not wanted") as error:
        expected.compare(pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}), wanted, "other")
    assert "'a': 3" in str(error.value)


def test_latency_counts_from_the_last_event_and_the_window_end() -> None:
    sent = records(LOAD, 1_700_000_000_000)
    found = expected.tumbling(sent).select("start", "key", "n", seen=pl.col("start") / 1e6 + 1.5)
    measured = latency.latencies(found, sent, "window", 1_700_000_001.0, "test")
    assert measured["end"].len() == 10  # the warm-up second is left out
    assert measured["end"].to_list() == pytest.approx([0.5] * 10, abs=1e-5)
    assert min(measured["event"].to_list()) == pytest.approx(0.51, abs=1e-5)
    hits = expected.grep(sent).select("text", seen=pl.col("ts").dt.timestamp("us") / 1e6 + 0.25)
    grepped = latency.latencies(hits, sent, "grep", 1_700_000_000.0, "test")
    assert grepped["event"].to_list() == pytest.approx([0.25] * hits.height, abs=1e-5)


def test_steady_leaves_the_first_batch_out() -> None:
    commits = [(10.0, 50), (11.0, 100), (12.0, 200), (13.0, 300)]
    assert hopping.steady(commits, 100) == (100.0, 100.0)
    with pytest.raises(ValueError, match="behind the warm-up"):
        hopping.steady(commits, 300)


def test_rows_are_seen_with_the_first_mark_behind_them() -> None:
    assert _seen([(2, 1.0), (3, 2.0)], 4, "seen").to_list() == [1.0, 1.0, 2.0, None]


def test_an_overdue_sender_sends_everything_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [99.5]
    sends: list[tuple[int, int]] = []
    monkeypatch.setattr("bench.sender.time.time", lambda: clock[0])
    monkeypatch.setattr("bench.sender.time.sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))

    def send(first: int, end: int) -> None:
        sends.append((first, end))
        clock[0] += 0.035  # slower than the schedule

    figures = pace(Load(seconds=1, rate=1_000), 100_000, 1, send)
    assert [first for first, _ in sends] == [0, *(end for _, end in sends)][: len(sends)]
    assert sends[-1][1] == 101
    assert 0 < figures["late_max"] < 0.04
    assert figures["slip"] < 0.1


@pytest.mark.parametrize("void", [False, True])
def test_sections_are_written_from_runs(monkeypatch: pytest.MonkeyPatch, void: bool) -> None:
    sender = dict.fromkeys(("slip", "own_late", "late_p50", "late_p99", "late_max", "send_p50", "cpu"), 0.001)

    def fake_latency(sizes: latency.Sizes, workload: str, *rest: object) -> str:
        runs = rest[-1]
        assert isinstance(runs, latency.Runs)
        runs.senders.append(sender)
        if void:
            runs.void += 1
            return "void"
        for name in latency.WORKLOADS[workload]:
            runs.add(name, [0.1, 0.2] if len(rest) == 2 else [0.4, 0.8])
        runs.overhead.append(0.004)
        runs.epoch.append(0.05)
        runs.durable.append(110.0)
        return "done"

    def fake_hopping(sizes: hopping.Sizes, epoch_rows: int, *rest: object) -> None:
        runs = rest[-1]
        assert isinstance(runs, hopping.Runs)
        for values, value in ((runs.rates, 3e6), (runs.batch_rows, 5e5), (runs.total, 4.0)):
            values.append(value if len(rest) == 1 else value / 3)
        runs.overhead.append(0.004)
        runs.epoch.append(0.2)

    for module, fake in ((latency, fake_latency), (hopping, fake_hopping)):
        monkeypatch.setattr(module, "waterclock_run", fake)
        monkeypatch.setattr(module, "spark_run", fake)
    monkeypatch.setattr(hopping, "polars_run", lambda sizes: 2e7)
    monkeypatch.setattr(hopping, "hopping_answer", lambda events: None)
    kept: dict[str, object] = {}
    sections = [
        hopping.measure(hopping.FULL, lambda line: None, kept),
        latency.measure(latency.FULL, lambda line: None, kept),
        overhead.measure(hopping.FULL, latency.FULL, lambda line: None, kept),
    ]
    text = report(sections, [], [])
    assert "3.00x" in text
    assert "15% of the floor" in text
    assert ("4.00x" in text) != void
    assert sections[2].table.rows[0][2] == "4.00 (4.00..4.00)"
