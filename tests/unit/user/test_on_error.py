"""Rows that user code fails for: every policy, for every kind of operator that is given rows."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.lang.dstream import dstream
from waterclock.reference import evaluate
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.store import Store

Make = Callable[..., wc.App]
Query = Callable[[wc.Stream], wc.Stream]
ROWS = [{"t": t, "k": "ab"[t % 2], "x": t % 5} for t in range(12)]
FAIL = [row for row in ROWS if row["x"] == 3]


@wc.function(returns="bigint", per_row=True)
def not_three(x: int) -> Any:
    return {3: "three", 4: None}.get(x, x)  # a wrong type, and nothing


@wc.function(returns="bigint")
def series(x: pl.Series) -> pl.Series:
    if (x == 3).any():
        raise ValueError("three")
    return x * 10


@wc.function(returns="array<bigint>", per_row=True)
def twice(x: int) -> list[int]:
    return [x, 12 // (x - 3)]


def one(value: Any) -> Any:
    return value["t"], 12 // (value["x"] - 3)


def many(value: Any) -> Any:
    return [value["t"]] * (6 // abs(value["x"] - 3))


def kept(value: Any) -> bool:
    return bool(6 // (value["x"] - 3) > 0)


def first(key: str, event: wc.Row) -> list[int]:
    return [12 // (event.x - 3)]


def further(key: str, state: list[int], event: wc.Row) -> list[int]:
    state.append(event.x)  # also where it fails then
    return [len(state), 12 // (event.x - 3)]


@wc.operator(returns={"n": "bigint"}, every=4, state={"n": "bigint"})
def counted(events: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    if (events["x"] == 3).any():
        raise ValueError("three")
    after = pl.DataFrame({"n": [state["n"].sum() + events.height]})
    return after, after


def elements(query: Callable[[Any], Any]) -> Query:
    return lambda s: query(dstream(s, 5)).stream


STATELESS: dict[str, Query] = {
    "select": lambda s: s.select("t", y=not_three("x")),
    "with_columns": lambda s: s.with_columns(y=series("x") + 1),
    "filter": lambda s: s.filter(series("x") > 0),
    "explode": lambda s: s.explode(x=twice("x")),
    "set_duration": lambda s: s.set_duration(series("x") + 1),
    "behind": lambda s: s.filter(wc.col("x") > 0).shift(7).select("t", "k", "x").with_columns(z=series("x")),
    "map": elements(lambda d: d.map(one, {"t": int, "q": int})),
    "flat_map": elements(lambda d: d.flat_map(many, int)),
    "filter by a function": elements(lambda d: d.filter(kept)),
}
STATEFUL: dict[str, Query] = {
    "track": lambda s: s.group_by("k").track(first, further, 20, "array<bigint>"),
    "track points": lambda s: s.group_by("k").track(first, further, 2, "array<bigint>", result="point"),
    "apply": lambda s: s.group_by("k").apply(counted),
}
CASES = {**STATELESS, **STATEFUL}


def started(make_app: Make, query: Query, *policy: Any, rows: Any = ROWS, **options: Any) -> wc.App:
    app = make_app(store=uuid.uuid4().hex, **options)
    stream = app.stream("s", {"t": int, "k": str, "x": int}, time="t")
    made = query(stream)
    (made.on_error(*policy) if policy else made).into("out")
    stream.push(rows)
    stream.end()
    return app


def plan_of(app: wc.App) -> Any:
    return app._outputs["out"][0].root


def meant(app: wc.App, rows: Any = ROWS) -> list[str]:
    """What the reference says."""
    found = evaluate(plan_of(app), {"s": [(row["t"], row["t"] + 1, row) for row in rows]})
    return sorted(repr((vs, ve, *payload.values())) for vs, ve, payload in found)


def rows_of(frame: pl.DataFrame) -> list[str]:
    return sorted(map(repr, frame.rows()))


@pytest.mark.parametrize("name", CASES)
def test_the_run_fails_unless_it_is_told_otherwise(name: str, make_app: Make) -> None:
    for policy in ((), ("fail",)):
        with pytest.raises(wc.UserError, match=r"USER\.(FAILED|BAD_RESULT)"):
            started(make_app, CASES[name], *policy).run("offline")


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_skip_leaves_rows_out_and_counts_them(name: str, optimize: bool, make_app: Make) -> None:
    app = started(make_app, CASES[name], "skip", optimize=optimize, epoch_rows=5)
    handle = app.run("offline")
    assert rows_of(handle.frame("out")) == meant(app) != []
    (vertex,) = handle.status().vertices
    assert vertex.left_out == (4 if name == "apply" else len(FAIL))
    assert vertex.dead_letters == 0
    assert "out.dead" not in Catalog.open(app.store).streams.names()


@pytest.mark.parametrize("name", STATELESS)
def test_the_rest_is_as_if_these_rows_had_not_come(name: str, make_app: Make) -> None:
    left = started(make_app, CASES[name], "skip").run("offline").frame("out")
    clean = started(make_app, CASES[name], rows=[row for row in ROWS if row not in FAIL]).run("offline").frame("out")
    assert rows_of(left) == rows_of(clean)


@pytest.mark.parametrize("name", ["track", "track points"])
def test_a_state_is_as_if_the_event_had_not_come(name: str, make_app: Make) -> None:
    left = started(make_app, CASES[name], "skip").run("offline").frame("out")
    clean = started(make_app, CASES[name], rows=[row for row in ROWS if row not in FAIL]).run("offline").frame("out")
    assert rows_of(left) == rows_of(clean)


@pytest.mark.parametrize("name", CASES)
def test_dead_letters_tell_row_error_and_position(name: str, make_app: Make) -> None:
    app = started(make_app, CASES[name], "dead_letter", epoch_rows=5)
    handle = app.run("offline")
    assert rows_of(handle.frame("out")) == meant(app)
    dead = handle.frame("out.dead")
    shift = 7 if name == "behind" else 0
    found = [(vs - shift, json.loads(row)) for vs, row in dead.select("_vs", "row").iter_rows()]
    if name == "apply":  # a step fails as a whole
        assert sorted(t for t, _ in found) == [1, 3, 8, 10]
    else:
        assert sorted(found, key=lambda pair: pair[0]) == [(row["t"], row) for row in FAIL]
    if name in STATELESS:
        assert sorted(dead["seq"].to_list()) == [row["t"] for row in FAIL]
        assert set(dead["stream"]) == {"s"}
    else:
        assert set(dead["seq"]) == set(dead["stream"]) == {None}
    for operator, error in dead.select("operator", "error").iter_rows():
        assert "on error dead_letter" in operator
        assert Path(__file__).name in error
    row = Catalog.open(app.store).streams.get("out.dead")
    assert row.ended
    assert row.durable == row.next == handle.status().vertices[0].dead_letters


def test_a_limit_counts_since_the_beginning_and_can_be_raised(make_app: Make) -> None:
    def run(limit: int, epoch_rows: int = 3) -> Any:
        app = make_app(epoch_rows=epoch_rows)
        stream = app.stream("s", {"t": int, "k": str, "x": int}, time="t")
        stream.select("t", y=series("x")).on_error("dead_letter", limit=limit).into("out")
        if not stream._owner._log("s").refresh().next:
            stream.push(ROWS)
        return app.run("offline")

    with pytest.raises(wc.UserError) as raised:
        run(1)
    assert raised.value.code == "USER.TOO_MANY"
    assert "2 rows failed in 'out', and the limit is 1; in epoch 2, the last of them was {\"t\": 8" in str(raised.value)
    assert "ValueError: three" in str(raised.value)
    with pytest.raises(wc.UserError, match=r"USER\.TOO_MANY"):
        run(1)
    assert sorted(run(2).frame("out.dead")["seq"]) == [3, 8]


@pytest.mark.parametrize("epoch_rows", [1, 4, 100])
def test_a_limit_does_not_depend_on_epochs(epoch_rows: int, make_app: Make) -> None:
    started(make_app, STATELESS["filter"], "skip", 2, epoch_rows=epoch_rows).run("offline")
    with pytest.raises(wc.UserError, match=r"USER\.TOO_MANY"):
        started(make_app, STATELESS["filter"], "skip", 1, epoch_rows=epoch_rows).run("offline")


def test_rows_are_told_once_for_each_output(make_app: Make) -> None:
    app = make_app()
    stream = app.stream("s", {"t": int, "k": str, "x": int}, time="t")
    tried = stream.with_columns(y=series("x")).on_error("dead_letter")
    tried.union(tried.with_columns(y=wc.col("y") + 1)).into("both")
    tried.group_by("k").tumbling(5).agg(n=wc.count()).into("n")
    tried.group_by("k").tumbling(5).agg(n=wc.count()).select("n").into("m")
    app.read("n.dead").group_by().tumbling(100).agg(n=wc.count()).into("how_many")
    stream.push(ROWS)
    stream.end()
    handle = app.run("offline")
    for name in ("both", "n", "m"):
        assert sorted(handle.frame(f"{name}.dead")["seq"]) == [3, 8]
    assert handle.frame("how_many").rows() == [(0, 100, 2)]


def test_what_is_filtered_behind_a_guarded_operator_is_told(make_app: Make) -> None:
    for query in (STATELESS["with_columns"], STATEFUL["track"]):
        app = started(make_app, lambda s, q=query: q(s).on_error("dead_letter").filter(wc.col("k") == "a"))
        assert len(app.run("offline").frame("out.dead")) == len(FAIL)


def test_the_policy_is_part_of_the_query_and_the_limit_is_not(make_app: Make) -> None:
    for query in CASES.values():
        plans = [plan_of(started(make_app, query, *policy)) for policy in (("fail",), ("skip",), ("skip", 5))]
        assert plans[0].identity != plans[1].identity == plans[2].identity
        assert "on error skip limit 5" in wc.plan.explain(plans[2])


def test_what_cannot_be_guarded_is_refused(make_app: Make) -> None:
    stream = make_app().stream("s", {"t": int, "k": str, "x": int}, time="t")
    for query in (stream, stream.tumbling(5).agg(n=wc.sum(series("x"))), stream.top(1, series("x"))):
        with pytest.raises(wc.ConfigError, match=r"PLAN\.NO_ROW_FAILS"):
            query.on_error("skip")
    with pytest.raises(wc.ConfigError, match=r"PLAN\.NOTHING_FAILS"):
        stream.select("x").on_error("skip")
    tried = stream.select(y=series("x"))
    for policy in (("ignore",), ("skip", -1), ("fail", 3), ("skip", True)):
        with pytest.raises(wc.ConfigError, match=r"CONFIG\.BAD_OPTION"):
            tried.on_error(*policy)  # type: ignore[arg-type]


def test_without_dead_letters_there_is_no_such_stream(make_app: Make) -> None:
    app = started(make_app, STATELESS["select"], "skip")
    with pytest.raises(wc.ConfigError, match=r"PLAN\.NO_SIDE_STREAM.*\n.*on_error"):
        app.read("out.dead")


def test_code_that_is_not_deterministic_is_no_row_that_fails(make_app: Make) -> None:
    @wc.function(returns="string", per_row=True)
    def random(x: int) -> str:
        return uuid.uuid4().hex

    app = started(make_app, lambda s: s.select(y=random("x")), "skip")
    with pytest.raises(wc.UserError, match=r"USER\.NOT_DETERMINISTIC"):
        app.run("offline", check_determinism=True)


def test_dead_letters_are_compacted_and_kept(make_app: Make) -> None:
    app = started(make_app, STATELESS["select"], "dead_letter", epoch_rows=1, rows=[
        {"t": t, "k": "a", "x": 3} for t in range(40)
    ])  # fmt: skip
    handle = app.run("offline")
    catalog = Catalog.open(app.store)
    keeper = Keeper(Store(catalog, None), ["out"], orphan_age=0.0)
    keeper.tidy()
    assert len(catalog.streams.segments("out.dead", 0, 40)) < 40
    assert sorted(handle.frame("out.dead")["seq"]) == list(range(40))
    catalog.close()


def test_in_sql(make_app: Make) -> None:
    app = make_app()
    stream = app.stream("s", {"t": int, "k": str, "x": int}, time="t")
    app.sql("SELECT t, series(x) AS y FROM s WHERE not_three(x) > 0 ON ERROR DEAD LETTER LIMIT 100").into("out")
    app.sql("SELECT seq FROM out.dead").into("lost")
    stream.push(ROWS)
    stream.end()
    assert sorted(app.run("offline").frame("lost")["seq"]) == [3, 8]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT x FROM s ON ERROR SKIP", "SQL.NOTHING_FAILS"),
        ("SELECT k, COUNT(*) AS n FROM s GROUP BY k WITH TUMBLING(5us) ON ERROR SKIP", "SQL.UNSUPPORTED"),
        ("SELECT series(x) AS y FROM s ON ERROR IGNORE", "SQL.SYNTAX"),
        ("SELECT series(x) AS y FROM s ON ERROR SKIP LIMIT x", "SQL.BAD_VALUE"),
        ("SELECT series(x) AS y FROM s ON ERROR FAIL LIMIT 5", "SQL.REFUSED"),
    ],
)
def test_what_sql_refuses(text: str, code: str, make_app: Make) -> None:
    app = make_app()
    app.stream("s", {"t": int, "k": str, "x": int}, time="t")
    with pytest.raises(wc.ConfigError) as raised:
        app.sql(text)
    assert raised.value.code == code
