"""Strategies of recovery: what is said, what the plan allows, and what is chosen where nobody says anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.optimizer.cut import cut
from waterclock.optimizer.lives import POINT
from waterclock.optimizer.recovery import chosen
from waterclock.plan.strategy import Strategy

Make = Callable[..., wc.App]
MINUTE = 60_000_000


def clicks(app: wc.App) -> wc.SourceStream:
    return app.stream("clicks", {"ts": "timestamp", "user": str}, time="ts")


def measured(rate: float, size: int) -> wc.Statistics:
    return wc.Statistics(rates={"clicks": rate}, states={"some node": (1, size)})


def test_in_sql_as_in_python(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    clicks(app)
    app.sql("""
        counts = SELECT user, COUNT(*) AS n FROM clicks GROUP BY user WITH TUMBLING(1m);
        longer = SELECT user, COUNT(*) AS n FROM clicks GROUP BY user WITH TUMBLING(2m);
        OUTPUT counts AS saved RECOVERY checkpoint(epochs => 7);
        OUTPUT longer AS replayed RECOVERY replay();
        OUTPUT clicks AS copied RECOVERY replicate(3);
    """)
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    found = {vertex.name: vertex.strategy for vertex in catalog.epochs.vertices()}
    catalog.close()
    assert found["saved"] == wc.checkpoint(epochs=7)
    assert found["copied"] == wc.replicate(3)
    assert found["replayed"].kind == "replay"
    assert "recovery   replay, window" in app.explain()
    assert "recovery   checkpoint every 7 epochs" in app.explain()


def test_what_outputs_share_is_had_again_as_they_are(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    counts = clicks(app).group_by("user").tumbling("1m").agg(n=wc.count())
    for name in ("few", "many"):
        counts.filter(wc.col("n") < len(name)).into(name, recovery=wc.checkpoint(epochs=7))
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    found = {vertex.name: vertex.strategy for vertex in catalog.epochs.vertices()}
    catalog.close()
    assert len(found) == 3
    assert set(found.values()) == {wc.checkpoint(epochs=7)}


@pytest.mark.parametrize(
    ("make", "fix"),
    [
        (lambda: wc.checkpoint("1s", epochs=3), "either a time or a number"),
        (lambda: wc.checkpoint(epochs=0), "at least 1"),
        (lambda: wc.checkpoint("0s"), "length of time"),
        (lambda: wc.replay(-1), "length of time"),
        (lambda: wc.replicate(1), "Two or more"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(make: Callable[[], Strategy], fix: str) -> None:
    with pytest.raises(wc.ConfigError, match=fix):
        make()


def test_large_state_that_is_quick_to_compute_is_not_saved(make_app: Make) -> None:
    plan = cut("out", clicks(make_app()).group_by("user").tumbling("1m").agg(n=wc.count())._plan)
    lives = {"clicks": POINT}
    assert chosen(plan, None, lives, measured(10_000, 100 << 20)).kind == "replay"
    assert chosen(plan, None, lives, measured(10_000, 1 << 20)) == Strategy(), "saving it costs nothing"
    assert chosen(plan, None, lives, measured(10_000_000, 100 << 20)) == Strategy(), "computing it takes too long"
    assert chosen(plan, None, lives, wc.Statistics()) == Strategy(), "nothing is known"


def test_what_cannot_be_replayed_is_never_chosen(make_app: Make) -> None:
    plan = cut("out", clicks(make_app()).group_by("user").session("1m").agg(n=wc.count())._plan)
    assert chosen(plan, None, {"clicks": POINT}, measured(10_000, 100 << 20)) == Strategy()


def test_a_window_covers_what_events_can_still_change(make_app: Make) -> None:
    plan = cut("out", clicks(make_app()).group_by("user").hopping("10m", "1m").agg(n=wc.count())._plan)
    window = chosen(plan, wc.replay(), {"clicks": POINT}, wc.Statistics()).window
    assert window is not None
    assert 11 * MINUTE <= window <= 11 * MINUTE + 10


def test_users_vouch_for_events_that_the_plan_knows_nothing_of(make_app: Make) -> None:
    app = make_app()
    calls = app.stream("calls", {"a": "timestamp", "b": "timestamp", "who": str}, time="a", end="b")
    plan = cut("out", calls.group_by("who").snapshot().agg(n=wc.count())._plan)
    with pytest.raises(wc.ConfigError, match=r"write replay\(window="):
        chosen(plan, wc.replay(), {}, wc.Statistics())
    assert chosen(plan, wc.replay("1h"), {}, wc.Statistics()).window == 60 * MINUTE


def test_a_strategy_may_change_between_runs(make_app: Make, tmp_path: Path) -> None:
    for number, recovery in enumerate([wc.replay(), wc.checkpoint(), wc.replay(), None]):
        app = make_app()
        stream = clicks(app)
        stream.group_by("user").tumbling("1m").agg(n=wc.count()).into("out", recovery=recovery)
        stream.push([{"ts": number * MINUTE * 10, "user": "ann"}])
        app.run(mode="offline")
    stream.end()
    handle = app.run(mode="offline")
    assert handle.frame("out")["n"].to_list() == [1, 1, 1, 1]
