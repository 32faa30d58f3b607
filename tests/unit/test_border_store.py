"""The border and the store: side streams as inputs of queries, counters that a crash does not change, threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.log import StreamReader
from waterclock.time import FOREVER

MakeApp = Callable[..., wc.App]
SCHEMA: dict[str, object] = {"n": int, "ts": int, "to": int}
FAR = 4_102_444_800_000_000
"""The year 2100."""


def read(root: Path, name: str) -> pl.DataFrame:
    catalog = Catalog.open(root)
    row = catalog.streams.get(name)
    frame = StreamReader(catalog, name).read(row.first, row.next)
    catalog.close()
    return frame


def declare(app: wc.App) -> wc.Stream:
    return app.stream(
        "in", SCHEMA, time="ts", end="to", late="divert", on_bad="divert", ahead="quarantine", max_jump=1000
    )  # fmt: skip


def test_side_streams_are_inputs_like_others(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    stream = declare(app)
    stream.select("n").into("out")
    app.read("in.late").select("n", "to").into("late")
    app.read("in.quarantine").select("n").into("far")
    app.read("in.bad").select("reason").into("bad")
    app.read("in.late").clip_duration(5).tumbling(10).agg(n=wc.count()).into("late_counts")
    stream.push([{"n": 1, "ts": 100, "to": 200}])  # type: ignore[attr-defined]
    stream.push(  # type: ignore[attr-defined]
        [
            {"n": 2, "ts": 99, "to": 150},
            {"n": 3, "ts": 12, "to": None},
            {"n": 4, "ts": FAR, "to": None},
            {"n": 5, "ts": 2101, "to": 2102},
            {"n": 6, "ts": 7, "to": 7},
            {"n": 7, "ts": 1100, "to": 1101},
        ]
    )
    status = app.run(mode="offline").status()
    assert status.counters["in"] == {"rows": 2, "late_diverted": 2, "quarantined": 2, "bad_diverted": 1}
    root = tmp_path / "store"
    assert read(root, "late").rows() == [(99, 150, 2, 150), (12, FOREVER, 3, None)]
    assert read(root, "far").rows() == [(FAR, FOREVER, 4), (2101, 2102, 5)]
    assert read(root, "in.quarantine").columns == ["_vs", "_ve", "n", "ts", "to"]
    assert read(root, "bad")["reason"].str.contains("the lifetime starts at").to_list() == [True]
    assert read(root, "late_counts").height == 0, "any late event may still come"
    stream.end()  # type: ignore[attr-defined]
    app.run(mode="offline")
    assert sorted(read(root, "late_counts").rows()) == [(10, 20, 1), (90, 100, 1), (100, 110, 1)]
    catalog = Catalog.open(root)
    assert all(catalog.streams.get(f"in.{side}").ended for side in ("late", "bad", "quarantine"))
    catalog.close()


def test_a_side_stream_of_a_stream_that_has_ended_has_ended(make_app: MakeApp, tmp_path: Path) -> None:
    for policy in ("drop", "divert"):
        app = make_app()
        stream = app.stream("in", SCHEMA, time="ts", late=policy)
        stream.select("n").into("out")
        if policy == "drop":
            stream.end()
        else:
            app.read("in.late").into("late")
        app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.streams.get("in.late").ended
    catalog.close()


@pytest.mark.parametrize(
    ("side", "option"), [("late", "late='divert'"), ("bad", "on_bad='divert'"), ("quarantine", "ahead='quarantine'")]
)
def test_a_side_stream_must_be_chosen(make_app: MakeApp, side: str, option: str) -> None:
    app = make_app()
    app.stream("in", SCHEMA, time="ts")
    with pytest.raises(wc.ConfigError, match=rf"PLAN\.NO_SIDE_STREAM(.|\n)*{option}"):
        app.read(f"in.{side}")
    with pytest.raises(wc.ConfigError, match=r"STORE\.NO_STREAM"):
        app.read(f"out.{side}")


def test_points_stay_points_in_side_streams(make_app: MakeApp) -> None:
    app = make_app()
    app.stream("in", SCHEMA, time="ts", late="divert")
    app.stream("long", SCHEMA, time="ts", late="divert", duration=5)
    assert app.read("in.late")._plan.points
    assert not app.read("long.late")._plan.points


def test_retention_trims_a_stream_that_imports_its_time(make_app: MakeApp, tmp_path: Path) -> None:
    from waterclock.runtime import keeper
    from waterclock.runtime.store import Store

    app = make_app()
    fast = app.stream("fast", {"ts": int}, time="ts")
    slow = app.stream("slow", {"ts": int}, time="ts", time_from="fast", retention=5)
    fast.union(slow).into("out")
    for start in (1, 2, 96, 97):
        slow.push([{"ts": start}])
    fast.push([{"ts": 100}])
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    keeper.Keeper(Store(catalog, None), ["out"]).tidy()
    assert catalog.streams.get("slow").first == 2
    assert StreamReader(catalog, "slow").read(2, 4)["ts"].to_list() == [96, 97]
    catalog.close()


# -- threads -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["live", "drain"])
def test_time_is_taken_over_in_threads(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    app = make_app()
    monkeypatch.setattr("waterclock.launch.runner_of", lambda *_: InProcessRunner())
    fast = app.stream("fast", {"ts": int}, time="ts")
    slow = app.stream("slow", {"ts": int}, time="ts", time_from="counts")
    fast.tumbling(10).agg(n=wc.count()).into("counts")
    slow.tumbling(10).agg(n=wc.count()).into("slow_counts")
    slow.push([{"ts": 3}])
    fast.push([{"ts": 4}, {"ts": 25}])
    handle = app.run(mode=mode)
    if mode == "live":
        deadline = time.monotonic() + 30
        while read(tmp_path / "store", "slow_counts").height == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        slow.push([{"ts": 26}])
        fast.end()  # and with it all other streams, so that a live run has nothing to wait for
    handle.wait(30)
    assert handle.status().state == "stopped"
    found = read(tmp_path / "store", "slow_counts").rows()
    assert found == [(0, 10, 1), (20, 30, 1)][: 2 if mode == "live" else 1]


# -- crashes -----------------------------------------------------------------------------------------------

PROGRAM = """
import sys
import waterclock as wc

store, folder, late = sys.argv[1:]
app = wc.App("test", store)
source = wc.files(folder)
fast = app.stream(
    "in", {"n": int, "ts": int, "to": int, "upto": int}, time="ts", end="to", cti="upto", source=source,
    late=late, on_bad="divert", ahead="quarantine",
)
slow = app.stream("slow", {"n": int, "ts": int}, time="ts", time_from="in")
table = app.table("names", {"n": int}, [{"n": 1}, {"n": 2}])
fast.select("n").union(slow.select("n"), table).into("out")
app.read("in.quarantine").into("far")
app.run(mode="offline")
"""


def run_program(folder: Path, late: str, crash: str | None = None) -> bool:
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    environment.pop("WATERCLOCK_CRASH", None)
    if crash:
        environment["WATERCLOCK_CRASH"] = crash
    command = [sys.executable, "-c", PROGRAM, folder / "store", folder.parent / "files", late]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    if done.returncode == -signal.SIGKILL:
        return False
    assert done.returncode == 0, done.stderr
    return True


def result(folder: Path, late: str) -> tuple[object, ...]:
    catalog = Catalog.open(folder / "store")
    counters = {name: catalog.streams.get(name).counters for name in ("in", "slow", "names")}
    ctis = {name: catalog.streams.get(name).cti for name in catalog.streams.names()}
    catalog.close()
    sides = ["in.bad", "in.quarantine", "far", "in.late" if late == "divert" else "in"]
    rows = [read(folder / "store", name) for name in sides]
    rows[0] = rows[0].drop("_vs", "_ve")  # bad rows are stamped with the clock
    out = sorted(read(folder / "store", "out").rows())
    return counters, ctis, [frame.rows() for frame in rows], out


@pytest.mark.parametrize(
    ("late", "place"),
    [
        ("drop", "ingest.before_write"),
        ("adjust", "ingest.after_commit"),
        ("divert", "ingest.before_commit"),
    ],
)
def test_counters_and_side_streams_after_crashes(tmp_path: Path, late: str, place: str) -> None:
    (tmp_path / "files").mkdir()
    for number in range(3):
        base = 100 * number
        lines = [
            (1, base + 50, base + 70, ""), (2, base + 10, base + 45, base + 40), (3, base + 30, base + 35, ""),
            (4, base + 30, base + 90, ""), (5, FAR, "", ""), (6, base, base, ""), ("x", base, "", ""),
            ("", "", "", base + 60),
        ]  # fmt: skip
        text = "n,ts,to,upto\n" + "".join(",".join(map(str, line)) + "\n" for line in lines)
        (tmp_path / "files" / f"{number}.csv").write_text(text)
    whole = tmp_path / "whole"
    whole.mkdir()
    assert run_program(whole, late)
    expected = result(whole, late)
    counters = {"rows": 6, "ctis": 3, "quarantined": 3, "bad_diverted": 6}
    counters |= {
        "drop": {"late_dropped": 6},
        "adjust": {"rows": 9, "late_adjusted": 3, "late_dropped": 3},
        "divert": {"late_diverted": 6},
    }[late]
    assert expected[0] == {"in": counters, "slow": {}, "names": {"rows": 2}}
    folder = tmp_path / "crashed"
    folder.mkdir()
    crashes = 0
    for at in (1, 2, 3):  # at the table, at the files, at the time taken over
        crashes += not run_program(folder, late, f"{place}:{at}")
    assert crashes >= 2
    assert run_program(folder, late)
    assert result(folder, late) == expected
