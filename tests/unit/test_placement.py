"""Which nodes run where their input was made, and which need an exchange."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import waterclock as wc
from waterclock.expr.nodes import array, coalesce, col, lit
from waterclock.optimizer import cut
from waterclock.plan import (
    Aggregate,
    AsOf,
    CountAggregate,
    Distinct,
    Explode,
    Filter,
    Input,
    Join,
    Node,
    Project,
    SessionAggregate,
    SessionLifetime,
    SetDuration,
    Shift,
    SnapshotAggregate,
    TopK,
    Union,
    Window,
    WindowAggregate,
)
from waterclock.schema import Schema

SCHEMA = Schema.of({"k": "string", "n": "int", "m": "bigint"})
COUNT = (("c", Aggregate("count")),)
S, OTHER = (Input(name, SCHEMA, of_points=True) for name in ("s", "o"))


def window(below: Node, *keys: str, result: str = "window") -> WindowAggregate:
    return WindowAggregate(below, keys, (("c2" if "c" in keys else "c", Aggregate("count")),), Window(10, 5, 0, result))


def join(kind: str, left: Node, right: Node, *keys: str, right_keys: tuple[str, ...] | None = None) -> Join:
    names = tuple((name, f"r_r_{name}" if f"r_{name}" in left.schema else f"r_{name}") for name in right.schema.names)
    return Join(kind, left, right, keys, keys if right_keys is None else right_keys, names)


def asof(kind: str, left: Node, right: Node, *keys: str) -> AsOf:
    return AsOf(kind, left, right, keys, keys, tuple((name, f"r_{name}") for name in right.schema.names))


def renamed(below: Node, **names: str) -> Project:
    return Project(below, tuple((new, col(old)) for new, old in names.items()))


W = window(S, "k")
WKN = window(S, "k", "n")
INNER = join("inner", S, OTHER, "k")

TOGETHER: dict[str, Node] = {
    "windows by the same key": window(W, "k"),
    "no key at all: one task has it all": window(window(S)),
    "two columns in the same order": window(WKN, "k", "n"),
    "renamed": window(renamed(W, key="k", c="c"), "key"),
    "a copy is as good": window(renamed(W, a="k", b="k"), "b"),
    "filtered and shifted": window(Shift(Filter(W, col("c") > 1), 5), "k"),
    "exploded into another column": window(Explode(W, "e", array(lit(1))), "k"),
    "a union of two of them": window(Union((W, Shift(W, 5))), "k"),
    "a join of two of them": join("inner", W, window(OTHER, "k"), "k"),
    "one of them and a stream": join("inner", W, OTHER, "k"),
    "a stream and one of them": join("semi", S, W, "k"),
    "as-of with a stream": asof("left", W, OTHER, "k"),
    "behind as-of": window(asof("left", S, OTHER, "k"), "k"),
    "clip, whose nulls are hashed": join("clip", W, OTHER, "k"),
    "the side of a left join that drops nulls": join("left", S, W, "k"),
    "int and bigint hash alike": join("inner", window(S, "n"), OTHER, "n", right_keys=("m",)),
    "behind an inner join, by the right name": window(INNER, "r_k"),
    "behind an inner join there is no null": join("left", INNER, W, "k"),
    "top of windows": TopK(W, ("k",), col("c"), 3),
    "behind a top of windows": window(TopK(S, ("k",), col("n"), 3, window=Window(10, 10)), "k"),
    "sessions": SessionAggregate(W, ("k",), COUNT, 5),
    "behind sessions told at their end": window(SessionAggregate(S, ("k",), COUNT, 5, result="point_end"), "k"),
    "behind snapshots told at their end": window(SnapshotAggregate(S, ("k",), COUNT, "hold"), "k"),
    "behind the last n": window(CountAggregate(S, ("k",), COUNT, 3), "k"),
    "distinct of the same columns": Distinct(renamed(window(S, "k"), k="k")),
}

APART: dict[str, Node] = {
    "another key": window(WKN, "k"),
    "another order": window(WKN, "n", "k"),
    "more columns": window(W, "k", "c"),
    "a key that was computed": window(Project(W, (("k", coalesce(col("k"), "x")),)), "k"),
    "a key that was exploded": window(Explode(W, "k", array(lit("a"))), "k"),
    "another column of that name": window(renamed(WKN, k="n", n="k"), "k"),
    "no key behind a key": window(W),
    "a key behind no key": window(window(S), "c"),
    "one branch of a union is elsewhere": window(Union((renamed(W, k="k"), renamed(WKN, k="k"))), "k"),
    "one side of a join is elsewhere": join("inner", renamed(W, k="k"), renamed(WKN, k="k"), "k"),
    "a left join scatters nulls, which a window keeps": join("left", W, OTHER, "k"),
    "so does an anti join": join("anti", W, OTHER, "k"),
    "so does a full join, on either side": join("full", OTHER, W, "k"),
    "a join without keys": join("inner", W, OTHER),
    "behind a join without keys": window(join("inner", S, OTHER)),
    "time behind a left join depends on rows": window(join("left", S, OTHER, "k"), "k"),
    "behind a semi join": window(join("semi", S, OTHER, "k"), "k"),
    "behind a clip join": window(join("clip", S, OTHER, "k"), "k"),
    "behind open sessions": window(SessionAggregate(S, ("k",), COUNT, 5), "k"),
    "behind session lifetimes": window(SessionLifetime(S, ("k",), 5), "k"),
    "behind open snapshots": window(SnapshotAggregate(S, ("k",), COUNT), "k"),
    "behind the top of snapshots": window(TopK(S, ("k",), col("n"), 1), "k"),
    "behind windows of n that are still open": window(CountAggregate(S, ("k",), COUNT, 3, "window"), "k"),
    "the right name behind a left as-of": window(asof("left", S, OTHER, "k"), "r_k"),
    "open-ended events: their windows depend on all tasks": window(SetDuration(W, col("c")), "k"),
}


def stages(root: Node) -> dict[str, int]:
    return {node.id: node.stage for node in cut("out", root).nodes}


@pytest.mark.parametrize("name", TOGETHER)
def test_together(name: str) -> None:
    plan = cut("out", TOGETHER[name])
    last = plan.nodes[-1]
    assert plan.stages == 2
    assert any(leg.local for leg in last.legs)
    assert all(leg.local == (leg.stage == last.stage) for leg in last.legs)


@pytest.mark.parametrize("name", APART)
def test_apart(name: str) -> None:
    plan = cut("out", APART[name])
    last = plan.nodes[-1]
    assert plan.stages == 3
    assert not any(leg.local for leg in last.legs)


def test_a_leg_from_an_earlier_stage_is_exchanged() -> None:
    """The window by k and n is one stage deeper; what comes from the first window goes straight there."""
    deeper = window(renamed(window(WKN, "k"), k="k"), "k")
    plan = cut("out", join("inner", deeper, W, "k"))
    last = plan.nodes[-1]
    assert plan.stages == 3
    assert [(leg.port, leg.stage, leg.local) for leg in last.legs] == [(0, 2, True), (1, 1, False)]


def test_a_long_chain_is_one_stage() -> None:
    chain: Node = S
    for _ in range(5):
        chain = window(chain, "k")
    assert set(stages(join("inner", chain, window(OTHER, "k"), "k")).values()) == {1}


def test_user_code_keeps_its_keys(make_app: Callable[..., wc.App]) -> None:
    stream = make_app().stream("s", {"k": str, "t": "bigint"}, time="t")

    def first(key: object, event: wc.Row) -> int:
        return 1

    def further(key: object, state: int, event: wc.Row) -> int:
        return state + 1

    def tracked(result: str) -> Node:
        made = stream.group_by("k").track(first, further, state={"n": int}, timeout="5s", result=result)
        return window(made._plan, "k")

    assert cut("out", tracked("point")).stages == 2
    assert cut("out", tracked("hold")).stages == 3
