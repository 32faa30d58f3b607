"""Every example runs."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from waterclock.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*arguments: object, cwd: Path, timeout: float = 60, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        "alerts", "clicks", "demo", "fraud", "flights_data", "flights_in_air", "flights_bad_weather",
        "flights_turnrounds", "flights_without_weather", "flights_delays", "dstream_data", "dstream_view_count",
        "dstream_word_count", "dstream_sliding_count", "dstream_sessions", "transitive_alerts", "feedback_estimate",
    }  # fmt: skip


def test_every_program_in_sql_is_right(tmp_path: Path) -> None:
    files = sorted(EXAMPLES.glob("*.sql"))
    assert [file.stem for file in files] == ["alerts"]
    run("-m", "waterclock.cli.main", "lint", *files, cwd=EXAMPLES.parent)


def test_programs_in_sql_are_laid_out(tmp_path: Path) -> None:
    files = sorted(EXAMPLES.rglob("*.sql"))
    assert len(files) > 20
    files.remove(EXAMPLES / "alerts.sql")  # as it was printed
    run("-m", "waterclock.cli.main", "fmt", "--check", *files, cwd=tmp_path)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*/*.sql")), ids=lambda file: file.stem)
def test_programs_with_parameters_are_right(file: Path, tmp_path: Path) -> None:
    (tmp_path / "side_input.csv").write_text("key,value\n1,a\n")
    names = re.findall(r"files\(:(\w+)\)", file.read_text())
    params = [f"--param={name}={tmp_path / ('side_input.csv' if name == 'side' else name)}" for name in names]
    done = CliRunner().invoke(main, ["lint", str(file), *params])
    assert (done.exit_code, "never used" in done.output) == (0, False), done.output


def test_alerts_in_sql(tmp_path: Path) -> None:
    command = ("-m", "waterclock.cli.main", "run", EXAMPLES / "alerts.sql", "--store", tmp_path, "--mode", "offline")
    assert "CountAlerts: 168 rows in" in run(*command, cwd=EXAMPLES.parent)


def test_clicks(tmp_path: Path) -> None:
    assert "│ ann  ┆ 3      ┆ 2026-11-16 02:14:00 │" in run(EXAMPLES / "clicks.py", cwd=tmp_path)


def test_alerts_offline(tmp_path: Path) -> None:
    command = ("-m", "waterclock.cli.main", "run", EXAMPLES / "alerts.py", "--store", "store", "--mode", "offline")
    output = run(*command, cwd=tmp_path, ALERTS_SECONDS="1")
    assert "alerts_per_user: 2,000 rows in" in output
    assert "activity: 22,000 rows in" in output


def test_fraud(tmp_path: Path) -> None:
    assert "59 refunds of 300 clicks" in run(EXAMPLES / "fraud.py", "--clicks", 300, cwd=tmp_path)


def test_cycles(tmp_path: Path) -> None:
    assert "10:05  ann  3 hops from ann" in run(EXAMPLES / "transitive_alerts.py", cwd=tmp_path)
    assert "12:09  boiler  measured  90.00  estimate  82.14" in run(EXAMPLES / "feedback_estimate.py", cwd=tmp_path)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("in_air", "carrier"),
        ("bad_weather", "wind_speed"),
        ("turnrounds", "next_flight"),
        ("without_weather", "origin"),
        ("delays", "p90"),
    ],
)
def test_flights(name: str, answer: str, tmp_path: Path) -> None:
    output = run(EXAMPLES / f"flights_{name}.py", cwd=tmp_path)
    assert answer in output
    assert "shape: (0," not in output


@pytest.mark.spark
def test_demo(tmp_path: Path) -> None:
    output = run(EXAMPLES / "demo.py", "--seconds", 8, "--out", "out", cwd=tmp_path, timeout=300)
    assert "Nothing lost, nothing repeated" in output


def test_the_proof_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    demo = importlib.import_module("demo")
    right = pl.DataFrame({"user": ["a", "b", "c"], "n": [1, 2, 3]})
    assert demo.compare(right, right.reverse()) == (True, ["3", "3", "0", "0", "0"])
    assert demo.compare(right, right.head(2)) == (False, ["3", "2", "1", "0", "0"])
    assert demo.compare(right, pl.concat([right, right.head(1)])) == (False, ["3", "4", "0", "1", "0"])
    assert demo.compare(right, right.with_columns(n=pl.Series([1, 2, 4]))) == (False, ["3", "3", "1", "0", "1"])
    assert demo.compare(right.clear(), right.clear())[0] is False


@pytest.mark.parametrize("where", ["there", "elsewhere"])
def test_a_project_with_tests(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = EXAMPLES / "testing"
    cwd = folder if where == "there" else tmp_path
    monkeypatch.chdir(cwd)
    output = run(
        "-m", "pytest", str(folder), "-p", "pytest_waterclock", "-p", "no:xdist", cwd=cwd,
        PYTHONPATH=str(EXAMPLES.parent),
    )  # fmt: skip
    passed = re.search(r"(\d+) passed", output)
    assert passed is not None
    assert int(passed.group(1)) > 100
    done = CliRunner().invoke(main, ["test", str(folder), "--chaos", "5"])
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, "2 passed, 0 failed"), done.output
