"""SQL from Python: the plans of the fluent API, parameters, options, names; and the functions below the language."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import waterclock as wc
from waterclock.errors import CATALOGUE, SqlError
from waterclock.lang.sql.dialect import tokenize
from waterclock.lang.sql.format import formatted
from waterclock.lang.sql.functions import known, resolve
from waterclock.lang.sql.names import distance, nearest
from waterclock.lang.sql.source import Source, Span

GOLDEN = Path(__file__).parents[1] / "golden"
STREAMS = """
CREATE STREAM clicks (user STRING, page STRING, ms INT, ts TIMESTAMP) POINT AT ts WATERMARK ts - 1m;
CREATE STREAM calls (user STRING, cost INT, a TIMESTAMP, b TIMESTAMP) LIFETIME (a, b) WATERMARK a;
"""


@pytest.fixture
def app(tmp_path: Path) -> wc.App:
    made = wc.App("test", tmp_path / "store")
    made.sql(STREAMS)
    return made


# -- the same plan -------------------------------------------------------------------------------------------

SAME: list[tuple[str, Callable[[wc.Stream, wc.Stream], wc.Stream]]] = [
    ("SELECT user, ms FROM clicks WHERE ms > 5", lambda k, c: k.filter(wc.col("ms") > 5).select("user", "ms")),
    ("SELECT user, ms * 2 AS twice FROM clicks", lambda k, c: k.select("user", twice=wc.col("ms") * 2)),
    (
        "SELECT user, COUNT(*) AS n, SUM(ms) AS ms FROM clicks GROUP BY user WITH TUMBLING(5s)",
        lambda k, c: k.group_by("user").tumbling("5s").agg(n=wc.count(), ms=wc.sum("ms")),
    ),
    (
        "SELECT COUNT(*) AS n FROM clicks WITH HOPPING(10s, 5s) OFFSET 1s RESULT AT END",
        lambda k, c: k.hopping("10s", "5s", offset="1s", result="point_end").agg(n=wc.count()),
    ),
    (
        "SELECT COUNT(*) AS n FROM clicks WITH TUMBLING(10s) ALLOWED LATENESS 1m",
        lambda k, c: k.tumbling("10s", early="1m").agg(n=wc.count()),
    ),
    ("SELECT COUNT(*) AS n FROM clicks WITH SLIDING(10s)", lambda k, c: k.sliding("10s").agg(n=wc.count())),
    ("SELECT COUNT(*) AS n FROM calls WITH SLIDING(10s)", lambda k, c: c.sliding("10s").agg(n=wc.count())),
    ("SELECT MAX(cost) AS m FROM calls WITH SNAPSHOT", lambda k, c: c.snapshot().agg(m=wc.max("cost"))),
    (
        "SELECT user, COUNT(*) AS n FROM clicks GROUP BY user WITH SESSION(30s, 1h)",
        lambda k, c: k.group_by("user").session("30s", "1h").agg(n=wc.count()),
    ),
    ("SELECT AVG(ms) AS a FROM clicks WITH COUNT(10)", lambda k, c: k.last(10).agg(a=wc.avg("ms"))),
    ("SELECT * FROM SHIFT(clicks, 5s)", lambda k, c: k.shift("5s")),
    ("SELECT * FROM SET_DURATION(clicks, FOREVER)", lambda k, c: k.set_duration("forever")),
    ("SELECT * FROM STITCH(CHOP(calls, 1h))", lambda k, c: c.chop("1h").stitch()),
    ("SELECT DISTINCT user FROM clicks", lambda k, c: k.distinct("user")),
    ("SELECT * FROM clicks ORDER BY ms DESC LIMIT 3", lambda k, c: k.top(3, by="ms")),
    (
        "SELECT * FROM clicks WITH TUMBLING(1m) ORDER BY ms LIMIT 3 BY user",
        lambda k, c: k.group_by("user").top(3, by="ms", descending=False, window=wc.tumble("1m")),
    ),
    ("SELECT * FROM calls LEFT SEMI JOIN clicks USING (user)", lambda k, c: c.semi_join(k, on="user")),
    ("SELECT * FROM calls CLIP JOIN clicks ON clicks.user = calls.user", lambda k, c: c.clip_join(k, on="user")),
    (
        "SELECT user FROM clicks UNION ALL SELECT user FROM calls",
        lambda k, c: k.select("user").union(c.select("user")),
    ),
    (
        "SELECT user, n FROM (SELECT user, COUNT(*) AS n FROM clicks GROUP BY user WITH TUMBLING(5s)) WHERE n > 2",
        lambda k, c: (
            k.group_by("user").tumbling("5s").agg(n=wc.count()).filter(wc.col("n") > 2)
        ),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "fluent"), SAME, ids=[text for text, _ in SAME])
def test_the_plan_is_that_of_the_fluent_api(
    text: str, fluent: Callable[[wc.Stream, wc.Stream], wc.Stream], app: wc.App
) -> None:
    expected = fluent(app.named("clicks"), app.named("calls"))
    found = app.sql(text)
    assert found.explain() == expected.explain()
    assert found._plan.identity == expected._plan.identity


# -- parameters ----------------------------------------------------------------------------------------------


def test_parameters_have_the_types_of_python(app: wc.App) -> None:
    moment, hour = datetime(2026, 1, 5, tzinfo=UTC), timedelta(hours=1)
    values = {"i": 5, "f": 1.5, "s": "x", "b": True, "n": None, "t": moment, "d": hour}
    found = app.sql("SELECT :i AS i, :f AS f, :s AS s, :b AS b, :n AS n, :t + :d AS t FROM clicks", values)
    assert str(found.schema) == "i int, f double, s string, b boolean, n string, t timestamp"


@pytest.mark.parametrize("size", ["5s", timedelta(seconds=5), 5_000_000])
def test_parameters_as_durations(size: object, app: wc.App) -> None:
    found = app.sql("SELECT COUNT(*) AS n FROM clicks WITH TUMBLING(:size)", {"size": size})
    assert "tumbling(5s)" in found.explain()


def test_parameters_that_are_not_there_or_not_used(app: wc.App) -> None:
    with pytest.raises(SqlError, match=r"SQL.NO_PARAMETER.*\n.*(?s:.*)Did you mean least"):
        app.sql("SELECT user FROM clicks WHERE ms > :lest", {"least": 5})
    with pytest.raises(SqlError, match=r"SQL.UNUSED_PARAMETER(?s:.*)Did you mean least"):
        app.sql("SELECT user FROM clicks WHERE ms > :least", {"least": 5, "leest": 6})


@pytest.mark.parametrize("value", [object(), [1], 2**70])
def test_parameters_that_are_no_values(value: object, app: wc.App) -> None:
    with pytest.raises(SqlError, match="SQL"):
        app.sql("SELECT user FROM clicks WHERE ms > :x", {"x": value})


def test_sources_and_sinks_from_python(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"user": "ann", "ts": "2026-01-05T10:00:00Z"}\n')
    found: list[str] = []
    program = """
        CREATE STREAM clicks (user STRING, ts TIMESTAMP) WATERMARK ts FROM :source;
        users = SELECT user FROM clicks;
        OUTPUT users TO :sink;
    """
    params = {
        "source": wc.files(tmp_path / "in.jsonl"),
        "sink": wc.callback(lambda epoch, rows: found.extend(rows["user"])),
    }
    wc.sql(program, params, store=tmp_path / "store").run(mode="offline")
    assert found == ["ann"]


# -- apps ----------------------------------------------------------------------------------------------------


def test_sql_and_python_see_each_other(app: wc.App) -> None:
    named = app.sql("slow = SELECT user, ms FROM clicks WHERE ms > :least", {"least": 5})
    assert named.schema.names == ["user", "ms"]
    again = app.sql("SELECT user FROM slow")  # what was named before
    assert again._plan.identity == app.named("slow").select("user")._plan.identity
    given = app.sql("SELECT user FROM mine", mine=app.named("calls").filter(wc.col("cost") > 3))
    assert "filter (cost > 3)" in given.explain()
    app.named("slow").into("kept")
    assert app.sql("SELECT ms FROM kept").explain().endswith("stream kept (user string, ms int) of points")


def test_the_last_statement_is_what_is_given(app: wc.App) -> None:
    stream = app.sql("CREATE STREAM s (ts TIMESTAMP) WATERMARK ts")
    assert isinstance(stream, wc.SourceStream)
    assert app.sql("q = SELECT user FROM clicks; OUTPUT q AS o")._plan is app.named("q")._plan
    with pytest.raises(SqlError, match=r"SQL.NOTHING_MADE"):
        app.sql("SET epoch_rows = 5")


def test_an_error_leaves_the_app_as_it_was(app: wc.App) -> None:
    program = "CREATE STREAM s (ts TIMESTAMP) WATERMARK ts; q = SELECT ts FROM s; OUTPUT q; bad = SELECT x FROM s;"
    with pytest.raises(SqlError, match=r"SQL.UNKNOWN_COLUMN"):
        app.sql(program)
    app.sql(program.split("bad")[0])  # no name is taken


def test_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
        SET name = 'mine'; SET store = 'there'; SET epoch_rows = 7; SET tasks = 3; SET allow_unbounded = true;
        SET master = 'local[3]'; SET spark.driver.memory = '2g'; SET spark.ui.enabled = false;
        CREATE STREAM s (ts TIMESTAMP) WATERMARK ts; q = SELECT ts FROM s; OUTPUT q;
    """
    app = wc.sql(text)
    assert (app.name, app.store, app.epoch_rows, app.tasks, app.allow_unbounded, app.master) == (
        "mine", "there", 7, 3, True, "local[3]",
    )  # fmt: skip
    assert app.spark == {"spark.driver.memory": "2g", "spark.ui.enabled": "false"}
    given = wc.sql(text, name="yours", store=tmp_path)
    assert (given.name, given.store) == ("yours", str(tmp_path))
    monkeypatch.setattr(wc.App, "store_override", "elsewhere")
    assert wc.sql(text).store == "elsewhere"


def test_a_program_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "my program.sql"
    file.write_text("CREATE STREAM s (ts TIMESTAMP) WATERMARK ts;\nq = SELECT t FROM s;")
    for given in (file, str(file)):
        with pytest.raises(SqlError, match=re.escape(f"{file}:2:12")):
            wc.sql(given)
    file.write_text("CREATE STREAM s (ts TIMESTAMP) WATERMARK ts;")
    assert wc.sql(file).name == "my-program"
    with pytest.raises(SqlError, match=r"SQL.UNREADABLE"):
        wc.sql(tmp_path / "nowhere.sql")


def test_no_such_stream(app: wc.App) -> None:
    with pytest.raises(wc.ConfigError, match=r"Did you mean 'clicks'"):
        app.source("click")


# -- errors --------------------------------------------------------------------------------------------------


def test_errors_survive_pickling(app: wc.App) -> None:
    with pytest.raises(SqlError) as caught:
        app.sql("SELECT x FROM clicks")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.place, again.offset) == (str(caught.value), caught.value.place, 7)


def test_every_error_is_shown_somewhere() -> None:
    """Each code of the language is in a golden file or in a test."""
    tests = Path(__file__).parents[1]
    texts = [path.read_text() for path in GOLDEN.rglob("*.out")]
    texts += [path.read_text() for path in (*tests.glob("unit/*.py"), *tests.glob("properties/*.py"))]
    missing = [code for code in CATALOGUE if code.startswith("SQL.") and not any(code in text for text in texts)]
    assert not missing


def test_on_error_without_user_code_is_refused() -> None:
    app = wc.App()
    app.stream("s", {"t": int, "x": int}, time="t")
    with pytest.raises(wc.ConfigError) as raised:
        app.sql("SELECT x FROM s ON ERROR SKIP")
    assert raised.value.code == "SQL.NOTHING_FAILS"


def test_the_place_of_a_long_line_and_of_tabs() -> None:
    source = Source("x" * 300 + "HERE" + "y" * 300, "f.sql")
    place = source.place(Span(300, 304)).splitlines()
    assert place[0] == "  --> f.sql:1:301"
    at = place[2].index("^")
    assert place[1][at : at + 4] == "HERE"
    assert place[2][at:] == "^~~~"
    tabbed = Source("\tab\tHERE").place(Span(4, 8)).splitlines()
    assert tabbed[1].index("HERE") == tabbed[2].index("^")
    assert Source("one\r\ntwo\rthree").place(Span(9, 14)).splitlines()[0] == "  --> <sql>:3:1"


# -- below the language --------------------------------------------------------------------------------------


def test_edit_distance() -> None:
    cases = [("", "", 0), ("a", "", 1), ("abc", "abc", 0), ("usreid", "userid", 1), ("kitten", "sitting", 3)]
    for one, other, expected in cases:
        assert distance(one, other) == distance(other, one) == expected
    assert nearest("Usrid", ["Name", "UserID"]) == " Did you mean UserID?"
    assert nearest("x", ["y"]) == nearest("completely", ["different"]) == ""


def test_functions_are_known_by_name() -> None:
    assert {"upper", "coalesce", "count", "percentile_cont", "window_start"} <= set(known())
    assert resolve("add") is resolve("is_in") is resolve("nothing") is None


PROGRAMS = sorted(path for path in GOLDEN.rglob("*.sql") if "errors" not in path.parts)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_the_layout_changes_nothing_but_white_space_and_case(path: Path) -> None:
    before = Source(path.read_text())
    after = Source(formatted(before))
    assert formatted(after) == after.text
    words = [[token.text.upper() for token in tokenize(source)] for source in (before, after)]
    assert words[0] == words[1]
    comments = [re.findall(r"--.*|/\*.*?\*/", source.text, re.DOTALL | re.MULTILINE) for source in (before, after)]
    assert len(comments[0]) == len(comments[1])
    assert max(map(len, after.text.splitlines()), default=0) <= 110
