"""User code on Spark's workers: the same answer as on the desk, and errors that name the user's line."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import waterclock as wc
from tests.properties.test_user_kernel import Shorter, begin, go_on, last_two, seen_before
from tests.unit.user.test_aggregates import below, mean
from tests.unit.user.test_functions import half, letters, plus, shout
from waterclock.reference import bag_difference, evaluate
from waterclock.schema import VE, VS

pytestmark = pytest.mark.spark

FACTOR = 3
ROWS = [
    {"t": n * 7 % 40, "x": n % 9 - 3, "y": n / 4, "k": "abc"[n % 3], "e": n * 7 % 40 + n % 5 + 1} for n in range(60)
]
SCHEMA = {"t": int, "x": "int", "y": float, "k": str, "e": int}
STATE = {"n": "int", "trail": str, "z": "float"}


def times(x: pl.Series) -> pl.Series:
    return x * FACTOR


tripled = wc.function(returns="int")(times)


def odd(pair: wc.Row) -> bool:
    return bool(pair.x % 2)


QUERIES: dict[str, Callable[[wc.Stream], wc.Stream]] = {
    "functions": lambda s: s.select(a=half("x"), b=shout("k", 2), c=plus("t", "e"), d=tripled("x"), e=letters("k")),
    "filter": lambda s: s.filter(wc.col("x") != 0).filter(half("x") > 0),
    "windows": lambda s: s.group_by("k").hopping(10, 3).agg(m=mean("x"), b=below("t", 30, where=wc.col("x") > 0)),
    "snapshots": lambda s: s.group_by("k").snapshot().agg(m=mean(half("x").cast("bigint"))),
    "track": lambda s: s.group_by("k").track(begin, go_on, 9, STATE),
    "track all": lambda s: s.group_by().track(begin, go_on, None, STATE, "point"),
    "seen": lambda s: s.group_by("k").apply(seen_before),
    "shorter": lambda s: s.apply(Shorter(3)),
    "elements": lambda s: wc.dstream(s, 10).map(lambda e: (e.k, e.x), {"k": str, "x": int}).filter(odd).stream,
    "reduction": lambda s: wc.dstream(s, 10).map(k="k", t="t").reduce_by_window(30, lambda a, b: max(a, b)).stream,
    "last two": lambda s: s.group_by("x").apply(last_two).filter(half("last") > 0.5),
}


def app_of(make_app: Callable[..., wc.App], query: Callable[[wc.Stream], wc.Stream], **options: Any) -> tuple[Any, Any]:
    app = make_app("u" + uuid.uuid4().hex[:8], store=uuid.uuid4().hex, **options)
    stream = app.stream("s", SCHEMA, time="t", end="e", slack=100)
    plan = query(stream).into("out")._plan
    stream.push(ROWS[:30])
    stream.push(ROWS[30:])
    stream.end()
    return app, plan


def events_of(frame: pl.DataFrame) -> list[Any]:
    return [(row.pop(VS), row.pop(VE), row) for row in frame.iter_rows(named=True)]


@pytest.mark.parametrize("name", QUERIES)
def test_workers_batch_and_desk_agree(make_app: Callable[..., wc.App], name: str) -> None:
    app, plan = app_of(make_app, QUERIES[name], epoch_rows=40)
    expected = evaluate(plan, {"s": [(row["t"], row["e"], row) for row in ROWS]}, {"s": -61})
    assert expected
    batch = app.run("batch").frame("out")
    assert not bag_difference(events_of(batch), expected)
    with app.run("drain") as handle:
        handle.wait(120)
        assert not bag_difference(events_of(handle.frame("out")), expected)


@wc.function(returns="int", per_row=True)
def fragile(x: int) -> int:
    return 10 // x


@pytest.mark.parametrize("mode", ["drain", "batch"])
def test_errors_come_back_with_the_users_line(make_app: Callable[..., wc.App], mode: str) -> None:
    app, _ = app_of(make_app, lambda s: s.select(z=fragile("x")))
    with pytest.raises(wc.UserError) as caught:
        app.run(mode).wait(120)
    text = str(caught.value)
    assert "fragile raised ZeroDivisionError" in text
    assert f"{__file__}:" in text
    assert "return 10 // x" in text
    assert "fragile.on_row(0)" in text
    assert ("in epoch 0 of 'out'" in text) == (mode == "drain")


PROGRAM = """
import waterclock as wc
LIMIT = 4

def helper(x):
    return x + LIMIT

@wc.function(returns="bigint", per_row=True)
def more(x):
    return helper(x)

app = wc.App("main", store="store", master="local[1]", spark={"spark.driver.memory": "1g"})
s = app.stream("s", {"t": int}, time="t")
s.select(z=more("t")).group_by("z").track(lambda k, e: k, lambda k, s, e: s + 1, 5).into("out")
s.push([{"t": n} for n in range(3)])
s.end()
handle = app.run("drain")
handle.wait(100)
print(sorted(handle.frame("out")["state"].to_list()))
"""


def test_code_of_the_main_program_travels(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "[4, 5, 6]" in done.stdout, done.stdout + done.stderr


def test_the_desk_needs_no_spark(tmp_path: Path) -> None:
    program = PROGRAM.replace('"drain"', '"offline"') + "\nimport sys\nassert 'pyspark' not in sys.modules\n"
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "[4, 5, 6]" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
