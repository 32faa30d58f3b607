"""Functions and aggregates in Python, called by their names in SQL."""

from __future__ import annotations

import threading
from collections.abc import Callable

import polars as pl
import pytest

import waterclock as wc

ROWS = [{"t": n, "x": n * 3 % 7, "k": "ab"[n % 2]} for n in range(12)]


@wc.function(returns="bigint")
def sql_doubled(x: pl.Series) -> pl.Series:
    return x * 2


@wc.aggregate(returns="bigint", parts={"m": "bigint"})
class sql_below:
    """The greatest value under a limit."""

    def __init__(self, limit: int = 5) -> None:
        self.limit = limit

    def initial(self) -> tuple[None]:
        return (None,)

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> pl.Expr:
        return value.filter(value < self.limit).max()

    def merge(self, m: pl.Expr) -> pl.Expr:
        return m.max()

    def result(self, m: pl.Expr) -> pl.Expr:
        return m


LOCK = threading.Lock()


@wc.function(returns="bigint")
def sql_locked(x: pl.Series) -> pl.Series:
    with LOCK:
        return x


@wc.aggregate(returns="bigint", parts={"m": "bigint"})
class sql_locking:
    def initial(self) -> tuple[None]:
        return (None,)

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> pl.Expr:
        with LOCK:
            return value.max()

    def merge(self, m: pl.Expr) -> pl.Expr:
        return m.max()

    def result(self, m: pl.Expr) -> pl.Expr:
        return m


@pytest.fixture
def app(make_app: Callable[..., wc.App]) -> wc.App:
    made = make_app()
    rows = made.stream("rows", {"t": int, "x": int, "k": str}, time="t")
    rows.push(ROWS)
    rows.end()
    return made


def test_the_same_as_in_python(app: wc.App) -> None:
    written = app.sql(
        "SELECT k, SQL_BELOW(sql_doubled(x), 9) FILTER (WHERE x > 0) AS m, sql_below(x) + 1 AS n FROM rows "
        "GROUP BY k WITH TUMBLING(4us)"
    )
    doubled = app.source("rows").with_columns(d=sql_doubled("x"))
    fluent = doubled.group_by("k").tumbling(4).agg(m=sql_below("d", 9, where=wc.col("x") > 0), n=sql_below("x"))
    written.into("sql")
    fluent.select("k", "m", n=wc.col("n") + 1).into("python")
    handle = app.run(mode="offline")
    found = handle.frame("sql")
    assert found.height == 6
    assert found.sort("_vs", "k").equals(handle.frame("python").select(found.columns).sort("_vs", "k"))


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT sql_doubled(x, x) FROM rows", "sql_doubled(x)"),
        ("SELECT sql_below(x, x) AS m FROM rows GROUP BY k WITH TUMBLING(4us)", "behind x constants only"),
        ("SELECT sql_doubledd(x) FROM rows", "Did you mean sql_doubled?"),
        ("SELECT sql_below(x) AS m FROM rows WHERE sql_below(x) > 1 GROUP BY k WITH TUMBLING(4us)", "sql_below(x)"),
    ],
)
def test_wrong_calls_show_their_place(app: wc.App, query: str, says: str) -> None:
    with pytest.raises(wc.SqlError) as caught:
        app.sql(query)
    assert says in str(caught.value)
    assert "^" in str(caught.value)


def test_what_is_not_plain_is_told_at_its_place(app: wc.App) -> None:
    for query in ("SELECT sql_locked(x) AS y FROM rows", "SELECT sql_locking(x) AS y FROM rows WITH TUMBLING(4us)"):
        with pytest.raises(wc.SqlError, match=r"LOCK, a lock") as caught:
            app.sql(query)
        assert caught.value.code == "USER.NOT_PLAIN"
        assert "^" in str(caught.value)
