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
    assert "clip_duration" in caught.value.hint, "the way out"
    assert "allow_unbounded=True" in caught.value.hint, "how to allow it"


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


WRONG: dict[str, tuple[str, str, str, Query]] = {
    "types of keys": (
        "PLAN.JOIN_TYPES", "k bigint on the left cannot equal k string on the right", "wc.col('k').cast('bigint')",
        lambda a, b: a.join(b.with_columns(k=wc.col("k").cast("string")), on="k"),
    ),
    "types of as-of keys": (
        "PLAN.JOIN_TYPES", "k bigint on the left cannot equal ts timestamp on the right", "wc.col('ts').cast('bigint')",
        lambda a, b: a.asof_join(b, left_on="k", right_on="ts"),
    ),
    "number of keys": (
        "PLAN.JOIN_KEYS", "the left has (k, v) and the right (k)", "the same number of keys",
        lambda a, b: a.join(b, left_on=["k", "v"], right_on="k"),
    ),
    "unknown key": ("SCHEMA.UNKNOWN_COLUMN", "'key'", "k, v, ts", lambda a, b: a.join(b, on="key")),
    "kind": ("PLAN.BAD_JOIN", "'outer'", "full", lambda a, b: a.join(b, on="k", how="outer")),
    "residual": ("EXPR.WRONG_TYPE", "join", "boolean", lambda a, b: a.join(b, on="k", where=wc.col("v") + 1)),
    "time in the residual": (
        "PLAN.TIME_IN_JOIN", "(start() > end())", ".with_columns(t=wc.start())",
        lambda a, b: a.join(b, on="k", where=wc.start() > wc.end()),
    ),
    "zero duration": ("PLAN.BAD_DURATION", "set_duration", "greater than zero", lambda a, b: a.set_duration(0)),
    "negative duration": ("PLAN.BAD_DURATION", "clip_duration", "greater than zero", lambda a, b: a.clip_duration(-5)),
    "zero timeout": (
        "PLAN.BAD_DURATION", "the timeout of a session", "greater than zero",
        lambda a, b: a.session(0).agg(n=wc.count()),
    ),
    "negative maximum": (
        "PLAN.BAD_DURATION", "the maximum of a session", "greater than zero",
        lambda a, b: a.session("5s", maximum=-1).agg(n=wc.count()),
    ),
    "negative tolerance": (
        "PLAN.BAD_DURATION", "tolerance", "greater than zero", lambda a, b: a.asof_join(b, on="k", tolerance=-1),
    ),
    "zero window": (
        "PLAN.BAD_WINDOW", "size 0", "greater than zero", lambda a, b: a.tumbling(0).agg(n=wc.count()),
    ),
    "negative hop": (
        "PLAN.BAD_WINDOW", "hop -1", "greater than zero", lambda a, b: a.hopping(5, -1).agg(n=wc.count()),
    ),
    "zero period": ("PLAN.BAD_DURATION", "chop", "greater than zero", lambda a, b: a.chop(0)),
    "zero grid": ("PLAN.BAD_DURATION", "quantize", "greater than zero", lambda a, b: a.quantize(0)),
    "zero hop": ("PLAN.BAD_DURATION", "hop_lifetime", "greater than zero", lambda a, b: a.hop_lifetime(5, 0)),
    "no rows": ("PLAN.BAD_COUNT", "count window", "at least 1", lambda a, b: a.last(0).agg(n=wc.count())),
    "top none": ("PLAN.BAD_COUNT", "top-k", "at least 1", lambda a, b: a.top(0, "v")),
    "sum of times": (
        "EXPR.WRONG_TYPE", "sum(ts) does not take timestamp", "a number; cast",
        lambda a, b: a.tumbling("1m").agg(s=wc.sum("ts")),
    ),
    "condition of an aggregate": (
        "EXPR.WRONG_TYPE", "where of count", "takes a boolean",
        lambda a, b: a.snapshot().agg(n=wc.count(where=wc.col("v") + 1)),
    ),
    "fraction": (
        "CONFIG.BAD_OPTION", "fraction", "from 0 to 1",
        lambda a, b: a.tumbling("1m").agg(p=wc.percentile_cont("v", 95)),
    ),
    "not monotone": (
        "PLAN.NOT_MONOTONE", "unix_micros(start())", "wc.start().unix_micros() with + - constants",
        lambda a, b: a.alter_lifetime(wc.start().unix_micros() * -1, 5),
    ),
    "start from the payload": (
        "PLAN.NOT_MONOTONE", "The start v ", "wc.start().unix_micros()", lambda a, b: a.alter_lifetime(wc.col("v"), 5),
    ),
    "explode a number": ("EXPR.WRONG_TYPE", "explode", "array", lambda a, b: a.explode(x=wc.col("v"))),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_named_where_it_is_made(name: str, make_app: Callable[..., wc.App]) -> None:
    """As the query is written, long before it starts."""
    code, place, way_out, query = WRONG[name]
    with pytest.raises(ConfigError) as caught:
        query(*streams(make_app()))
    assert caught.value.code == code
    message = str(caught.value).removesuffix(caught.value.hint)
    assert place in message, "the place"
    assert way_out in caught.value.hint, "the way out"


def test_monotone_starts_pass(make_app: Callable[..., wc.App]) -> None:
    a, _ = streams(make_app())
    at = wc.start().unix_micros()
    for start in (at, at + 5, at - 5, at * 2, at // 2, at.floor_to(10), at.ceil_to(10, 3) + 1, wc.lit(7)):
        a.alter_lifetime(start, 5)
