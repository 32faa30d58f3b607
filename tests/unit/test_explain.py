"""Programs explained: the command, the methods, what notebooks show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import waterclock as wc
from tests.unit.test_cli import PROGRAM, SQL, call, program
from waterclock.errors import ConfigError
from waterclock.explain import STAGES, plans
from waterclock.explain.rules import connector
from waterclock.explain.spark import laid_out
from waterclock.optimizer.cost import Estimate
from waterclock.plan import Filter, Node

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "examples" / "alerts.sql"
SAYS = {
    "parsed": ["line 6: create stream Process", "  watermark (Started - 2s)", "  window hopping(5s, 5s)"],
    "bound": ["query AlertWithUserID (Name string, UserID string)", "  late rows  dropped and counted"],
    "logical": ["  project Name, UserID", "    · UserID string, AlertCount bigint", "keys ProcessID"],
    "optimized": ["operators as written", "inner join"],
    "physical": ["exchange by ProcessID", "tables     panes", "guarantee  exactly once", "state      bounded by the"],
    "spark": ["only time moves: no job", "CREATE TEMPORARY VIEW view_0 AS", "GROUP BY `UserID`, _n"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage(stage: str, tmp_path: Path) -> None:
    result = call("explain", ALERTS, "--stage", stage, "--svg", tmp_path / "alerts.svg")
    assert result.exit_code == 0, result.output
    for text in SAYS[stage]:
        assert text in result.stdout
    assert "drawn: " in result.stderr
    drawing = (tmp_path / "alerts.svg").read_text()
    ElementTree.fromstring(drawing)
    assert ("stage 2" in drawing) == (stage in ("physical", "spark"))


def test_the_page() -> None:
    result = call("explain", ALERTS)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(
        "app alerts: 2 streams, 1 output\n\nCountAlerts (UserID string, AlertCount bigint)\n"
    )
    for text in (
        "    aggregate count(*) as AlertCount by UserID",
        "  state      bounded by the data: ",
        "column Ended of Process",
        "  guarantee  exactly once, as the stream CountAlerts",
        "stream Process: from Started to Ended (null: for ever)",
        "2 seconds behind the greatest Started so far; after 30 seconds without input it goes on by the clock",
    ):
        assert text in result.stdout
    assert not (ROOT / "waterclock-store").exists()


@pytest.mark.parametrize("stage", STAGES)
def test_a_python_program(stage: str, tmp_path: Path) -> None:
    result = call("explain", program(tmp_path), "--stage", stage)
    assert result.exit_code == 0, result.output
    assert "count(*) as n by user" in result.stdout
    of_sql = stage in ("parsed", "bound")
    assert result.stdout.startswith(f"{stage} is a stage of programs in SQL; this is logical\n\nper_user =\n") == of_sql


def test_errors_are_those_of_lint(tmp_path: Path) -> None:
    file = tmp_path / "broken.sql"
    file.write_text(SQL + "a = SELECT usr FROM clicks;\nb = SELECT ts FROM clicks WHERE ms;\n")
    values = ("--param", "least=5", "--param", "size=10s")
    linted, result = call("lint", file, *values), call("explain", file, *values)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == linted.stderr
    assert result.stderr.index("SQL.UNKNOWN_COLUMN") < result.stderr.index("SQL.NOT_CONDITION")
    file.write_text(SQL.split("OUTPUT")[0])
    assert "SQL.NO_OUTPUT" in call("explain", file, *values).stderr
    assert call("explain", file, *values, "--stage", "nonsense").exit_code == 2
    result = call("explain", program(tmp_path, "import waterclock as wc\napp = wc.App('a b')"))
    assert (result.exit_code, "PLAN.BAD_NAME" in result.stderr) == (2, True)
    result = call("explain", program(tmp_path, "import waterclock as wc\napp = wc.App('a')"))
    assert (result.exit_code, "PLAN.NO_OUTPUT" in result.stderr) == (2, True)


def test_a_drawing_that_cannot_be_written(tmp_path: Path) -> None:
    result = call("explain", ALERTS, "--svg", tmp_path / "nowhere" / "alerts.svg")
    assert result.exit_code == 2
    assert "No such file or directory" in result.stderr


def test_parameters_and_apps(tmp_path: Path) -> None:
    file = tmp_path / "slow.sql"
    file.write_text(SQL)
    (tmp_path / "clicks.csv").write_text("user,ms,ts\n")
    result = call("explain", file, "--param", "least=5", "--param", "size=10m")
    assert "filter (ms > 5)" in result.stdout
    assert "  state      bounded: 10 minutes of keys" in result.stdout
    assert "  sink       jsonl('slow.jsonl')\n  guarantee  idempotent: " in result.stdout
    two = program(tmp_path, PROGRAM + "\nother = wc.App('other')\n")
    assert call("explain", two).exit_code == 2
    assert "app clicks: " in call("explain", two, "--app", "clicks").stdout


def test_what_a_store_has_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = program(tmp_path)
    assert call("run", file, "--store", tmp_path / "store", "--mode", "offline").exit_code == 0
    seen = call("explain", file, "--store", tmp_path / "store")
    guessed = call("explain", file, "--store", tmp_path / "not-there")
    assert (seen.exit_code, guessed.exit_code) == (0, 0)
    assert seen.stdout != guessed.stdout
    assert not (tmp_path / "not-there").exists()


def test_rules_and_costs(make_app: Callable[..., wc.App], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever rules and costs there are."""

    class Told(Estimate):
        def __str__(self) -> str:
            return "about so much"

    def steps(root: Node) -> list[tuple[str, Node]]:
        return [("nothing", root), ("drop_filter", root.inputs[0])]

    app = make_app()
    clicks = app.stream("clicks", {"k": int, "ts": "timestamp"}, time="ts")
    clicks.filter(wc.col("k") > 1).filter(wc.col("k") > 2).into("out")
    monkeypatch.setattr(plans, "steps", steps)
    monkeypatch.setattr(plans, "estimate", lambda root, statistics: {root.identity: Told.__new__(Told)})
    assert app.explain("optimized").splitlines() == [
        "out: 2 operators as written, 1 after the rules",
        "  drop_filter: 2 to 1 operator",
        "out =",
        "filter (k > 1)",
        "    · about so much",
        "  stream clicks (k bigint, ts timestamp) of points",
    ]
    assert isinstance(app.described().outputs["out"].written, Filter)


# -- from Python -----------------------------------------------------------------------------------------------


def test_streams_and_apps(make_app: Callable[..., wc.App]) -> None:
    app = make_app()
    clicks = app.stream("clicks", {"user": str, "ts": "timestamp"}, time="ts")
    counted = clicks.group_by("user").tumbling("5s").agg(n=wc.count())
    assert counted.schema == wc.Schema.of({"user": str, "n": int})
    assert counted.explain().startswith("aggregate count(*) as n by user over tumbling(5s)")
    assert "remembers  5 seconds of keys" in counted.explain("physical")
    assert "this is logical" in counted.explain("parsed")
    with pytest.raises(ConfigError, match="parsed, bound, logical, optimized, physical, spark"):
        counted.explain("nonsense")
    counted.into("out")
    assert app.explain().startswith("app test: 1 stream, 1 output\n")
    assert app.explain("logical").startswith("out =\naggregate")
    pairs = wc.dstream(clicks, "5s").map(user="user", n=wc.lit(1))
    assert pairs.explain() == pairs.stream.explain()
    assert "exchange by user" in pairs.reduce_by_key(wc.sum).explain("physical")


def test_parts_in_sql_are_parsed_too(make_app: Callable[..., wc.App]) -> None:
    app = make_app()
    app.sql("CREATE STREAM clicks (user STRING, ts TIMESTAMP) WATERMARK ts;")
    app.sql("SELECT user FROM clicks").into("users")
    found = app.explain("parsed")
    assert "create stream clicks" in found
    assert "a query without a name" in found
    with pytest.raises(wc.SqlError):
        app.sql("SELECT usr FROM clicks")
    assert app.explain("parsed") == found


def test_notebooks(make_app: Callable[..., wc.App]) -> None:
    app = make_app()
    clicks = app.stream("clicks", {"user": str, "ts": "timestamp"}, time="ts")
    counted = clicks.group_by("user").tumbling("5s").agg(n=wc.count())
    for shown in (counted, wc.dstream(clicks, "5s").map(user="user", n=wc.lit(1))):
        html = shown._repr_html_()
        ElementTree.fromstring(f"<html>{html}</html>")
        assert "<svg " in html
        assert "<td>user</td><td>string</td>" in html
    assert app._repr_html_(), "also before there is an output"
    counted.to(wc.jsonl("per-user.jsonl"), "per_user")
    html = app._repr_html_()
    ElementTree.fromstring(f"<html>{html}</html>")
    assert "<caption>per_user</caption>" in html
    assert "jsonl(" in html


def test_connectors_have_names() -> None:
    class Mine:
        pass

    found = [wc.console(), wc.callback(print), wc.files("in/*.csv"), wc.parquet("out"), Mine()]
    assert list(map(connector, found)) == ["console", "callback", "files('in/*.csv')", "parquet('out')", "Mine"]


def test_sql_is_laid_out_by_clauses() -> None:
    sql = "SELECT a, `from x` FROM (SELECT left(a, 1) FROM t WHERE b IN (1, 2)) JOIN u ON a IS NOT DISTINCT FROM b"
    assert laid_out(sql) == (
        "SELECT a, `from x`\nFROM (\n  SELECT left(a, 1)\n  FROM t\n  WHERE b IN (1, 2))\n"
        "JOIN u ON a IS NOT DISTINCT FROM b"
    )
