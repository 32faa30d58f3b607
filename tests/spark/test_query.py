"""Questions on Spark: the same answers as in this process."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import waterclock as wc
from waterclock.asking import query as asking
from waterclock.batch import history
from waterclock.catalog import Catalog
from waterclock.cli import progress
from waterclock.cli.main import main

pytestmark = pytest.mark.spark
QUESTIONS = (
    "SELECT user, cost FROM clicks WHERE cost > 90 AND t >= 50",
    "SELECT user, COUNT(*) AS n, SUM(cost) AS total FROM clicks GROUP BY user",
    "SELECT COUNT(*) AS n FROM clicks WHERE cost > 1000",
    "SELECT DISTINCT user FROM clicks",
    "SELECT user, COUNT(*) AS n FROM clicks GROUP BY user WITH TUMBLING(100us)",
    "SELECT c.user, p.n FROM clicks AS c JOIN per_user AS p ON c.user == p.user",
    "SELECT COUNT(*) AS n FROM clicks FOR SYSTEM_TIME AS OF SNAPSHOT 'before'",
    "SELECT user, SUM(agg0_n) AS n FROM state.per_user GROUP BY user",
)


@pytest.fixture
def store(make_app: Callable[..., wc.App], tmp_path: Path) -> Path:
    app = make_app()
    clicks = app.stream("clicks", {"user": str, "cost": int, "t": "bigint"}, time="t", max_ahead=None)
    clicks.group_by("user").tumbling(100).agg(n=wc.count()).into("per_user")
    rows = [{"user": f"u{n % 3}", "cost": n, "t": n * 10} for n in range(100)]
    clicks.push(rows[:50])
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.snapshots.begin("test", "before") is not None
    catalog.close()
    clicks.push(rows[50:])
    app.run(mode="offline")
    return tmp_path / "store"


def test_the_same_answers(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for question in QUESTIONS:
        here, there = (wc.query(store, question, on=on, master="local[2]") for on in ("here", "spark"))
        assert _sorted(there).equals(_sorted(here)), question
        assert here.height
    monkeypatch.setattr(asking, "LARGE", 10)
    monkeypatch.setattr(asking.here, "stepped", None)  # it is answered elsewhere
    assert wc.query(store, "SELECT COUNT(*) AS n FROM clicks", master="local[2]").item() == 100


def _sorted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort(rows.columns)


def test_progress_is_shown_beside_the_answer(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int, int]] = []
    monkeypatch.setattr(history, "CHUNK", 10)
    monkeypatch.setattr(history, "read", lambda *step: told.append(step))  # too short to be seen
    monkeypatch.setattr(progress, "LOOK_EVERY", 0.001)
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    words = ["query", QUESTIONS[1], "--store", str(store), "--format", "csv", "--on", "spark", "--master", "local[2]"]
    shown = CliRunner().invoke(main, words)
    assert shown.exit_code == 0, shown.output
    assert sorted(shown.stdout.splitlines()) == ["u0,34,1683", "u1,33,1617", "u2,33,1650", "user,n,total"]
    assert told == [("clicks", 0, 100), ("clicks", 50, 100), ("clicks", 100, 100), ("clicks", 100, 100)]
    assert re.search(r"query: stage \d+ of Spark \[[# ]{20}\] \d+% of \d+ tasks", shown.stderr)


def test_what_is_attached_gives_the_same_in_batch(store: Path) -> None:
    app = wc.App("attached", store, master="local[2]")
    app.attach("per_user", 300).group_by("user").tumbling(500).agg(n=wc.sum("n")).into("wider")
    batch = app.run(mode="batch").frame("wider")
    asked = (
        "SELECT user, SUM(n) AS n FROM per_user WHERE UNIX_MICROS(START()) >= 300 GROUP BY user WITH TUMBLING(500us)"
    )
    assert _sorted(batch.select("user", "n")).equals(_sorted(app.query(asked, on="here").select("user", "n")))
    assert batch["n"].sum() == 60
