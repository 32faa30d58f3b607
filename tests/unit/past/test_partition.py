"""``debug --partition``: one task of each stage, and nothing of the others."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import waterclock as wc
from tests.unit.past.programs import command, program, run
from waterclock.app import App
from waterclock.cli.file import load

TASKS = 3


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Epoch 0 has one task, 1 and 2 have three, and the last one has two."""
    found = program(tmp_path)
    run(found, 5)
    for tasks, first, end in ((TASKS, 5, 18), (TASKS, 18, 40), (2, 40, 55)):
        assert command("scale", "paid", tasks, "--store", tmp_path / "store")[0] == 0
        app = load(found, None, None)
        app.source("orders").push([{"user": f"u{n % 7}", "amount": n, "ts": n * 1_000_000} for n in range(first, end)])
        app.run(mode="offline")
    return found


@pytest.fixture
def app(file: Path) -> App:
    return load(file, None, None, looking=True)


def together(frames: list[pl.DataFrame]) -> pl.DataFrame:
    found = pl.concat(frames)
    return found.sort(found.columns)


def test_partitions_are_parts_of_the_whole(app: App) -> None:
    with app.debug("paid", 2) as whole:
        assert whole.intent.readers == TASKS
        assert whole.intent.parts == (TASKS,)
        parts = [app.debug("paid", 2, partition=at) for at in range(TASKS)]
        for executed in (False, True):
            if executed:
                for each in (whole, *parts):
                    each.run()
            together_now = [each.inputs["orders"] for each in parts]
            assert together(together_now).equals(together([whole.inputs["orders"]]))
            assert all(0 < frame.height < whole.inputs["orders"].height for frame in together_now)
            for operator, tables in whole.state.items():
                for table, rows in tables.items():
                    mine = [each.state[operator][table] for each in parts if table in each.state.get(operator, {})]
                    assert together(mine).equals(together([rows]))
                    assert all(frame.height < rows.height for frame in mine)
        outputs = [each.output for each in parts]
        assert whole.output.height > 0
        assert pl.concat(outputs).equals(whole.output)
        assert whole.output.equals(whole.recorded)
        keys = [set(frame["user"]) for frame in outputs]
        assert sum(map(len, keys)) == len(set.union(*keys))
        assert sum(len(each.steps) for each in parts) == len(whole.steps)
        for at, each in enumerate(parts):
            assert {seen.task[1] for seen in each.steps} == {at}
            each.close()


def test_the_command_shows_one_partition(file: Path) -> None:
    words = ("debug", file, "--vertex", "paid", "--epoch", 2, "--partition", 1)
    code, said = command(*words, "-c", "inputs; steps; output")
    assert code == 0, said
    assert said.startswith("epoch 2 of paid, partition 1, not executed yet; takes ")
    assert "orders: 8 rows" in said  # of 22
    assert "task 0.1" in said
    assert "task 1.1" in said
    assert ".0  " not in said
    assert ".2  " not in said


def test_a_partition_that_is_not_there(file: Path, app: App) -> None:
    words = ("debug", file, "--vertex", "paid")
    code, said = command(*words, "--epoch", 2, "--partition", 3)
    assert code == 1
    assert "[STORE.NO_PARTITION] Epoch 2 of 'paid' has no partition 3: it has 3 of them" in said
    assert "Choose one from 0 to 2" in said
    assert command(*words, "--epoch", 0, "--partition", 1)[0] == 1
    with app.debug("paid", 2, partition=2) as desk:
        with pytest.raises(wc.StoreError, match="Epoch 3 of 'paid' has no partition 2"):
            desk.next()
        assert desk.epoch == 2
        assert desk.is_done
