"""``debug --pdb``: Python's own debugger, in a process of its own, which stops in the user's code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.past.programs import program, run
from waterclock.cli.file import load

MACHINE = """
import waterclock as wc

app = wc.App("shop", {store!r})
orders = app.stream("orders", {{"user": str, "amount": int, "ts": "timestamp"}}, time="ts")


@wc.aggregate(returns="bigint", parts={{"total": "bigint"}})
class Total:
    def initial(self):
        return (0,)

    def accumulate(self, value, start):
        return (value.sum(),)

    def merge(self, total):
        return (total.sum(),)

    def result(self, total):
        return total


orders.group_by("user").tumbling("10s").agg(paid=Total("amount")).into("paid")
"""
PLAIN = """
import waterclock as wc

app = wc.App("shop", {store!r})
orders = app.stream("orders", {{"user": str, "amount": int, "ts": "timestamp"}}, time="ts")
orders.group_by("user").tumbling("10s").agg(paid=wc.sum("amount")).into("paid")
"""


def traced(file: Path, *words: str, epoch: int = 1) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "waterclock.cli.main", "debug", file.name, "--vertex", "paid", "--epoch", str(epoch),
         "--pdb"],
        input="".join(f"{word}\n" for word in words), capture_output=True, text=True, cwd=file.parent, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = program(tmp_path)
    run(found, 5, 12)
    return found


def line_of(file: Path, text: str) -> int:
    return 1 + next(number for number, line in enumerate(file.read_text().splitlines()) if text in line)


def test_it_stops_at_the_first_line_of_the_function(file: Path) -> None:
    said = traced(file, "p amount.to_list()", "c", "where", "output")
    first = said.index("(Pdb)")
    assert f"{file}({line_of(file, 'return amount')})price()" in said[:first]
    assert "-> return amount * 2" in said[:first]
    assert "waterclock/" not in said[:first].replace(str(file), "")
    assert "[5, 6, 7, 8, 9, 10, 11]" in said
    assert "epoch 1 of paid, executed" in said


def test_stepping_goes_on_from_there(file: Path) -> None:
    said = traced(file, "n", "w", "c")
    assert "--Return--" in said
    assert "epoch 1: 3 steps" in said


def test_it_stops_in_a_class(tmp_path: Path) -> None:
    file = tmp_path / "machine.py"
    file.write_text(MACHINE.format(store=str(tmp_path / "store")))
    run(file, 5, 12)
    said = traced(file, "c")
    assert f"{file}({line_of(file, 'return (value.sum(),)')})accumulate()" in said[: said.index("(Pdb)")]


def test_a_program_without_code_stops_where_operators_are_stepped(tmp_path: Path) -> None:
    file = tmp_path / "plain.py"
    file.write_text(PLAIN.format(store=str(tmp_path / "store")))
    run(file, 5, 12)
    said = traced(file, "p leg.origin", "c", "where")
    assert "it calls no code of yours: stopping where its operators are stepped" in said
    assert "waterclock/operators/leg.py" in said[: said.index("(Pdb)")]
    assert "'orders'" in said
    assert "epoch 1 of paid, executed" in said


def test_an_epoch_that_calls_no_code_says_so(file: Path) -> None:
    app = load(file, None, None)
    app.source("orders").advance(60_000_000)
    app.run(mode="offline")
    said = traced(file, "where", epoch=2)
    assert "(Pdb)" not in said
    assert "this epoch does not call your code (price)" in said


def test_leaving_it_is_no_error_of_the_function(file: Path) -> None:
    said = traced(file, "q", "where", "run", "where")
    assert "USER.FAILED" not in said
    assert "left before its end: it counts as not executed" in said
    assert "epoch 1 of paid, not executed yet" in said
    assert said.rstrip().splitlines()[-1].startswith("epoch 1 of paid, executed")
