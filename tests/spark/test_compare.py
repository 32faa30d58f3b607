"""Streaming against batch, by ``waterclock diff --batch``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conftest import SPARK
from waterclock.cli import progress
from waterclock.cli.main import main

pytestmark = pytest.mark.spark

PROGRAM = f"""
import polars as pl
import waterclock as wc

app = wc.App("shop", spark={SPARK!r})
source = wc.generate(
    lambda e: e.select("ts", user=pl.col("n") % 3, amount=pl.col("n") / 7), rate=100, count=COUNT,
    start=1_700_000_000_000_000, batch=100,
)
sales = app.stream("sales", {{"user": int, "amount": float, "ts": "timestamp"}}, time="ts", source=source)
totals = sales.filter(wc.col("user") < LEAST).group_by("user").tumbling("2s").agg(n=wc.count(), mean=wc.avg("amount"))
totals.to(wc.jsonl("totals.jsonl"), name="totals")
"""


def test_streaming_against_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)

    def program(name: str, count: int, least: int) -> str:
        Path(name).write_text(PROGRAM.replace("COUNT", str(count)).replace("LEAST", str(least)))
        return name

    def call(*arguments: str) -> tuple[int, str]:
        found = CliRunner().invoke(main, arguments)
        return found.exit_code, found.stdout + found.stderr

    assert call("run", program("old.py", 1000, 3), "--store", "store", "--mode", "offline")[0] == 0
    written = Path("totals.jsonl").read_bytes()
    code, shown = call("diff", "store:totals", "--batch", "old.py", "--on", "user")
    assert code == 0, shown
    assert "rounded to 9 digits" in shown
    assert re.search(r"totals in batch mode: stage \d+ of Spark \[[# ]{20}\] \d+% of \d+ tasks, ", shown)
    # Another version: other rows; more input: not taken in.
    code, shown = call("diff", "store:totals", "--batch", program("new.py", 2000, 2), "--on", "user")
    assert code == 1, shown
    assert "only in store:totals: 5, only in batch totals: 0, changed: 0; rows: 15 and 10" in shown
    assert Path("totals.jsonl").read_bytes() == written
