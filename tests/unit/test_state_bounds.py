"""What each stateful operator remembers and for how long, in words; for an output the worst of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import waterclock as wc
from waterclock.operators.registry import _STATEFUL
from waterclock.optimizer.lives import life_of
from waterclock.optimizer.state import bound_of, output_bound, state_bound
from waterclock.plan import Apply, Chop, CountAggregate, Join, Node, Track

SCHEMA = {"k": int, "v": int, "ts": "timestamp"}
Query = Callable[[wc.Stream, wc.Stream, wc.Stream, wc.Stream], wc.Stream]
POINTS = "points of the left side, until time has passed them on the other side"


@wc.operator(returns={"n": int}, every="10s")
def forgetful(events: Any) -> Any:
    return events


@wc.operator(returns={"n": int}, every="10s", state={"n": int}, timeout="25s")
def mindful(events: Any, state: Any) -> Any:
    return events, state


@wc.operator(returns={"n": int}, every="10s", state={"n": int})
def faithful(events: Any, state: Any) -> Any:
    return events, state


def tracked(stream: wc.Stream, timeout: str | None) -> wc.Stream:
    return stream.group_by("k").track(lambda key, event: 1, lambda key, state, event: state + 1, timeout)


def streams(app: wc.App) -> tuple[wc.Stream, ...]:
    """Points, events of two minutes, events with an end of their own, and a table."""
    own = {"k": int, "v": int, "ts": "timestamp", "until": "timestamp"}
    return (
        app.stream("points", SCHEMA, time="ts"),
        app.stream("spans", SCHEMA, time="ts", duration="2m"),
        app.stream("own", own, time="ts", end="until"),
        app.table("table", {"k": int, "name": str}, [{"k": 1, "name": "one"}]),
    )


OWN = "as long as column until of own says (null: for ever)"
WORDS: dict[str, tuple[Query, str]] = {
    "tumbling": (
        lambda p, s, o, t: p.group_by("k").tumbling("10m").agg(n=wc.count()),
        "10 minutes of keys (a partial result per k and pane of 10 minutes)",
    ),
    "hopping without keys": (
        lambda p, s, o, t: p.hopping("10m", "4m").agg(n=wc.count()),
        "10 minutes of results (a partial result per pane of 2 minutes)",
    ),
    "window over spans": (
        lambda p, s, o, t: s.group_by("k").tumbling("10m").agg(n=wc.count()),
        "10 minutes of keys (a partial result per k and pane of 10 minutes), and events that span several panes, "
        "for 2 minutes",
    ),
    "window over open ends": (
        lambda p, s, o, t: o.group_by("k").tumbling("1h").agg(n=wc.count()),
        f"1 hour of keys (a partial result per k and pane of 1 hour), and events that span several panes, {OWN}",
    ),
    "early": (
        lambda p, s, o, t: p.group_by("k").tumbling("1m", early="5s").agg(n=wc.count()),
        "1 minute of keys (a partial result per k and pane of 1 minute, and how often each was given early)",
    ),
    "top of a window": (
        lambda p, s, o, t: p.group_by("k").top(3, "v", window=wc.tumble("1m")), "1 minute of events",
    ),
    "top": (lambda p, s, o, t: s.group_by("k").top(3, "v"), "one snapshot per k, of events of the last 2 minutes"),
    "snapshot": (
        lambda p, s, o, t: o.snapshot().agg(n=wc.count()), f"one snapshot in all, of events that are alive, {OWN}",
    ),
    "sliding": (
        lambda p, s, o, t: p.group_by("k").sliding("5m").agg(n=wc.count()),
        "one snapshot per k, of events of the last 5 minutes",
    ),
    "distinct": (lambda p, s, o, t: p.distinct("k"), "one snapshot per row, of points that time has not passed"),
    "stitch": (lambda p, s, o, t: s.stitch(), "one chain per row that goes on, of events of the last 2 minutes"),
    "session": (
        lambda p, s, o, t: p.group_by("k").session("30s").agg(n=wc.count()),
        "one open session per k: it ends 30 seconds after its last event, however long that takes",
    ),
    "session with a maximum": (
        lambda p, s, o, t: p.group_by("k").session("30s", "10m").agg(n=wc.count()),
        "one open session per k: it ends 30 seconds after its last event and lasts at most 20 minutes",
    ),
    "session lifetime": (
        lambda p, s, o, t: p.session_lifetime("30s", by="k"),
        "the events of an open session per k: it ends 30 seconds after its last event, however long that takes",
    ),
    "last": (
        lambda p, s, o, t: p.group_by("k").last(3).agg(n=wc.count()), "the events of the last 3 start times per k",
    ),
    "last of open ends": (
        lambda p, s, o, t: o.last(3).agg(n=wc.count()),
        f"the events of the last 3 start times in all, and events that live longer, {OWN}",
    ),
    "chop": (lambda p, s, o, t: o.chop("1h"), "events whose end is open: they are cut as time goes on"),
    "inner join": (
        lambda p, s, o, t: s.join(s.filter(wc.col("v") > 1), on="k"), "events of the last 2 minutes of both sides",
    ),
    "inner join of different sides": (
        lambda p, s, o, t: p.join(o, on="k"), f"{POINTS}; events of the right side that are alive, {OWN}",
    ),
    "join with a table": (
        lambda p, s, o, t: s.join(t, on="k"),
        "events of the last 2 minutes of the left side; the rows of the right side, a table",
    ),
    "left join": (
        lambda p, s, o, t: p.join(s, on="k", how="left"),
        f"{POINTS}; events of the last 2 minutes of the right side; pieces without a match so far",
    ),
    "full join": (
        lambda p, s, o, t: s.join(s.shift("1s"), on="k", how="full"),
        "events of the last 2 minutes of both sides; pieces without a match so far",
    ),
    "anti join": (
        lambda p, s, o, t: p.anti_join(s, on="k"),
        f"{POINTS}; events of the last 2 minutes of the right side; pieces without a match so far",
    ),
    "semi join": (
        lambda p, s, o, t: p.semi_join(s, on="k"),
        f"{POINTS}; events of the last 2 minutes of the right side; pieces with a match so far",
    ),
    "clip join": (
        lambda p, s, o, t: s.clip_join(p, on="k"),
        "events of the left side until the next match of their key, at most 2 minutes",
    ),
    "clip join of open ends": (
        lambda p, s, o, t: o.clip_join(p, on="k"), f"events of the left side until the next match of their key, {OWN}",
    ),
    "signal": (
        lambda p, s, o, t: p.set_duration("forever").clip_join(p, on="k"),
        "events of the left side until the next match of their key: one per k for a signal that holds until its next "
        "value",
    ),
    "as-of join": (
        lambda p, s, o, t: p.asof_join(s, on="k"),
        "the last event of the right side per k; events of the left side, until time has passed their start on the "
        "right",
    ),
    "as-of join within": (
        lambda p, s, o, t: p.asof_join(s, on="k", tolerance="5m"),
        "the last event of the right side per k, for 5 minutes; events of the left side, until time has passed their "
        "start on the right",
    ),
    "track": (lambda p, s, o, t: tracked(p, "10m"), "one state per k, until 10 minutes after its last event"),
    "track for ever": (lambda p, s, o, t: tracked(p, None), "one state per k, for ever unless the code drops it"),
    "apply": (
        lambda p, s, o, t: p.group_by("k").apply(forgetful), "the events of an open step of 10 seconds per k",
    ),
    "apply with state": (
        lambda p, s, o, t: p.group_by("k").apply(mindful),
        "the events of an open step of 10 seconds per k, and a state until 30 seconds after its last step",
    ),
    "apply with state for ever": (
        lambda p, s, o, t: p.group_by("k").apply(faithful),
        "the events of an open step of 10 seconds per k, and a state that is kept for ever unless the code drops it",
    ),
    "filter": (lambda p, s, o, t: p.filter(wc.col("v") > 1), "nothing: it works event by event"),
    "union": (lambda p, s, o, t: p.union(s), "nothing: it works event by event"),
    "unbounded join": (
        lambda p, s, o, t: p.set_duration("forever").join(s, on="k"),
        "UNBOUNDED: events that never end (set duration forever)",
    ),
    "unbounded window": (
        lambda p, s, o, t: t.tumbling("1m").agg(n=wc.count()), "UNBOUNDED: events that never end (table table)",
    ),
    "stuck snapshot": (
        lambda p, s, o, t: p.set_duration("forever").snapshot().agg(n=wc.count()),
        "UNBOUNDED: events that never end (set duration forever), and time cannot pass them",
    ),
}  # fmt: skip


def top(node: Node) -> Node:
    """The operator under the projection that joins put on top."""
    while node.label.startswith("project"):
        (node,) = node.inputs
    return node


@pytest.mark.parametrize("name", WORDS)
def test_words(name: str, make_app: Callable[..., wc.App]) -> None:
    app = make_app(allow_unbounded=True)
    query, words = WORDS[name]
    node = top(query(*streams(app))._plan)
    assert state_bound(node, app.described().lives) == words


def test_every_stateful_operator_is_there(make_app: Callable[..., wc.App]) -> None:
    nodes = [top(query(*streams(make_app(allow_unbounded=True)))._plan) for query, _ in WORDS.values()]
    assert {type(node) for node in nodes} >= set(_STATEFUL)
    kinds = {node.kind for node in nodes if isinstance(node, Join)}
    assert kinds == {"inner", "left", "full", "semi", "anti", "clip"}
    assert {Track, Apply, Chop, CountAggregate} <= {type(node) for node in nodes}


def test_the_worst_of_an_output(make_app: Callable[..., wc.App]) -> None:
    app = make_app(allow_unbounded=True)
    p, s, o, t = streams(app)
    lives = app.described().lives
    assert output_bound(p._plan, lives) == "no state: it works event by event"
    minute = p.group_by("k").tumbling("1m").agg(v=wc.count())
    hour = minute.group_by("k").tumbling("1h").agg(n=wc.sum("v"))
    assert output_bound(hour._plan, lives).startswith("bounded: 1 hour of keys")
    assert output_bound(minute.join(t, on="k")._plan, lives).startswith("bounded: 1 minute of keys")
    assert output_bound(minute.asof_join(s, on="k")._plan, lives).startswith("bounded: the last event")
    assert output_bound(minute.join(o, on="k")._plan, lives).startswith(
        "bounded by the data: events of the last minute"
    )
    bad = p.set_duration("forever").join(s, on="k").group_by("k").tumbling("1m").agg(n=wc.count())
    assert output_bound(bad._plan, lives) == (
        "UNBOUNDED at “inner join on k == k (k as k_right, v as v_right, ts as ts_right)”: "
        "events that never end (set duration forever)"
    )


def test_an_output_passes_its_lifetimes_on(make_app: Callable[..., wc.App]) -> None:
    app = make_app()
    p, *_ = streams(app)
    p.group_by("k").hopping("10m", "1m").agg(n=wc.count()).into("held")
    again = app.read("held").snapshot().agg(n=wc.count())
    assert bound_of(again._plan, app.described().lives).span == 60_000_000
    assert "as long as the events of held last" in state_bound(again._plan), "without the app it is not known"


def test_lifetimes(make_app: Callable[..., wc.App]) -> None:
    app = make_app()
    p, s, o, t = streams(app)
    lives = app.described().lives
    expected = {
        "points": p, "at most 2 minutes": s, OWN: o, "for ever (table table)": t,
        "at most 3 minutes": s.extend("1m"), "at most 30 seconds": s.clip_duration("30s").union(p),
        "at most 1 minute": s.chop("1m"), "at most 15 seconds": s.hop_lifetime("12s", "5s"),
        "at most 7 microseconds": p.alter_lifetime(wc.start().unix_micros(), 7),
        "as long as (v * 2) says (null: for ever)": p.set_duration(wc.col("v") * 2),
        "for ever (set duration forever)": p.set_duration("forever"),
        "as long as equal events follow each other": s.stitch(),
        "for ever (track without timeout)": tracked(p, None), "at most 10 minutes": tracked(p, "10m"),
        "as long as the operator says": p.apply(forgetful),
    }  # fmt: skip
    for words, stream in expected.items():
        assert str(life_of(stream._plan, lives)) == words
