"""A program under test: steps, the clock, what is expected and how a difference is shown, crashes, chaos."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from tests.unit.testing.programs import CLICKS, STAYS, clicks
from waterclock.crashpoints import PLACES
from waterclock.testing import Differs, TestStream, crash, events, player
from waterclock.testing.player import REACHED

FOUR = """
    user | amount | ts
    ann  | 3      | 10:00:01
    bob  | 5      | 10:00:03
    ann  | 4      | 10:00:04
    ann  | 1      | 10:00:12
"""
FIRST = """
    user | n | total | from  | to
    ann  | 2 | 7     | 10:00 | 10:00:10
    bob  | 1 | 5     | 10:00 | 10:00:10
"""


@pytest.fixture
def ts() -> Iterator[TestStream]:
    with TestStream() as made:
        yield made


def said(error: pytest.ExceptionInfo[BaseException]) -> str:
    return str(error.value)


# -- steps -------------------------------------------------------------------------------------------------


def test_results_appear_step_by_step(ts: TestStream) -> None:
    ts.load(CLICKS).feed("clicks", FOUR)
    ts.expect("per_user", FIRST)  # the watermark is at 10:00:10
    ts.advance("10:00:20").expect("per_user", FIRST + "ann | 1 | 1 | 10:00:10 | 10:00:20")
    ts.feed("clicks", [{"user": "cy", "amount": 1, "ts": "2026-01-05T10:00:20Z"}])
    ts.end().expect(
        "per_user",
        """
        user | n | from     | to
        ann  | 2 | 10:00    | 10:00:10
        bob  | 1 | 10:00    | 10:00:10
        ann  | 1 | 10:00:10 | 10:00:20
        cy   | 1 | 10:00:20 | +10s
        """,
    )
    assert not Path("must-not-be-written.jsonl").exists()


@pytest.mark.parametrize("kind", ["app", "function", "sql file", "python file", "text"])
def test_every_kind_of_program(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clicks.sql").write_text(CLICKS)
    (tmp_path / "clicks.py").write_text("from tests.unit.testing.programs import clicks\n\napp = clicks()\n")
    monkeypatch.chdir(tmp_path)
    program = {
        "app": clicks(), "function": clicks, "sql file": "clicks.sql", "python file": tmp_path / "clicks.py",
        "text": CLICKS,
    }[kind]  # fmt: skip
    with TestStream(program) as ts:
        ts.feed("clicks", FOUR).expect("per_user", FIRST)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clicks.py", "clicks.sql"], "nothing else was touched"


def test_a_program_beside_the_test(tmp_path: Path) -> None:
    (tmp_path / "clicks.sql").write_text(CLICKS)
    with TestStream(beside=tmp_path) as ts:
        ts.load("clicks.sql").feed("clicks", FOUR).expect("per_user", FIRST)


def test_parameters() -> None:
    program = CLICKS.replace("FROM clicks", "FROM clicks WHERE amount >= :least")
    with TestStream(program, {"least": 4}) as ts:
        ts.feed("clicks", FOUR).end().expect("per_user", "user | total\n bob | 5\n ann | 4")


def test_a_program_in_python_finds_parameters_in_argv(tmp_path: Path) -> None:
    text = "import sys\nfrom tests.unit.testing.programs import clicks\n\nassert sys.argv[1:] == ['least=4']\napp = clicks()\n"
    (tmp_path / "clicks.py").write_text(text)
    with TestStream(tmp_path / "clicks.py", {"least": 4}) as ts:
        ts.feed("clicks", FOUR)


def test_rows_of_every_kind(ts: TestStream) -> None:
    row = {"user": "ann", "amount": 1, "ts": "2026-01-05T10:00:01Z"}
    ts.load(CLICKS).feed("clicks", [row]).feed("clicks", pl.DataFrame([row])).feed("clicks", events(FOUR)).end()
    ts.expect("per_user", [
        {"user": "ann", "n": 4, "total": 9, "from": "10:00", "to": "10:00:10"},
        {"user": "bob", "n": 1, "total": 5, "from": "10:00", "to": "10:00:10"},
        {"user": "ann", "n": 1, "total": 1, "from": "10:00:10", "to": "10:00:20"},
    ])  # fmt: skip
    frame = ts.rows("per_user")
    assert frame.columns == ["valid_from", "valid_to", "user", "n", "total"]
    ts.expect("per_user", frame).expect("per_user", frame.drop("valid_from", "valid_to"))


def test_lifetimes_and_two_streams(ts: TestStream) -> None:
    ts.load(STAYS)
    ts.feed("stays", "guest | room | from | to\n ann | 1 | 20:00 |\n bob | 1 | 21:00 | 23:00\n cy | 2 | 20:00 | 22:00")
    ts.feed("alarms", "room | kind | at\n 1 | fire | 22:00\n 2 | test | 21:59:59.999999\n 2 | test | 22:00")
    ts.advance("23:00")
    ts.expect("woken", "guest | kind | at\n ann | fire | 22:00\n bob | fire | 22:00\n cy | test | 21:59:59.999999")
    ts.expect("taken", "room | guests | from | to\n 1|1|20:00|21:00\n 1|2|21:00|23:00\n 2|1|20:00|22:00")
    ts.expect_same_as_reference().end().expect_same_as_reference().chaos(times=5)


def test_how_lifetimes_are_cut_does_not_matter(ts: TestStream) -> None:
    ts.load(CLICKS).feed("clicks", FOUR)
    ts.expect("per_user", """
        user | n | total | from    | to
        ann  | 2 | 7     | 10:00   | 10:00:03
        ann  | 2 | 7     | 10:00:03 | 10:00:10
        bob  | 1 | 5     | 10:00   | 10:00:10
    """)  # fmt: skip
    with pytest.raises(Differs):
        ts.expect("per_user", FIRST + "bob  | 1 | 5 | 10:00 | 10:00:10")


# -- the clock ---------------------------------------------------------------------------------------------


def test_time_moves_by_a_duration_from_the_last_event(ts: TestStream) -> None:
    ts.load(CLICKS).feed("clicks", FOUR).advance(seconds=6).advance("+1s").expect("per_user", FIRST)
    ts.advance(seconds=1)
    assert ts.rows("per_user").height == 3


def test_a_quiet_stream_goes_on_by_the_clock(ts: TestStream) -> None:
    ts.load(CLICKS).feed("clicks", FOUR)
    ts.wait("29s").expect("per_user", FIRST)
    ts.wait(seconds=1)
    assert ts.rows("per_user").height == 3, "10:00:10 and half a minute"
    ts.crash().chaos(seed=1, times=10)


def test_news_end_the_quiet(ts: TestStream) -> None:
    ts.load(CLICKS).feed("clicks", FOUR).wait("20s").feed("clicks", "user | amount | ts\n cy | 1 | 10:00:13")
    ts.wait("20s").expect("per_user", FIRST)
    ts.wait("10s")
    assert ts.rows("per_user").height == 4
    ts.chaos(seed=2, times=10)


def test_without_an_idle_rule_time_stands_still(ts: TestStream) -> None:
    ts.load(CLICKS.replace(" IDLE AFTER 30s", "")).feed("clicks", FOUR).wait(hours=5).expect("per_user", FIRST)


def test_rows_from_the_future(ts: TestStream) -> None:
    later = "user | amount | ts\n ann | 1 | 15:00"
    ts.load(CLICKS).feed("clicks", FOUR)
    with pytest.raises(wc.DataError, match="ahead of the clock"):
        ts.feed("clicks", later, at="10:05")
    ts.feed("clicks", later)
    assert ts.counts("clicks") == {"rows": 5}


def test_another_day() -> None:
    with TestStream(CLICKS, day="2024-02-29") as ts:
        ts.feed("clicks", FOUR).expect("per_user", FIRST)
        assert str(ts.rows("per_user")["valid_from"][0]) == "2024-02-29 10:00:00+00:00"


def test_late_rows() -> None:
    late = "user | amount | ts\n bob | 1 | 10:00:09\n ann | 2 | 10:00:11"
    with TestStream(CLICKS) as ts:
        ts.feed("clicks", FOUR).feed("clicks", late)
        assert (ts.late("clicks"), ts.counts("clicks")) == (1, {"rows": 5, "late_dropped": 1})
    with TestStream(clicks) as ts:
        ts.feed("clicks", FOUR).feed("clicks", late).end().expect("clicks.late", "user | ts\n bob | 10:00:09")
        assert ts.late("clicks") == 1
        ts.chaos(seed=3, times=10)


def test_bad_rows(ts: TestStream) -> None:
    ts.load(clicks).feed("clicks", [{"user": "ann", "amount": "many", "ts": 0}])
    assert ts.counts("clicks")["bad_skipped"] == 1


def test_a_failed_feed_leaves_nothing_behind() -> None:
    with TestStream(CLICKS.replace("LATE DROP", "LATE FAIL")) as ts:
        ts.feed("clicks", FOUR)
        with pytest.raises(wc.DataError, match=r"DATA.LATE"):
            ts.feed("clicks", "user | amount | ts\n bob | 1 | 10:00:15\n bob | 1 | 10:00:02")
        ts.advance("10:00:20").feed("clicks", "user | amount | ts\n bob | 1 | 10:00:25").end()
        assert ts.rows("per_user").height == 4
        ts.expect_same_as_reference().chaos(times=3)


def test_a_function_that_fails_says_so_in_every_step() -> None:
    def shares() -> wc.App:
        app = wc.App("shares")
        rows = app.stream("rows", {"n": int, "t": int}, time="t")
        share = wc.function(returns=int, per_row=True)(lambda n: 6 // n)
        rows.select(share=share("n")).into("out")
        return app

    with TestStream(shares) as ts:
        ts.feed("rows", "n | t\n 2 | 1").expect("out", "share\n 3")
        for _ in range(2):
            with pytest.raises(wc.UserError, match="ZeroDivisionError"):
                ts.feed("rows", "n | t\n 0 | 2")


# -- what is said ------------------------------------------------------------------------------------------


def test_a_difference_is_a_table(ts: TestStream) -> None:
    ts.load(CLICKS).feed("clicks", FOUR)
    with pytest.raises(Differs) as error:
        ts.expect("per_user", """
            user | n | total | from  | to
            ann  | 3 | 7     | 10:00 | 10:00:10
            bob  | 1 | 5     | 10:00 | 10:00:10
            bob  | 1 | null  | 10:00:10 | ∞
        """)  # fmt: skip
    assert said(error) == (
        "per_user is not as expected: 2 missing (-), 1 unexpected (+)\n"
        "    user | n | total | from     | to\n"
        "  + ann  | 2 | 7     | 10:00    | 10:00:10\n"
        "  - ann  | 3 | 7     | 10:00    | 10:00:10\n"
        "    bob  | 1 | 5     | 10:00    | 10:00:10\n"
        "  - bob  | 1 | null  | 10:00:10 | ∞\n"
        "  The time (CTI) of per_user: 10:00:10"
    )


def test_nothing_came_yet(ts: TestStream) -> None:
    ts.load(CLICKS).expect("per_user", "").expect("per_user", [])
    ts.feed("clicks", "user | amount | ts\n ann | 1 | 10:00:07")
    with pytest.raises(Differs) as error:
        ts.expect("per_user", "user | n\n ann | 1")
    assert said(error) == (
        "per_user is not as expected: 1 missing (-), 0 unexpected (+)\n"
        "    user | n\n"
        "  - ann  | 1\n"
        "  The time (CTI) of per_user: 10:00"
    )


def test_of_many_rows_only_what_differs_is_shown(ts: TestStream) -> None:
    ts.load(CLICKS).feed(
        "clicks", [{"user": f"u{n:03}", "amount": n, "ts": "2026-01-05T10:00:00Z"} for n in range(100)]
    )
    with pytest.raises(Differs) as error:
        ts.end().expect("per_user", [{"user": f"u{n:03}", "total": n} for n in range(1, 100)])
    assert said(error).splitlines()[:3] == [
        "per_user is not as expected: 0 missing (-), 1 unexpected (+)",
        "    user | total",
        "  + u000 | 0",
    ]
    with pytest.raises(Differs, match=r"100 unexpected \(\+\)\n(.*\n){41}    \.\.\. and 60 more"):
        ts.expect("per_user", "")


def test_floats_are_equal_when_nine_digits_are() -> None:
    with TestStream(CLICKS.replace("SUM(amount) AS total", "AVG(amount) AS mean")) as ts:
        ts.feed("clicks", "user|amount|ts\n ann|1|10:00\n ann|1|10:00\n ann|2|10:00").end()
        ts.expect("per_user", "user | mean\n ann | 1.33333333333")
        with pytest.raises(Differs, match=r"- ann  \| 1.3333\n"):
            ts.expect("per_user", "user | mean\n ann | 1.3333 ")


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (lambda ts: ts.feed("click", FOUR), "[TEST.NO_STREAM] The program has no stream 'click'.\n  hint: Streams: clicks. Did you mean 'clicks'?"),
        (lambda ts: ts.end("click"), "[TEST.NO_STREAM] The program has no stream 'click'.\n  hint: Streams: clicks. Did you mean 'clicks'?"),
        (lambda ts: ts.expect("per_usr", ""), "[RUN.NO_OUTPUT] There is no output 'per_usr'.\n  hint: Outputs: per_user, clicks. Did you mean 'per_user'?"),
        (lambda ts: ts.rows("clicks.late"), "[PLAN.NO_SIDE_STREAM] The stream 'clicks' keeps no 'clicks.late'.\n  hint: Declare it with late='divert'."),
        (lambda ts: ts.advance("10:00:05"), "[TEST.BACKWARDS] The stream 'clicks' is at 10:00:10 already, and cannot go back to 10:00:05.\n  hint: Time only goes on: name a later time, or feed the earlier rows first."),
        (lambda ts: ts.advance(minutes=-5), "[TEST.BACKWARDS] The clock is at 10:00:12 already, and cannot go back to 09:55:12.\n  hint: Time only goes on: name a later time, or feed the earlier rows first."),
        (lambda ts: ts.feed("clicks", FOUR, at="9:00"), "[TEST.BACKWARDS] The clock is at 10:00:12 already, and cannot go back to 09:00.\n  hint: Time only goes on: name a later time, or feed the earlier rows first."),
        (lambda ts: ts.end().advance("11:00"), "[TEST.BACKWARDS] The stream 'clicks' is at its end already, and cannot go back to 11:00.\n  hint: Time only goes on: name a later time, or feed the earlier rows first."),
        (lambda ts: ts.end().feed("clicks", FOUR), "[TEST.ENDED] The stream 'clicks' has ended in this test.\n  hint: Feed it before end()."),
        (lambda ts: ts.advance(), "[TEST.WHEN] advance() takes one time.\n  hint: Write advance('10:05') or advance(minutes=5)."),
        (lambda ts: ts.wait(fortnights=1), "[TEST.WHEN] wait() takes one time.\n  hint: Write wait('30s') or wait(seconds=30)."),
        (lambda ts: ts.advance("+soon"), "[TEST.WHEN] advance() takes one time.\n  hint: Write advance('10:05') or advance(minutes=5)."),
        (lambda ts: ts.advance("noon"), "[TEST.BAD_TIME] 'noon' is not a time.\n  hint: Write 10:00, 10:00:05.25, 2026-01-05T10:00:05Z, or microseconds since 1970."),
        (lambda ts: ts.load(CLICKS), "[TEST.LOADED_TWICE] This test has a program already.\n  hint: Test another program with another TestStream."),
        (lambda ts: ts.crash("epoch.before_comit"), f"[TEST.NO_PLACE] A test cannot crash at 'epoch.before_comit'.\n  hint: Places: {', '.join(REACHED)}. Without a place it crashes at once. Did you mean 'epoch.before_commit'?"),
        (lambda ts: ts.crash("ingest.before_write").advance("11:00"), "[TEST.NOT_REACHED] The crash at 'ingest.before_write' did not happen: the step behind it (advance clicks) does not come by there.\n  hint: Put it before a step that does: ingest.* is where rows are fed, the others are where something is computed."),
        (lambda ts: ts.crash("task.running").expect("per_user", FIRST), "[TEST.NOT_REACHED] The crash at 'task.running' did not happen: the step behind it (none) does not come by there.\n  hint: Put it before a step that does: ingest.* is where rows are fed, the others are where something is computed."),
        (lambda ts: ts.expect("per_user", 5), "[CONFIG.BAD_OPTION] rows=5 is not possible.\n  hint: Expect a table as text, a list of dicts or a Polars frame."),
        (lambda ts: ts.expect("per_user", [{"who": 1}]), "[TEST.BAD_TABLE] the rows for 'per_user', line 0: there is no column 'who' in 'per_user'.\n  who\n  ^^^\n  hint: Columns there: user, n, total; for the lifetime: from, to, at."),
        (lambda ts: ts.feed("clicks", "user | ts\n a | 10:01\n !advance never"), "[TEST.BAD_TABLE] the table for 'clicks', line 3: 'never' is not a time.\n   !advance never\n   ^^^^^^^^^^^^^^\n  hint: Write 10:00, 10:00:05.25, 2026-01-05T10:00:05Z, or microseconds since 1970."),
    ],
)  # fmt: skip
def test_what_cannot_be_done(ts: TestStream, step, text: str) -> None:  # type: ignore[no-untyped-def]
    ts.load(CLICKS).feed("clicks", FOUR)
    with pytest.raises(wc.ConfigError) as error:
        step(ts)
    assert said(error) == text


def test_before_there_is_a_program_or_a_time(ts: TestStream) -> None:
    with pytest.raises(wc.ConfigError, match=r"TEST.NOT_LOADED"):
        ts.feed("clicks", FOUR)
    with pytest.raises(wc.ConfigError, match=r"TEST.NO_TIME"):
        ts.load(CLICKS).wait("5s")
    with pytest.raises(wc.ConfigError, match=r"PLAN.NO_OUTPUT"):
        TestStream(wc.App("empty"))
    with pytest.raises(wc.ConfigError, match=r"day='today' is not possible"):
        TestStream(day="today")
    with pytest.raises(wc.ConfigError, match=r"returns a wc.App"):
        TestStream(lambda: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(wc.ConfigError, match=r"TEST.NO_PROGRAM.*nowhere.sql"):
        TestStream("nowhere.sql")


# -- crashes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", REACHED)
def test_a_crash_changes_nothing(ts: TestStream, place: str) -> None:
    ts.load(CLICKS).crash().crash(place).feed("clicks", FOUR).expect("per_user", FIRST)
    if place not in ("ingest.before_write", "task.running", "task.after_files"):
        ts.crash(place)
    ts.end()
    assert ts.rows("per_user").height == 3
    assert ts.counts("clicks") == {"rows": 4}
    ts.expect_same_as_reference()


def test_every_place_without_a_sink_and_tidying_is_reached() -> None:
    assert set(PLACES) - set(REACHED) == {
        "sink.after_pending", "sink.before_finish", "compact.after_file", "compact.after_swap", "trim.after_catalog"
    }  # fmt: skip


def test_crashes_and_times_between_rows(ts: TestStream) -> None:
    ts.load(CLICKS)
    ts.feed("clicks", """
        user | amount | ts
        ann  | 3      | 10:00:01
        !crash
        bob  | 5      | +2s
        !crash epoch.before_commit
        ann  | 4      | +1s
        !advance +6s
        ann  | 1      | 10:00:12
    """)  # fmt: skip
    ts.expect("per_user", FIRST)
    row = {"user": "cy", "amount": 1, "ts": "2026-01-05T10:00:21Z"}
    ts.feed("clicks", [row, crash(), row, crash("sync.before_mark"), row]).end()
    assert ts.rows("per_user").filter(pl.col("user") == "cy")["n"].to_list() == [3]


def test_a_crash_that_nothing_follows() -> None:
    with pytest.raises(wc.ConfigError, match=r"TEST.NOT_REACHED.*'epoch.before_commit'"), TestStream(CLICKS) as ts:
        ts.feed("clicks", FOUR).crash("epoch.before_commit")


def test_a_crash_drops_what_is_in_memory(ts: TestStream) -> None:
    ts.load(CLICKS)
    before = ts._playing.open()
    ts.crash().feed("clicks", FOUR)
    assert ts._playing.open() is not before


# -- chaos and the reference -------------------------------------------------------------------------------


def test_chaos_plays_everything_again(ts: TestStream) -> None:
    ts.load(CLICKS).feed("clicks", FOUR).expect("per_user", FIRST).advance("10:00:20").end("clicks")
    ts.chaos(seed=7, times=30)


def test_chaos_finds_what_is_not_determined() -> None:
    def lottery() -> wc.App:
        app = wc.App("lottery")
        rows = app.stream("rows", {"n": int, "t": int}, time="t")
        draw = wc.function(returns=int, per_row=True)(_drawn)
        rows.select(drawn=draw("n")).into("out")
        return app

    with TestStream(lottery) as ts:
        ts.feed("rows", "n | t\n 2 | 1\n 3 | 2").end()
        with pytest.raises(Differs, match=r"In run 1 of chaos"):
            ts.chaos(times=3)


def _drawn(n: int) -> int:
    import random

    return n * random.randrange(2**40)


def test_chaos_finds_a_row_that_is_taken_twice(ts: TestStream, monkeypatch: pytest.MonkeyPatch) -> None:
    ts.load(CLICKS).feed("clicks", FOUR).end()
    real = player.Chunk
    monkeypatch.setattr(player, "Chunk", lambda number, *rest: real(None, *rest))  # nothing remembers what was taken
    with pytest.raises(Differs, match=r"per_user differs(.*\n)*.*feed clicks: \d rows, crash at ingest.after_commit"):
        ts.chaos(times=100)


def test_a_failure_in_chaos_is_shown_with_what_was_done(ts: TestStream, monkeypatch: pytest.MonkeyPatch) -> None:
    ts.load(CLICKS).feed("clicks", FOUR)

    def full(self: object, step: object) -> None:
        raise wc.StoreError("STORE.FULL", path="there")

    monkeypatch.setattr(player.Player, "_take", full)
    with pytest.raises(Differs) as error:
        ts.chaos(times=1)
    lines = said(error).splitlines()
    assert lines[0].endswith("the program failed: [STORE.FULL] No space left while writing there.")
    assert lines[2] == "What was done:"
    assert lines[-1].startswith("  feed clicks: ")


def test_a_difference_that_chaos_finds_is_shown_with_what_was_done(ts: TestStream) -> None:
    ts.load(CLICKS).feed("clicks", FOUR).expect("per_user", FIRST)
    look = ts._steps[-1]
    object.__setattr__(look, "found", look.found[:1])  # type: ignore[union-attr]
    with pytest.raises(Differs) as error:
        ts.chaos(seed=7, times=1)
    lines = said(error).splitlines()
    assert lines[0] == "In run 1 of chaos(seed=7, times=1), per_user differs: 0 missing (-), 1 unexpected (+)"
    assert lines[1] == "    user | n | total | from  | to"
    assert "What was done:" in lines
    assert any(line.startswith("  feed clicks: ") for line in lines)


def test_results_before_they_are_final_survive_chaos_but_have_no_reference() -> None:
    def early() -> wc.App:
        app = wc.App("early")
        rows = app.stream("clicks", {"user": str, "amount": int, "ts": "timestamp"}, time="ts", slack="5s")
        rows.group_by("user").tumbling("10s", early="5s").agg(n=wc.count()).into("per_user")
        return app

    with TestStream(early) as ts:
        ts.feed("clicks", FOUR).feed("clicks", "user | amount | ts\n cy | 1 | 10:00:09").end()
        ts.chaos(times=10)
        with pytest.raises(wc.ConfigError, match=r"TEST.NO_REFERENCE.*'per_user' gives results before"):
            ts.expect_same_as_reference()


def test_the_reference_finds_a_wrong_result(ts: TestStream, monkeypatch: pytest.MonkeyPatch) -> None:
    ts.load(CLICKS).feed("clicks", FOUR)
    frame = ts._playing.frame("per_user")
    monkeypatch.setattr(
        ts._playing,
        "frame",
        lambda name: frame.head(1) if name == "per_user" else type(ts._playing).frame(ts._playing, name),
    )
    with pytest.raises(
        Differs, match=r"per_user is not what the definitions say: 1 missing \(-\), 0 unexpected \(\+\)"
    ):
        ts.expect_same_as_reference()


def test_outputs_that_read_outputs_and_cycles_have_a_reference() -> None:
    def program() -> wc.App:
        app = wc.App("links")
        links = app.stream("links", {"a": str, "b": str, "ts": "timestamp"}, time="ts", duration="1h")
        counted = links.group_by("a").tumbling("1h").agg(n=wc.count())
        counted.into("counted")
        app.read("counted").filter(wc.col("n") > 1).into("many")
        return app

    with TestStream(program) as ts:
        ts.feed("links", "a | b | ts\n x | y | 10:00\n x | z | 10:01\n y | z | 10:02").expect_same_as_reference()
        ts.end().expect_same_as_reference().chaos(times=5)
        assert ts.rows("many").height == 1


# -- what is left behind -----------------------------------------------------------------------------------


def test_its_store_is_removed() -> None:
    ts = TestStream(CLICKS)
    folder = ts._folder
    assert (folder / "store" / "catalog.sqlite").exists()
    ts.close()
    assert not folder.exists()
    ts = TestStream(CLICKS)
    folder = ts._folder
    del ts
    gc.collect()
    assert not folder.exists()


def test_a_catalog_in_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATERCLOCK_CATALOG", "postgresql://nobody@nowhere.invalid/none")
    with TestStream(CLICKS) as ts:
        ts.feed("clicks", FOUR).expect("per_user", FIRST)
