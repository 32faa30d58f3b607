"""``debug`` and ``bundle``: an epoch on a desk, from the store or from one file."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.unit.past.programs import command, program, run
from waterclock.catalog import Catalog
from waterclock.cli.file import load
from waterclock.past.debug import Debugger
from waterclock.past.epochs import recorded

CUTS = (5, 12, 25, 40)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = program(tmp_path)
    run(found, *CUTS)
    return found


def desk(file: Path, epoch: int, *words: str) -> str:
    code, said = command("debug", file, "--vertex", "paid", "--epoch", epoch, given="\n".join(words) + "\n")
    assert code == 0, said
    return said


def test_an_epoch_operator_by_operator(file: Path) -> None:
    said = desk(file, 1, "inputs", "state", "run", "steps", "step", "step", "output", "recorded")
    assert said.startswith("epoch 1 of paid, not executed yet; takes orders 5..11 (7 rows, to ")
    assert "orders: 7 rows" in said
    assert "task 0.0  0 in, 7 out  stream orders" in said
    assert said.count("u0") >= 8
    assert "20" in said.split("recorded")[-1] or "valid_from" in said


def test_frames_in_python(file: Path) -> None:
    app = load(file, None, None, looking=True)
    catalog = Catalog.open(app.store)
    with Debugger(recorded(app._declared, catalog, "paid")[0], 2) as debugger:
        assert debugger.inputs["orders"]["amount"].to_list() == list(range(12, 25))
        ((tables),) = debugger.state.values()
        assert sum(frame.height for frame in tables.values()) > 0
        steps = debugger.run()
        priced = next(seen for seen in steps if seen.given is not None and "price" in seen.given.columns)
        assert priced.given is not None
        assert priced.given["price"].to_list() == [2 * n for n in range(12, 25)]
        assert debugger.output.equals(debugger.recorded)
        assert debugger.next() == 3
        debugger.run()
        assert debugger.output.equals(debugger.recorded)
        with pytest.raises(Exception, match="epochs 0 to 3 can be executed again"):
            debugger.next()


def test_a_function_that_fails_shows_the_step_and_the_row(file: Path, tmp_path: Path) -> None:
    changed = program(
        tmp_path, price="pl.Series([1 // (a - 7) for a in amount.to_list()])", before="import polars as pl"
    )
    said = desk(changed, 1, "run", "where", "steps")
    assert "ZeroDivisionError" in said
    assert "epoch 1 of paid, failed" in said
    assert "failed" in said.split("steps")[-1]


def test_pdb_stops_in_the_program(file: Path) -> None:
    said = desk(file, 1, "pdb", "p amount.to_list()", "c", "quit")
    assert "[5, 6, 7, 8, 9, 10, 11]" in said
    assert "epoch 1: " in said


def test_what_is_not_there_is_said(file: Path) -> None:
    assert "There is no command 'inpts'" in desk(file, 1, "inpts")
    assert "STORE.NOT_EXECUTED" in desk(file, 1, "output")
    assert "'ordrs' is none of: orders" in desk(file, 1, "inputs ordrs")
    code, said = command("debug", file, "--vertex", "paid", "--epoch", 9)
    assert (code, "epochs 0 to 3 can be executed again" in said) == (1, True)


@pytest.mark.parametrize("first", [0, 2])
def test_a_bundle_takes_the_place_of_the_store(file: Path, tmp_path: Path, first: int) -> None:
    packed = tmp_path / "bug.bundle"
    code, said = command("bundle", file, "--vertex", "paid", "--epochs", f"{first}..3", "-o", packed)
    assert (code, said.endswith(f"epochs {first} to 3 of paid\n")) == (0, True)
    from_store = desk(file, 3, "inputs", "state", "run", "steps", "output", "recorded")
    shutil.rmtree(tmp_path / "store")
    words = ("verify", file, "--store", packed)
    assert command(*words)[1] == f"paid: {4 - first}/{4 - first} epochs identical ({first}..3)\n"
    code, said = command(
        "debug", file, "--store", packed, "--vertex", "paid", "--epoch", 3,
        given="inputs\nstate\nrun\nsteps\noutput\nrecorded\n",
    )  # fmt: skip
    assert (code, said) == (0, from_store)
    assert command(*words, "--epochs", "1")[0] == (1 if first else 0)


def test_a_bundle_holds_no_more_than_it_needs(file: Path, tmp_path: Path) -> None:
    packed = tmp_path / "bug.bundle"
    command("bundle", file, "--vertex", "paid", "--epochs", "3", "-o", packed)
    with zipfile.ZipFile(packed) as found:
        found.extractall(tmp_path / "opened")
    catalog = Catalog.open(tmp_path / "opened")
    assert [(s.first, s.rows) for s in catalog.streams.segments("orders", 0, 99)] == [(25, 15)]


def test_files_that_are_no_bundles(file: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("a.txt", "a")
    assert "is a file, but not a bundle" in command("verify", file, "--store", tmp_path / "other.zip")[1]
    with zipfile.ZipFile(tmp_path / "newer.bundle", "w") as newer:
        newer.writestr("bundle.json", json.dumps({"format": 99, "waterclock": "7.0"}))
    assert "was written by waterclock 7.0" in command("verify", file, "--store", tmp_path / "newer.bundle")[1]
