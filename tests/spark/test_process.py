"""Programs in processes of their own: what they write to stderr, how they end, what is shown of a batch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from waterclock.cli.main import main

pytestmark = pytest.mark.spark

PROGRAM = """
import sys
import waterclock as wc

app = wc.App("small", sys.argv[1], master="local[2]", spark={"spark.driver.memory": "1g"})
clicks = app.stream("clicks", {"user": str, "t": int}, time="t", late="drop")
clicks.group_by("user").tumbling(10).agg(n=wc.count()).into("per_user")
clicks.filter(wc.col("user") == "b").into("of_b")
"""
PUSH = """
clicks.push([{"user": "ab"[i % 2], "t": i} for i in range(100)])
clicks.push([{"user": "a", "t": 5}])
clicks.end()
"""


def child(program: Path, *arguments: object, **env: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(program), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | env)


def script(folder: Path, *parts: str) -> Path:
    file = folder / "program.py"
    file.write_text("".join(textwrap.dedent(part) for part in parts))
    return file


@pytest.mark.parametrize("mode", ["live", "drain", "batch"])
def test_a_run_ends_without_a_word(mode: str, tmp_path: Path) -> None:
    run = f"""
    if __name__ == "__main__":
        app.run({mode!r}).wait()
    """
    process = child(script(tmp_path, PROGRAM, PUSH, run), tmp_path / "store")
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out, errors) == (0, "", "")


@pytest.mark.parametrize("mode", ["drain", "batch"])
@pytest.mark.parametrize("seconds", [0.5, 1.5])  # a JVM alone takes longer
def test_interrupted_while_spark_starts(mode: str, seconds: float, tmp_path: Path) -> None:
    program = script(tmp_path, PROGRAM.replace("sys.argv[1]", repr(str(tmp_path / "store"))), PUSH)
    command = [sys.executable, "-m", "waterclock.cli.main", "run", str(program), "--mode", mode]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert "small: starting" in first
    assert (process.returncode, errors) == (130, "interrupted\n")


def test_workers_of_another_python_are_an_error(tmp_path: Path) -> None:
    """As in an environment that is not activated: the workers are a Python that has nothing installed."""
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    path = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
    run = """
    from pyspark.sql import SparkSession
    SparkSession.builder.master("local[1]").getOrCreate().sparkContext.setLogLevel("OFF")
    try:
        app.run("drain").wait()
    except wc.RunError as error:
        print(error)
    """
    process = child(
        script(tmp_path, path, PROGRAM, PUSH, run), tmp_path / "store", PYSPARK_PYTHON=str(bare), PYTHONPATH=""
    )
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert f"[RUN.WORKERS] Spark's Python workers, {bare}, cannot run waterclock: ModuleNotFoundError" in out
    assert f"Set PYSPARK_PYTHON (or spark.pyspark.python) to {sys.executable}" in out


def test_a_master_that_is_none_is_an_error(tmp_path: Path) -> None:
    run = """
    app.master = "nonsense"
    try:
        app.run("drain").wait()
    except wc.RunError as error:
        print(error)
    """
    out, errors = child(script(tmp_path, PROGRAM, PUSH, run), tmp_path / "store").communicate(timeout=120)
    assert "[RUN.SPARK_FAILED] Spark does not start:" in out, errors
    assert "Traceback" not in errors


def test_a_batch_shows_what_no_sink_gets(tmp_path: Path) -> None:
    text = PROGRAM.replace("sys.argv[1]", repr(str(tmp_path / "store")))
    program = script(tmp_path, text, PUSH, f"""
    app.named("per_user").filter(wc.col("n") > 5).to(wc.jsonl({str(tmp_path / 'sink.jsonl')!r}), name="sunk")
    """)  # fmt: skip
    shown = CliRunner().invoke(main, ["run", str(program), "--mode", "batch"])
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[0] == "per_user:"
    assert lines[1].split() == ["seq", "valid_from", "valid_to", "user", "n"]
    assert lines[2].split()[0] == "0"
    assert lines[22] == "of_b:"
    assert lines[24 + 20] == "... 30 more"
    assert "late 1, bad 0" in shown.stderr
    assert "per_user: 100 rows in, 20 out" in shown.stderr
    assert "sunk: 20 rows in, 0 out" in shown.stderr


def test_a_batch_writes_what_no_sink_gets(tmp_path: Path) -> None:
    text = PROGRAM.replace("sys.argv[1]", repr(str(tmp_path / "store")))
    out = tmp_path / "deep" / "out"
    arguments = ["run", str(script(tmp_path, text, PUSH)), "--mode", "batch", "--out", str(out), "--quiet"]
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, result.output) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == ["of_b.parquet", "per_user.parquet"]
    found = pl.read_parquet(out / "per_user.parquet")
    assert found.columns == ["valid_from", "valid_to", "user", "n"]
    assert found["n"].sum() == 100
