"""The app: what is refused before anything runs, and in which words."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.catalog.postgres import Postgres
from waterclock.catalog.sqlite import Sqlite
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.log import StreamReader

pytestmark = pytest.mark.usefixtures("each_database")

Make = Callable[..., wc.App]


def declared(app: wc.App, **options: object) -> wc.SourceStream:
    return app.stream("s", {"k": str, "v": int, "ts": "timestamp"}, time="ts", **options)  # type: ignore[arg-type]


REFUSED: dict[str, tuple[Callable[[wc.App, wc.SourceStream], object], str]] = {
    "text as a predicate": (lambda a, s: s.filter("v > 1"), "EXPR.NOT_EXPR"),  # type: ignore[arg-type]
    "number as a predicate": (lambda a, s: s.filter(wc.col("v") + 1), "EXPR.WRONG_TYPE"),
    "unknown column": (lambda a, s: s.filter(wc.col("w") > 1), "SCHEMA.UNKNOWN_COLUMN"),
    "truth of an expression": (lambda a, s: s.filter((wc.col("v") > 1) and (wc.col("v") < 5)), "EXPR.NO_TRUTH"),
    "text plus number": (lambda a, s: s.select(x=wc.col("k") + wc.col("v")), "EXPR.WRONG_TYPE"),
    "sum of text": (lambda a, s: s.tumbling("1s").agg(x=wc.sum("k")), "EXPR.WRONG_TYPE"),
    "fraction as a duration": (lambda a, s: s.tumbling(5.0), "TIME.BAD_DURATION"),  # type: ignore[arg-type]
    "nonsense as a duration": (lambda a, s: s.tumbling("5 parsecs"), "TIME.BAD_DURATION"),
    "empty window": (lambda a, s: s.tumbling("0s"), "PLAN.BAD_WINDOW"),
    "negative hop": (lambda a, s: s.hopping("5s", "-1s"), "PLAN.BAD_WINDOW"),
    "unknown result": (lambda a, s: s.tumbling("5s", result="soon"), "PLAN.BAD_RESULT"),
    "aggregate without a name": (lambda a, s: s.tumbling("1s").agg(wc.count()), "PLAN.UNNAMED_AGGREGATE"),
    "aggregate without a window": (lambda a, s: s.group_by("k").agg(n=wc.count()), "PLAN.NO_WINDOW"),
    "no aggregate": (lambda a, s: s.tumbling("1s").agg(), "PLAN.NO_AGGREGATE"),
    "not an aggregate": (lambda a, s: s.tumbling("1s").agg(n=wc.col("v")), "PLAN.NOT_AGGREGATE"),  # type: ignore[arg-type]
    "union of different streams": (lambda a, s: s.union(s.select("k")), "PLAN.UNION_MISMATCH"),
    "reserved name": (lambda a, s: s.select(_vs=wc.col("v")), "SCHEMA.RESERVED_COLUMN"),
    "name twice": (lambda a, s: s.into("s"), "PLAN.DUPLICATE_NAME"),
    "bad name": (lambda a, s: s.into("no/slash"), "PLAN.BAD_NAME"),
    "text as a sink": (lambda a, s: s.to("out.jsonl"), "CONFIG.BAD_OPTION"),
    "text as a source": (lambda a, s: a.stream("t", {"ts": "bigint"}, time="ts", source="in"), "CONFIG.BAD_OPTION"),  # type: ignore[arg-type]
    "list as a schema": (lambda a, s: a.stream("t", ["ts"], time="ts"), "CONFIG.BAD_OPTION"),  # type: ignore[arg-type]
    "unknown type": (lambda a, s: a.stream("t", {"ts": "datetime64"}, time="ts"), "SCHEMA.UNKNOWN_TYPE"),
    "time is text": (lambda a, s: a.stream("t", {"ts": str}, time="ts"), "CONFIG.BAD_OPTION"),
    "no such time": (lambda a, s: a.stream("t", {"ts": "bigint"}, time="when"), "SCHEMA.UNKNOWN_COLUMN"),
    "negative slack": (lambda a, s: a.stream("t", {"ts": "bigint"}, time="ts", slack="-5s"), "CONFIG.BAD_OPTION"),
    "unknown policy": (lambda a, s: a.stream("t", {"ts": "bigint"}, time="ts", late="shrug"), "CONFIG.BAD_OPTION"),
    "end and duration": (
        lambda a, s: a.stream("t", {"ts": "bigint", "e": "bigint"}, time="ts", end="e", duration=5),
        "CONFIG.BAD_OPTION",
    ),
    "unknown mode": (lambda a, s: a.run(mode="turbo"), "RUN.BAD_MODE"),
    "no output": (lambda a, s: a.run(mode="offline"), "PLAN.NO_OUTPUT"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str, make_app: Make) -> None:
    app = make_app()
    stream = declared(app)
    attempt, code = REFUSED[what]
    with pytest.raises(wc.ConfigError) as caught:
        attempt(app, stream)
    assert caught.value.code == code
    assert caught.value.hint, "it says what to write instead"


def test_two_outputs_to_one_place(make_app: Make, tmp_path: Path) -> None:
    stream = declared(make_app())
    stream.to(wc.parquet(tmp_path / "out"), "one")
    with pytest.raises(wc.ConfigError, match=r"PLAN\.SAME_TARGET.*'two' and 'one'"):
        stream.to(wc.parquet(tmp_path / "x" / ".." / "out"), "two")


def test_an_output_belongs_to_one_app(make_app: Make) -> None:
    for name in ("first", "second"):
        app = make_app(name)
        declared(app).into("out")
        if name == "first":
            app.run(mode="offline")
            continue
        with pytest.raises(wc.ConfigError, match=r"PLAN\.OF_ANOTHER_APP.*'out' belongs to the app 'first'"):
            app.run(mode="offline")


def test_a_source_belongs_to_one_app(make_app: Make, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"k": "a", "v": 1, "ts": 5}\n')
    for name in ("first", "second"):
        app = make_app(name)
        declared(app, source=wc.files(tmp_path / "in.jsonl")).into(f"out_{name}")
        if name == "first":
            app.run(mode="offline")
            continue
        with pytest.raises(wc.ConfigError, match=r"PLAN\.OF_ANOTHER_APP.*'s' belongs to the app 'first'"):
            app.run(mode="offline")


def test_a_changed_query_does_not_take_over_state(make_app: Make) -> None:
    app = make_app()
    source = declared(app)
    source.tumbling("5s").agg(n=wc.count()).into("out")
    source.push([{"k": "a", "v": 1, "ts": 5}])
    app.run(mode="offline")
    app = make_app()
    declared(app).tumbling("6s").agg(n=wc.count()).into("out")
    with pytest.raises(wc.ConfigError, match=r"PLAN\.CHANGED"):
        app.run(mode="offline")


def test_a_changed_stream_is_refused(make_app: Make) -> None:
    app = make_app()
    source = declared(app)
    source.into("out")
    source.push([{"k": "a", "v": 1, "ts": 5}])
    app.run(mode="offline")
    app = make_app()
    app.stream("s", {"k": str, "ts": "timestamp"}, time="ts").into("out2")
    with pytest.raises(wc.ConfigError, match=r"PLAN\.STREAM_CHANGED.*schema was"):
        app.run(mode="offline")


def test_a_program_may_be_corrected_until_something_was_computed(make_app: Make, tmp_path: Path) -> None:
    """Columns, query and what outputs share: a run that failed before its first epoch fixes nothing."""
    file = tmp_path / "in.jsonl"
    file.write_text('{"k": "a", "v": 1.5, "ts": 5}\n')

    def app(kind: str, size: str) -> wc.App:
        made = make_app()
        columns = {"k": str, "v": kind, "ts": "timestamp"}
        source = made.stream("s", columns, time="ts", source=wc.files(file), late="divert")
        windows = source.group_by("k").tumbling(size).agg(n=wc.count(), most=wc.max("v"))
        windows.filter(wc.col("n") > 0).into("out")
        windows.select("k", "most").into("most")
        return made

    with pytest.raises(wc.DataError, match=r"DATA\.WRONG_TYPE"):
        app("int", "5s").run(mode="offline")
    handle = app("double", "6s").run(mode="offline")
    assert handle.frame("most")["most"].to_list() == [1.5]
    catalog = Catalog.open(tmp_path / "store")
    outputs = {"out", "most"}
    assert all(vertex.epoch >= 0 for vertex in catalog.epochs.vertices()), "of the first program nothing is left"
    assert outputs <= {vertex.name for vertex in catalog.epochs.vertices()}
    for changed in (app("double", "7s"), app("int", "6s")):
        with pytest.raises(wc.ConfigError, match=r"PLAN\.(STREAM_)?CHANGED"):
            changed.run(mode="offline")


def test_an_empty_stream_of_another_app_stays_as_it_is(make_app: Make) -> None:
    other = make_app("other")
    declared(other).into("theirs")
    other.run(mode="offline")
    app = make_app()
    changed = app.stream("s", {"k": str, "ts": "timestamp"}, time="ts")
    changed.into("ours")
    with pytest.raises(wc.ConfigError, match=r"PLAN\.STREAM_CHANGED"):
        app.run(mode="offline")
    with pytest.raises(wc.ConfigError, match=r"PLAN\.STREAM_CHANGED"):
        changed.push([{"k": "a", "ts": 5}])


def test_a_declaration_does_not_change_under_a_running_app(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    declared(app).into("out")
    catalog = Catalog.open(tmp_path / "store", create=True)
    app.run(mode="offline")
    catalog.leases.acquire("app test")
    again = make_app()
    changed = again.stream("s", {"k": str, "ts": "timestamp"}, time="ts")
    changed.into("out")
    with pytest.raises(wc.StoreError, match=r"STORE\.IN_USE"):
        again.run(mode="offline")
    with pytest.raises(wc.ConfigError, match=r"PLAN\.STREAM_CHANGED"):
        changed.push([{"k": "a", "ts": 5}])


def test_rows_of_an_older_declaration_are_not_taken(make_app: Make) -> None:
    """Somebody else corrected the declaration after this process had looked at the stream."""
    old = make_app()
    source = declared(old)
    source.push([])
    new = make_app()
    new.stream("s", {"k": str, "ts": "timestamp"}, time="ts").push([{"k": "a", "ts": 5}])
    with pytest.raises(wc.ConfigError, match=r"PLAN\.STREAM_CHANGED"):
        source.push([{"k": "a", "v": 1, "ts": 6}])


def test_files_behind_the_end_are_said(make_app: Make, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()

    def run() -> None:
        app = make_app()
        declared(app, source=wc.files(folder)).into("out")
        app.run(mode="offline")

    (folder / "1.jsonl").write_text('{"k": "a", "v": 1, "ts": 5}\n')
    run()
    run()
    (folder / "2.jsonl").write_text('{"k": "b", "v": 2, "ts": 6}\n')
    with pytest.raises(wc.DataError, match=r"DATA\.AFTER_END.*2\.jsonl came after its end"):
        run()


@pytest.mark.parametrize(
    "row",
    [
        {"k": 5, "v": 1, "ts": 1},
        {"k": "a", "v": "7", "ts": 1},
        {"k": "a", "v": True, "ts": 1},
        {"k": "a", "v": 1.5, "ts": 1},
        {"k": "a", "v": 2**70, "ts": 1},
        {"k": "a", "v": 1, "ts": "05/01/2026"},
        {"k": "a", "v": 1, "ts": "yesterday"},
        {"k": "a", "v": 1, "ts": 1.5},
    ],
)
@pytest.mark.parametrize("shape", ["rows", "columns", "mixed"])
def test_push_does_not_guess(row: dict[str, object], shape: str, make_app: Make) -> None:
    stream = declared(make_app())
    good = {"k": "b", "v": 3, "ts": "2026-01-05T10:00:00Z"}
    given: object = [row]
    if shape == "columns":
        given = {name: [value] for name, value in row.items()}
    elif shape == "mixed":
        given = [good, row]
    with pytest.raises(wc.DataError, match=r"DATA\.WRONG_TYPE") as caught:
        stream.push(given)
    assert f"row {1 if shape == 'mixed' else 0}" in str(caught.value)


def test_push_takes_what_means_the_same(make_app: Make, tmp_path: Path) -> None:
    from datetime import UTC, date, datetime

    app = make_app()
    stream = declared(app, late="drop", slack="9999d")
    stream.into("out")
    stream.push(
        [{"k": "a", "v": 1.0, "ts": "2026-01-05T10:00:00Z"}, {"k": None, "ts": datetime(2026, 1, 5, 10, tzinfo=UTC)}]
    )
    stream.push([{"k": "b", "v": None, "ts": "2026-01-05 10:00"}, {"k": "c", "v": 2, "ts": 1_767_607_200_000_000}])
    stream.push(pl.DataFrame({"k": ["d"], "v": [3], "ts": [date(2026, 1, 5)]}))
    stream.push(pl.DataFrame({"k": ["e"], "v": [4], "ts": [datetime(2026, 1, 5, 10)]}).to_arrow())
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    rows = StreamReader(catalog, "out").read(0, 6)
    assert rows["k"].to_list() == ["a", None, "b", "c", "d", "e"]
    assert rows["v"].to_list() == [1, None, None, 2, 3, 4]
    assert rows["ts"].dt.hour().to_list() == [10, 10, 10, 10, 0, 10]


def test_the_environment_is_only_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATERCLOCK_STORE", "from_environment")
    assert wc.App("a").store == "from_environment"
    assert wc.App("a", "given").store == "given"


@pytest.fixture
def live_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Live mode, in threads, with steps in this process instead of Spark."""
    monkeypatch.setattr("waterclock.launch.runner_of", lambda *_: InProcessRunner())


def test_a_live_run_ends_when_nothing_can_come(live_here: None, make_app: Make) -> None:
    app = make_app()
    stream = declared(app)
    stream.tumbling("1s").agg(n=wc.count()).into("out")
    handle = app.run()
    stream.push([{"k": "a", "v": 1, "ts": "2026-01-05T10:00:00Z"}])
    assert not handle.wait(0.3)
    stream.end()
    assert handle.wait(10)
    assert handle.status().vertices[0].rows_out == 1


def test_the_idle_rule_closes_the_last_window(live_here: None, make_app: Make) -> None:
    app = make_app()
    stream = declared(app, idle="100ms")
    stream.tumbling("300ms").agg(n=wc.count()).into("out")
    with app.run() as handle:
        stream.push([{"k": "a", "v": 1, "ts": "2026-01-05T10:00:00Z"}])
        deadline = time.monotonic() + 10
        while handle.status().vertices[0].rows_out == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert handle.status().vertices[0].rows_out == 1


def test_the_lease_is_kept_through_a_slow_start(
    make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock of the test's own, which goes on when the lease was renewed: no machine is too slow for that."""
    now = time.time_ns() // 1000
    for database in (Sqlite, Postgres):
        monkeypatch.setattr(database, "now", lambda self: now)
    app = make_app(lease="300ms")
    declared(app).into("out")

    def slow(*_: object) -> InProcessRunner:
        nonlocal now
        catalog = Catalog.open(tmp_path / "store")
        for _ in range(4):  # together longer than the lease
            now += 200_000
            deadline = time.monotonic() + 30
            while catalog._db.query("SELECT max(expires) FROM leases")[0][0] < now + 300_000:
                assert time.monotonic() < deadline, "the lease is not renewed"
                time.sleep(0.01)
        catalog.close()
        other = make_app()
        declared(other).into("out")
        with pytest.raises(wc.StoreError, match=r"STORE\.IN_USE"):
            other.run(mode="offline")
        return InProcessRunner()

    monkeypatch.setattr("waterclock.launch.runner_of", slow)
    app.run(mode="offline")


def test_an_app_that_was_replaced_says_so(live_here: None, make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    stream = declared(app)
    stream.into("out")
    handle = app.run()
    catalog = Catalog.open(tmp_path / "store")
    catalog._db.execute("UPDATE leases SET token = token + 1")
    stream.push([{"k": "a", "v": 1, "ts": "2026-01-05T10:00:00Z"}])
    with pytest.raises(wc.StoreError, match=r"STORE\.FENCED"):
        handle.wait(10)
    assert catalog.streams.get("out").next == 0
