"""State machines per key and operators in steps of time: what they give, and how their errors look."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import waterclock as wc
from waterclock.time import FOREVER

Make = Callable[..., wc.App]
Rows = list[tuple[int, int, dict[str, Any]]]
VISITS = [(1, "ann", "join"), (4, "bob", "join"), (6, "ann", "look"), (9, "ann", "exit"), (30, "bob", "look")]


def answer(make_app: Make, query: Callable[[wc.Stream], wc.Stream], **options: Any) -> list[tuple[Any, ...]]:
    app = make_app(store=uuid.uuid4().hex)
    stream = app.stream("s", {"t": int, "who": str, "what": str}, time="t")
    query(stream).into("out")
    stream.push([{"t": t, "who": who, "what": what} for t, who, what in VISITS])
    stream.end()
    return sorted(app.run("offline", **options).frame("out").rows())


def joined(key: str, event: wc.Row) -> int:
    return 1


def looked(key: str, state: int, event: wc.Row) -> int | None:
    return None if event.what == "exit" else state + 1


def test_a_state_lives_from_event_to_event_and_to_its_timeout(make_app: Make) -> None:
    found = answer(make_app, lambda s: s.group_by("who").track(joined, looked, 10))
    assert found == [(1, 6, "ann", 1), (4, 14, "bob", 1), (6, 9, "ann", 2), (30, 40, "bob", 1)]


def test_points_and_no_timeout(make_app: Make) -> None:
    found = answer(make_app, lambda s: s.group_by("who").track(joined, looked, None, result="point"))
    assert found == [(1, 2, "ann", 1), (4, 5, "bob", 1), (6, 7, "ann", 2), (30, 31, "bob", 2)]


def test_a_state_without_timeout_that_holds_is_refused_unless_it_is_wanted(make_app: Make) -> None:
    def query(app: wc.App) -> None:
        stream = app.stream("s", {"t": int, "who": str, "what": str}, time="t")
        stream.group_by("who").track(joined, looked, None).snapshot().agg(n=wc.count()).into("out")

    with pytest.raises(wc.ConfigError, match=r"PLAN.STUCK"):
        query(make_app())
    query(make_app("other", allow_unbounded=True))


def test_counting_sessions_is_a_snapshot_of_the_states(make_app: Make) -> None:
    found = answer(make_app, lambda s: s.group_by("who").track(joined, looked, 10).snapshot().agg(n=wc.count()))
    assert [row for row in found if row[2] == 2] == [(4, 6, 2), (6, 9, 2)]


def test_states_of_several_columns_and_no_key(make_app: Make) -> None:
    def begin(key: tuple[()], event: wc.Row) -> dict[str, Any]:
        return {"n": 1, "last": event["who"]}

    def more(key: tuple[()], state: dict[str, Any], event: wc.Row) -> dict[str, Any]:
        return {"n": state["n"] + 1, "last": event.who}

    query = lambda s: s.group_by().track(begin, more, None, {"n": int, "last": str}, "point")  # noqa: E731
    assert answer(make_app, query)[-1] == (30, 31, 5, "bob")


def test_a_row_shows_its_lifetime_and_knows_its_columns() -> None:
    row = wc.Row({"a": 1}, 2, FOREVER)
    assert (row.a, row["a"], row.end, row.start.microsecond, dict(row)) == (1, 1, None, 2, {"a": 1})
    assert repr(eval(repr(row), {"wc": wc})) == repr(row)
    with pytest.raises(AttributeError, match="no column 'b'; it has a, start and end"):
        _ = row.b


def error_of(make_app: Make, query: Callable[[wc.Stream], wc.Stream], **options: Any) -> str:
    with pytest.raises(wc.UserError) as caught:
        answer(make_app, query, **options)
    return str(caught.value)


def test_an_error_shows_the_key_the_state_and_the_event(make_app: Make) -> None:
    def fails(key: str, state: int, event: wc.Row) -> int:
        return state // (event.t - 30)

    text = error_of(make_app, lambda s: s.group_by("who").track(joined, fails, 100))
    assert "fails raised ZeroDivisionError" in text
    assert "return state // (event.t - 30)" in text
    assert "key 'bob' in state 1 and the event" in text
    again = text.split("without Spark: ")[1]
    assert again.startswith("fails('bob', 1, wc.Row({")
    with pytest.raises(ZeroDivisionError):
        eval(again, {"wc": wc, "fails": fails})


def test_wrong_states(make_app: Make) -> None:
    def wrong(key: str, state: int, event: wc.Row) -> Any:
        return "three"

    text = error_of(make_app, lambda s: s.group_by("who").track(joined, wrong, 100))
    assert "wrong gave 'three' (str) where bigint was declared" in text

    def unknown(key: str, event: wc.Row) -> Any:
        return {"n": 1, "m": 2}

    text = error_of(make_app, lambda s: s.group_by("who").track(unknown, wrong, 100, {"n": int}))
    assert "a state with 'm', which is not declared" in text


def test_random_states_are_found(make_app: Make) -> None:
    def dice(key: str, event: wc.Row) -> int:
        return random.randrange(10**9)

    text = error_of(make_app, lambda s: s.group_by("who").track(dice, looked, 100), check_determinism=True)
    assert "USER.NOT_DETERMINISTIC" in text
    assert "dice gave (" in text


# -- operators ---------------------------------------------------------------------------------------------


@wc.operator(returns={"n": "bigint", "before": "bigint"}, every=5, state={"n": "bigint"})
def counted(events: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    now = pl.DataFrame({"n": [events.height]})
    return now.with_columns(before=state["n"].sum()), pl.concat([state, now])


def test_an_operator_is_given_steps_of_time(make_app: Make) -> None:
    found = answer(make_app, lambda s: s.group_by("who").apply(counted))
    assert found == [(0, 5, "ann", 1, 0), (0, 5, "bob", 1, 0), (5, 10, "ann", 2, 1), (30, 35, "bob", 1, 1)]


def test_an_operator_over_all_events(make_app: Make) -> None:
    assert answer(make_app, lambda s: s.apply(counted)) == [(0, 5, 2, 0), (5, 10, 2, 2), (30, 35, 1, 4)]


def test_a_step_can_be_taken_by_hand() -> None:
    found, state = counted.on_step([{"_vs": 7, "_ve": 8, "x": 1}], [{"n": 4}])
    assert found.rows() == [(5, 10, 1, 4)]
    assert state.rows() == [(4,), (1,)]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda e: e.select(m=1), "a frame without the column 'n'"),
        (lambda e: 5, "gave 5 (int) where a Polars frame was expected"),
        (lambda e: e.select(n=pl.lit("a")), "a series of String where bigint was declared"),
        (lambda e: e.select(n=1, _vs=-9, _ve=1), "a result that starts before its step"),
        (lambda e: 1 // 0, "raised ZeroDivisionError"),
    ],
)
def test_wrong_results_of_an_operator(make_app: Make, result: Callable[[pl.DataFrame], Any], message: str) -> None:
    @wc.operator(returns={"n": int}, every=5)
    def wrong(events: pl.DataFrame) -> Any:
        return result(events)

    text = error_of(make_app, lambda s: s.apply(wrong))
    assert message in text
    assert "the step from 0 with 2 events" in text


def test_a_pair_is_expected_where_there_is_state(make_app: Make) -> None:
    @wc.operator(returns={"n": int}, every=5, state={"n": int})
    def wrong(events: pl.DataFrame, state: pl.DataFrame) -> Any:
        return state

    assert "DataFrame where results and state were expected" in error_of(make_app, lambda s: s.apply(wrong))


class Alone:
    def step(self, events: pl.DataFrame) -> pl.DataFrame:
        return events


def test_declarations_are_checked(make_app: Make) -> None:
    with pytest.raises(wc.ConfigError, match="step of an operator"):
        wc.operator(returns={"n": int}, every=0)
    with pytest.raises(wc.ConfigError, match="method step"):
        wc.operator(returns={"n": int}, every=5)(int)
    with pytest.raises(
        wc.ConfigError, match=r"missing a required argument: 'state'(.|\n)*it is called as alone\(events\)"
    ):
        wc.operator(returns={"n": int}, every=5, name="alone")(lambda events, state: events)
    with pytest.raises(wc.ConfigError, match=r"too many positional(.|\n)*it is called as step\(events, state\)"):
        wc.operator(returns={"n": int}, every=5, state={"n": int})(Alone)
    stream = make_app().stream("s", {"t": int, "who": str}, time="t")
    with pytest.raises(wc.ConfigError, match="Declare it first"):
        stream.apply(len)  # type: ignore[arg-type]
    with pytest.raises(wc.ConfigError, match=r"SCHEMA.DUPLICATE_COLUMN"):
        stream.group_by("who").track(joined, looked, 5, {"who": str})
    with pytest.raises(wc.ConfigError, match="timeout of track"):
        stream.group_by("who").track(joined, looked, 0)
    with pytest.raises(wc.ConfigError, match="'hold' or 'point'"):
        stream.group_by("who").track(joined, looked, 5, result="window")
