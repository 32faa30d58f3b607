"""The command: what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner, Result

from waterclock.cli import doctor, live, look, show
from waterclock.cli.main import main
from waterclock.runtime.metrics.figures import Spread, Status, StreamStatus, VertexRecent, VertexStatus
from waterclock.time import BEGINNING, FOREVER

PROGRAM = """
import polars as pl
import waterclock as wc

START = 1_700_000_000_000_000
app = wc.App("clicks")
source = wc.generate(lambda e: e.select("ts", user=pl.col("n") % 3), rate=100, count=1000, start=START, batch=100)
clicks = app.stream("clicks", {"user": int, "ts": "timestamp"}, time="ts", source=source)
clicks.group_by("user").tumbling("5s").agg(n=wc.count()).into("per_user")

if __name__ == "__main__":
    raise SystemExit("the command must not run the program as a script")
"""


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def program(folder: Path, text: str = PROGRAM) -> Path:
    file = folder / "program.py"
    file.write_text(textwrap.dedent(text))
    return file


@pytest.fixture
def store(tmp_path: Path) -> Path:
    result = call("run", program(tmp_path), "--store", tmp_path / "store", "--mode", "offline")
    assert result.exit_code == 0, result.output
    return tmp_path / "store"


def test_run_ends_with_a_summary(tmp_path: Path) -> None:
    result = call("run", program(tmp_path), "--store", tmp_path / "store", "--mode", "offline")
    assert result.exit_code == 0
    assert "per_user: 1,000 rows in, 6 out" in result.stderr
    assert f"waterclock tail per_user --store {tmp_path / 'store'}" in result.stderr
    assert result.stdout == ""


def test_run_quietly(tmp_path: Path) -> None:
    result = call("run", program(tmp_path), "--store", tmp_path / "store", "--mode", "offline", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


def test_the_option_wins_over_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = """
        import waterclock as wc
        app = wc.App("clicks", store="from-program")
        clicks = app.stream("clicks", {"ts": "timestamp"}, time="ts")
        clicks.tumbling("5s").agg(n=wc.count()).into("out")
        clicks.push([{"ts": "2023-11-16T02:14:00Z"}])
        clicks.end()
    """
    assert call("run", program(tmp_path, text), "--store", "mine", "--mode", "offline").exit_code == 0
    assert (tmp_path / "mine" / "catalog.sqlite").exists()
    assert not (tmp_path / "from-program").exists()
    assert "WATERCLOCK_STORE" not in os.environ


def test_several_apps(tmp_path: Path) -> None:
    file = program(tmp_path, PROGRAM + "\nother = wc.App('other')\nsame = app\n")
    result = call("run", file, "--store", tmp_path / "store", "--mode", "offline")
    assert result.exit_code == 2
    assert "it has several apps" in result.stderr
    assert "clicks, other" in result.stderr
    assert call("run", file, "--store", tmp_path / "store", "--mode", "offline", "--app", "clicks").exit_code == 0
    assert call("run", file, "--app", "third").exit_code == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1", "there is no wc.App in it"),
        ("x = 1\ny = nothing", "line 2: NameError: name 'nothing' is not defined"),
        ("x = (", "line 1: SyntaxError: '(' was never closed"),
        ("import waterclock as wc\nwc.App('9')", "[PLAN.BAD_NAME]"),
    ],
)
def test_wrong_programs(tmp_path: Path, text: str, says: str) -> None:
    result = call("run", program(tmp_path, text), "--mode", "offline")
    assert result.exit_code == 2
    assert says in result.stderr
    assert "hint:" in result.stderr
    assert "Traceback" not in result.stderr


def test_traceback_on_request(tmp_path: Path) -> None:
    result = call("run", program(tmp_path, "x = nothing"), "--traceback")
    assert "Traceback" in result.stderr
    assert "x = nothing" in result.stderr


def test_a_failing_app_exits_with_1(tmp_path: Path) -> None:
    text = PROGRAM.replace('pl.col("n") % 3', 'pl.col("oops")')
    result = call("run", program(tmp_path, text), "--store", tmp_path / "store", "--mode", "offline")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-2].startswith("error [RUN.SOURCE_FAILED] The source of 'clicks' failed")
    assert result.stderr.splitlines()[-1].startswith("  hint: ")


def test_usage_errors_exit_with_2(tmp_path: Path) -> None:
    assert call("run", tmp_path / "none.py").exit_code == 2
    assert call("run", program(tmp_path), "--mode", "sideways").exit_code == 2
    assert call("nonsense").exit_code == 2


def test_status(store: Path) -> None:
    text = call("status", "--store", store)
    assert text.exit_code == 0
    assert "clicks: stopped after" in text.stdout
    (app,) = json.loads(call("status", "--store", store, "--json").stdout)
    (vertex,) = app["vertices"]
    assert (app["state"], vertex["name"], vertex["backlog"], vertex["cti"]) == ("stopped", "per_user", 0, FOREVER)
    assert (vertex["rows_in"], vertex["rows_out"]) == (1000, 6)
    assert vertex["epoch"] == vertex["durable_epoch"]


def test_streams(store: Path) -> None:
    assert "user bigint, ts timestamp" in call("streams", "--store", store).stdout
    clicks, per_user = json.loads(call("streams", "--store", store, "--json").stdout)
    assert (clicks["name"], clicks["rows"], clicks["late"], clicks["bad"]) == ("clicks", 1000, 0, 0)
    assert (per_user["name"], per_user["next"], per_user["ended"]) == ("per_user", 6, True)
    assert clicks["bytes"] > 1000


def test_tail(store: Path) -> None:
    lines = call("tail", "per_user", "--store", store, "-n", 2).stdout.splitlines()
    assert lines[0].split() == ["seq", "valid_from", "valid_to", "user", "n"]
    assert [line.split()[0] for line in lines[1:]] == ["4", "5"]
    events = [json.loads(line) for line in call("tail", "clicks", "--store", store, "--json").stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(990, 1000))
    assert events[-1] == {
        "seq": 999, "valid_from": "2023-11-14T22:13:29.990Z", "valid_to": "2023-11-14T22:13:29.990001Z",
        "user": 0, "ts": "2023-11-14T22:13:29.990Z",
    }  # fmt: skip


def test_tail_of_columns_named_like_ours() -> None:
    rows = pl.DataFrame({"_vs": [0], "_ve": [1], "seq": [7], "valid_from": ["x"]})
    text = CliRunner().invoke(click.command()(lambda: look.print_events(3, rows, as_json=True, head=True))).stdout
    assert json.loads(text) == {
        "seq": 3, "valid_from": "1970-01-01T00:00:00Z", "valid_to": "1970-01-01T00:00:00.000001Z",
        "seq_": 7, "valid_from_": "x",
    }  # fmt: skip


def test_following_an_ended_stream_ends(store: Path) -> None:
    result = call("tail", "per_user", "--store", store, "-n", 3, "--follow", "--json")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 3


def test_a_stream_that_is_not_there(store: Path) -> None:
    result = call("tail", "per_usr", "--store", store)
    assert result.exit_code == 1
    assert "Did you mean 'per_user'?" in result.stderr


@pytest.mark.parametrize("command", [("status",), ("metrics",), ("streams",), ("tail", "x")])
def test_not_a_store(tmp_path: Path, command: tuple[str, ...]) -> None:
    result = call(*command, "--store", tmp_path)
    assert result.exit_code == 1
    assert "[STORE.NOT_A_STORE]" in result.stderr


@pytest.mark.parametrize("command", ["run", "status", "metrics", "streams", "tail", "doctor"])
def test_every_command_has_an_example(command: str) -> None:
    result = call(command, "--help")
    assert result.exit_code == 0
    assert f"waterclock {command}" in result.stdout


def test_version() -> None:
    assert call("--version").stdout.startswith("waterclock 0.")


def test_doctor_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "java", lambda: doctor.Finding("ok", "17"))
    monkeypatch.setattr(doctor, "memory", lambda: doctor.Finding("ok", "4 GiB"))
    monkeypatch.setattr(doctor, "disk", lambda folder: doctor.Finding("ok", str(folder)))
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    good = call("doctor", "--store", tmp_path / "not" / "yet")
    assert good.exit_code == 0, good.stdout
    assert str(tmp_path) in good.stdout
    monkeypatch.setenv("SPARK_REMOTE", "sc://somewhere")
    bad = call("doctor", "--store", tmp_path)
    assert bad.exit_code == 1
    assert "fail: Spark Connect: Unset it" in bad.stdout


def test_doctor_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert doctor.java().level == "fail"


def test_the_live_line() -> None:
    recent = VertexRecent(epoch_seconds=Spread(0.038, 0.05, 0.06))
    time = 1_700_000_000_000_000
    vertex = VertexStatus("out", 73, 70, 10, 5, 12_345, time, time, None, 0, 0, 0, recent=recent)
    counters = {"rows": 9, "late_dropped": 2, "bad_skipped": 1}
    stream = StreamStatus("a", 9, counters, 0, False, None, None, None, None, False, False, {})
    status = Status("alerts", "running", 12.06, (vertex,), (stream,))
    text = live.line(status, 20_123.0, 1_700_000_001_500_000)
    assert text == (
        "alerts running 12.1 s | in 20.1k/s | epoch 73, 38 ms | backlog 12.3k | "
        "CTI 22:13:20 (1.5 s behind) | late 2 | bad 1"
    )
    start = VertexStatus("out", -1, -1, 0, 0, 0, BEGINNING, BEGINNING, None, 0, 0, 0)
    assert "epoch -1 | backlog 0 | CTI -∞" in live.line(Status("a", "running", 0.1, (start,)), None, 0)


def test_a_summary_points_only_to_what_is_stored() -> None:
    """A batch run leaves the store as it is."""
    status = Status("app", "finished", 1.0, (VertexStatus("out", 0, 0, 10, 5, 0, FOREVER, FOREVER, None, 0, 0, 0),))
    assert "waterclock tail out --store here" in live.summary(status, "here")
    assert "tail" not in live.summary(status, None)


def test_a_table_without_rows() -> None:
    assert show.table(["a", "b"], []) == "a  b"


def test_follow_in_another_process(store: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "waterclock.cli.main", "tail", "clicks", "--store", str(store), "-n", "1", "-f"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline().split()[0] == "seq"
    assert child.stdout.readline().split()[0] == "999"
    assert child.wait(timeout=30) == 0  # the stream has ended


def test_interrupt_while_following(tmp_path: Path) -> None:
    text = PROGRAM.replace(", count=1000", "").replace("start=START", "start='2999-01-01'")
    call("run", program(tmp_path, text), "--store", tmp_path / "open", "--mode", "offline")
    child = subprocess.Popen(
        [sys.executable, "-m", "waterclock.cli.main", "tail", "clicks", "--store", str(tmp_path / "open"), "-f"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=30) == 130


# -- programs in SQL -------------------------------------------------------------------------------------------

SQL = """
CREATE STREAM clicks (user STRING, ms INT, ts TIMESTAMP) WATERMARK ts FROM files('clicks.csv');
slow = select user, COUNT(*) AS n FROM clicks WHERE ms > :least GROUP BY user WITH TUMBLING(:size);
OUTPUT slow TO jsonl('slow.jsonl');
"""


@pytest.fixture
def sql_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clicks.csv").write_text("user,ms,ts\nann,7,2026-01-05T10:00:00Z\nann,3,2026-01-05T10:00:01Z\n")
    (tmp_path / "slow.sql").write_text(SQL)
    return Path("slow.sql")


def test_run_a_program_in_sql(sql_program: Path) -> None:
    values = ("--param", "least=5", "--param", "size=10s")
    result = call("run", sql_program, "--mode", "offline", "--store", "store", *values)
    assert result.exit_code == 0, result.output
    assert json.loads(Path("slow.jsonl").read_text())["n"] == 1
    result = call("run", sql_program, "--mode", "offline", "--store", "store", *values[:2])
    assert result.exit_code == 2
    assert "SQL.NO_PARAMETER" in result.stderr
    assert "  --> slow.sql:3:" in result.stderr
    assert call("run", sql_program, "--param", "least").exit_code == 2


def test_a_python_program_finds_parameters_in_argv(tmp_path: Path) -> None:
    text = """
        import sys
        import waterclock as wc
        app = wc.App(sys.argv[1].replace("=", "-"))
        clicks = app.stream("clicks", {"ts": "timestamp"}, time="ts")
        clicks.into("out")
    """
    result = call("run", program(tmp_path, text), "--param", "least=5", "--mode", "offline", "--store", tmp_path / "s")
    assert "least-5 stopped" in result.stderr


def test_lint_names_every_error_and_what_is_not_used(sql_program: Path) -> None:
    values = ("--param", "least=5", "--param", "size=10s")
    result = call("lint", sql_program, *values)
    assert (result.exit_code, result.stdout) == (0, "slow.sql: ok\n")
    sql_program.write_text(SQL + "a = SELECT usr FROM clicks;\nb = SELECT ts FROM clicks WHERE ms;\n")
    result = call("lint", sql_program, *values)
    assert result.exit_code == 2
    assert result.stderr.index("SQL.UNKNOWN_COLUMN") < result.stderr.index("SQL.NOT_CONDITION")
    assert "never used" not in result.stderr
    sql_program.write_text(SQL + "a = SELECT user FROM clicks;\n")
    assert "slow.sql:5: a is never used" in call("lint", sql_program, *values).stderr
    sql_program.write_text(SQL.split("OUTPUT")[0])
    assert "SQL.NO_OUTPUT" in call("lint", sql_program, *values).stderr
    assert not Path("waterclock-store").exists()


def test_lint_a_python_program(tmp_path: Path) -> None:
    assert call("lint", program(tmp_path)).exit_code == 0
    result = call("lint", program(tmp_path, "import waterclock as wc\napp = wc.App('a b')"))
    assert (result.exit_code, "PLAN.BAD_NAME" in result.stderr) == (2, True)
    text = """\
        import waterclock as wc
        app = wc.App("a")
        clicks = app.stream("clicks", {"ts": "timestamp"}, time="tt")
    """
    file = program(tmp_path, text)
    result = call("lint", file)
    assert result.exit_code == 2
    assert "[SCHEMA.UNKNOWN_COLUMN] There is no column 'tt' in " in result.stderr
    assert f"\n  --> {file}:3\n" in result.stderr


def test_fmt(sql_program: Path) -> None:
    assert call("fmt", "--check", sql_program).exit_code == 1
    assert sql_program.read_text() == SQL
    assert call("fmt", sql_program).stdout == "slow.sql: changed\n"
    assert "\nSELECT user, COUNT(*) AS n\nFROM clicks\nWHERE ms > :least\n" in sql_program.read_text()
    result = call("fmt", "--check", sql_program)
    assert (result.exit_code, result.stdout) == (0, "")
    sql_program.write_text("SELEC 1")
    assert "SQL.SYNTAX" in call("fmt", sql_program).stderr
    assert sql_program.read_text() == "SELEC 1"


def test_init_makes_a_project_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = call("init", tmp_path / "hello")
    assert result.exit_code == 0
    assert "waterclock run clicks.sql --mode offline\n  waterclock test\n" in result.stdout
    monkeypatch.chdir(tmp_path / "hello")
    assert call("lint", "clicks.sql").exit_code == 0
    assert call("fmt", "--check", "clicks.sql").exit_code == 0
    assert call("run", "clicks.sql", "--mode", "offline").exit_code == 0
    assert len(Path("per_user.jsonl").read_text().splitlines()) == 4
    result = call("test", "--chaos", 3)
    assert (result.exit_code, result.output.splitlines()[-1]) == (0, "2 passed, 0 failed"), result.output
    result = call("init", ".")
    assert (result.exit_code, "[CLI.THERE_ALREADY] clicks.sql is there already" in result.stderr) == (2, True)
