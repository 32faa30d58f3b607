"""Plans that would remember or wait for ever are refused before they start, with the place and the way out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import waterclock as wc
from waterclock.errors import ConfigError

SCHEMA = {"k": int, "v": int, "ts": "timestamp"}
Query = Callable[[wc.Stream, wc.Stream], wc.Stream]


def streams(app: wc.App) -> tuple[wc.Stream, wc.Stream]:
    return app.stream("a", SCHEMA, time="ts"), app.stream("b", SCHEMA, time="ts")


REFUSED: dict[str, tuple[str, Query]] = {
    "inner join": ("PLAN.UNBOUNDED", lambda a, b: a.set_duration("forever").join(b, on="k")),
    "semi join": ("PLAN.UNBOUNDED", lambda a, b: a.semi_join(b.set_duration("forever"), on="k")),
    "window": ("PLAN.UNBOUNDED", lambda a, b: a.set_duration("forever").tumbling("1m").agg(n=wc.count())),
    "chop": ("PLAN.UNBOUNDED", lambda a, b: a.set_duration("forever").chop("1m")),
    "last": ("PLAN.UNBOUNDED", lambda a, b: a.set_duration("forever").last(3).agg(n=wc.count())),
    "snapshot": ("PLAN.STUCK", lambda a, b: a.set_duration("forever").snapshot().agg(n=wc.count())),
    "distinct": ("PLAN.STUCK", lambda a, b: a.set_duration("forever").distinct()),
    "stitch": ("PLAN.STUCK", lambda a, b: a.set_duration("forever").stitch()),
    "top": ("PLAN.STUCK", lambda a, b: a.set_duration("forever").top(3, "v")),
    "anti join": ("PLAN.STUCK", lambda a, b: a.set_duration("forever").anti_join(b, on="k")),
    "left join": ("PLAN.STUCK", lambda a, b: a.set_duration("forever").join(b, on="k", how="left")),
    "full join": ("PLAN.STUCK", lambda a, b: a.join(b.set_duration("forever"), on="k", how="full")),
    "deep inside": (
        "PLAN.UNBOUNDED",
        lambda a, b: a.set_duration("forever").filter(wc.col("v") > 1).join(b, on="k").tumbling("1m").agg(n=wc.count()),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_the_place_and_the_way_out(name: str, make_app: Callable[..., wc.App]) -> None:
    code, query = REFUSED[name]
    with pytest.raises(ConfigError) as caught:
        query(*streams(make_app())).into("out")
    assert caught.value.code == code
    assert "set duration forever" in str(caught.value), "the place"
    assert "clip_duration" in str(caught.value), "the way out"


@pytest.mark.parametrize("name", REFUSED)
def test_it_can_be_allowed(name: str, make_app: Callable[..., wc.App]) -> None:
    REFUSED[name][1](*streams(make_app(allow_unbounded=True))).into("out")


BOUNDED: dict[str, Query] = {
    "signal": lambda a, b: a.set_duration("forever").clip_join(a, on="k"),
    "signal joined": lambda a, b: b.join(a.set_duration("forever").clip_join(a, on="k"), on="k"),
    "clipped": lambda a, b: a.set_duration("forever").clip_duration("1h").join(b, on="k"),
    "as-of": lambda a, b: a.asof_join(b, on="k"),
    "session": lambda a, b: a.set_duration("forever").session("5m").agg(n=wc.count()),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_it_is_bounded(name: str, make_app: Callable[..., wc.App]) -> None:
    BOUNDED[name](*streams(make_app())).into("out")


def test_an_output_that_never_ends_is_known_to_its_readers(make_app: Callable[..., wc.App]) -> None:
    app = make_app()
    a, _ = streams(app)
    a.set_duration("forever").into("endless")
    with pytest.raises(ConfigError, match=r"PLAN\.STUCK"):
        app.read("endless").snapshot().agg(n=wc.count()).into("out")


WRONG: dict[str, tuple[str, Query]] = {
    "types of keys": ("PLAN.JOIN_TYPES", lambda a, b: a.join(b.with_columns(k=wc.col("k").cast("string")), on="k")),
    "number of keys": ("PLAN.JOIN_KEYS", lambda a, b: a.join(b, left_on=["k", "v"], right_on="k")),
    "unknown key": ("SCHEMA.UNKNOWN_COLUMN", lambda a, b: a.join(b, on="key")),
    "kind": ("PLAN.BAD_JOIN", lambda a, b: a.join(b, on="k", how="outer")),
    "residual": ("EXPR.WRONG_TYPE", lambda a, b: a.join(b, on="k", where=wc.col("v") + 1)),
    "time in the residual": ("PLAN.TIME_IN_JOIN", lambda a, b: a.join(b, on="k", where=wc.start() > wc.end())),
    "zero duration": ("PLAN.BAD_DURATION", lambda a, b: a.set_duration(0)),
    "negative duration": ("PLAN.BAD_DURATION", lambda a, b: a.clip_duration(-5)),
    "zero timeout": ("PLAN.BAD_DURATION", lambda a, b: a.session(0).agg(n=wc.count())),
    "zero window": ("PLAN.BAD_WINDOW", lambda a, b: a.tumbling(0).agg(n=wc.count())),
    "zero period": ("PLAN.BAD_DURATION", lambda a, b: a.chop(0)),
    "no rows": ("PLAN.BAD_COUNT", lambda a, b: a.last(0).agg(n=wc.count())),
    "top none": ("PLAN.BAD_COUNT", lambda a, b: a.top(0, "v")),
    "sum of times": ("EXPR.WRONG_TYPE", lambda a, b: a.tumbling("1m").agg(s=wc.sum("ts"))),
    "fraction": ("CONFIG.BAD_OPTION", lambda a, b: a.tumbling("1m").agg(p=wc.percentile_cont("v", 95))),
    "not monotone": ("PLAN.NOT_MONOTONE", lambda a, b: a.alter_lifetime(wc.start().unix_micros() * -1, 5)),
    "start from the payload": ("PLAN.NOT_MONOTONE", lambda a, b: a.alter_lifetime(wc.col("v"), 5)),
    "explode a number": ("EXPR.WRONG_TYPE", lambda a, b: a.explode(x=wc.col("v"))),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_named_where_it_is_made(name: str, make_app: Callable[..., wc.App]) -> None:
    code, query = WRONG[name]
    with pytest.raises(ConfigError) as caught:
        query(*streams(make_app()))
    assert caught.value.code == code
    assert caught.value.hint


def test_monotone_starts_pass(make_app: Callable[..., wc.App]) -> None:
    a, _ = streams(make_app())
    at = wc.start().unix_micros()
    for start in (at, at + 5, at - 5, at * 2, at // 2, at.floor_to(10), at.ceil_to(10, 3) + 1, wc.lit(7)):
        a.alter_lifetime(start, 5)
