"""Aggregates that users declare: in every kind of window, by their laws, with errors that show their line."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import waterclock as wc
from waterclock.reference import bag_difference, evaluate
from waterclock.schema import VE, VS
from waterclock.usercode import lookup

Make = Callable[..., wc.App]
ROWS = [{"t": n * n % 17, "x": n - 3, "k": "ab"[n % 2]} for n in range(12)]


@wc.aggregate(returns="double", parts={"n": "bigint", "s": "bigint"}, additive=True)
class mean:
    def initial(self) -> tuple[int, int]:
        return 0, 0

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> tuple[pl.Expr, ...]:
        return value.count(), value.sum()

    def merge(self, n: pl.Expr, s: pl.Expr) -> tuple[pl.Expr, ...]:
        return n.sum(), s.sum()

    def result(self, n: pl.Expr, s: pl.Expr) -> pl.Expr:
        return pl.when(n > 0).then(s / n)


@wc.aggregate(returns="bigint", parts={"m": "bigint"})
class below:
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


WINDOWS: dict[str, Callable[[Any], Any]] = {
    "tumbling": lambda g: g.tumbling(4),
    "hopping": lambda g: g.hopping(6, 2),
    "many windows": lambda g: g.hopping(40, 1),
    "snapshot": lambda g: g.snapshot(),
    "sliding": lambda g: g.sliding(5),
    "session": lambda g: g.session(3),
    "last": lambda g: g.last(2),
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("epoch_rows", [2, 1000])
def test_every_kind_of_window(make_app: Make, window: str, epoch_rows: int) -> None:
    app = make_app(epoch_rows=epoch_rows)
    stream = app.stream("s", {"t": int, "x": int, "k": str}, time="t", duration=3, slack=100)
    chosen = WINDOWS[window](stream.group_by("k"))
    plan = chosen.agg(m=mean("x"), a=wc.avg("x"), b=below("x", 4, where=wc.col("x") != 2)).into("out")._plan
    for row in ROWS:
        stream.push([row])
    stream.end()
    frame = app.run("offline").frame("out")
    assert frame["m"].to_list() == frame["a"].to_list()
    found = [(row.pop(VS), row.pop(VE), row) for row in frame.iter_rows(named=True)]
    events = [(row["t"], row["t"] + 3, row) for row in ROWS]
    assert found
    assert not bag_difference(found, evaluate(plan, {"s": events}, {"s": -100 + 16}))


def test_it_is_found_by_name() -> None:
    assert lookup("mean", "aggregate") is mean
    assert lookup("mean", "function") is None


def test_the_laws_hold() -> None:
    values = [0, None, 3, 3, -5, 2**40]
    wc.check_aggregate(mean, values, "bigint")
    wc.check_aggregate(below, values, "bigint", 2)


class First:
    def initial(self) -> tuple[None]:
        return (None,)

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> pl.Expr:
        return value.drop_nulls().first()

    def merge(self, m: pl.Expr) -> pl.Expr:
        return m.drop_nulls().first()

    def result(self, m: pl.Expr) -> pl.Expr:
        return m


class CountsNulls(First):
    def initial(self) -> tuple[int]:  # type: ignore[override]
        return (0,)

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> pl.Expr:
        return value.len()

    def merge(self, m: pl.Expr) -> pl.Expr:
        return m.sum()


class Greatest(First):
    def initial(self) -> tuple[int]:  # type: ignore[override]
        return (0,)

    def accumulate(self, value: pl.Expr, start: pl.Expr) -> pl.Expr:
        return value.max().fill_null(0)

    def merge(self, m: pl.Expr) -> pl.Expr:
        return m.max()


class Distances(First):
    def accumulate(self, value: pl.Expr, start: pl.Expr) -> pl.Expr:
        return value.max() - value.min()

    def merge(self, m: pl.Expr) -> pl.Expr:
        return m.max()


@pytest.mark.parametrize(
    ("kind", "options", "law"),
    [
        (First, {}, "the order of values does not matter"),
        (CountsNulls, {}, "accumulate of a null is initial"),
        (Greatest, {"additive": True}, "what was added can be subtracted"),
        (Distances, {}, "merging parts is accumulating all values"),
    ],
)
def test_broken_laws_are_named(kind: type, options: dict[str, Any], law: str) -> None:
    made = wc.aggregate(returns="bigint", parts={"m": "bigint"}, **options)(kind)
    with pytest.raises(wc.UserError, match=f"USER.BROKEN_LAW.*{kind.__name__} breaks a law: {law}"):
        wc.check_aggregate(made, [4, None, 1, 7], "bigint")


class Raises(First):
    def merge(self, m: pl.Expr) -> pl.Expr:
        raise ValueError("cannot merge")


class TooMany(First):
    def accumulate(self, value: pl.Expr, start: pl.Expr) -> Any:
        return value.min(), value.max()


class UnknownColumn(First):
    def result(self, m: pl.Expr) -> pl.Expr:
        return m + pl.col("nobody")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Raises, r"USER.FAILED.*Raises raised ValueError: cannot merge(.|\n)*raise ValueError\(\"cannot merge\"\)"),
        (TooMany, r"USER.BAD_RESULT(.|\n)*one for each of the parts: m"),
        (UnknownColumn, r"USER.FAILED.*ColumnNotFoundError"),
    ],
)
def test_what_does_not_fit_together_is_seen_where_the_query_is_written(
    make_app: Make, kind: type, message: str
) -> None:
    stream = make_app().stream("s", {"t": int}, time="t")
    made = wc.aggregate(returns="bigint", parts={"m": "bigint"})(kind)
    with pytest.raises(wc.UserError, match=message):
        stream.tumbling(5).agg(m=made("t"))


class Explodes(First):
    def accumulate(self, value: pl.Expr, start: pl.Expr) -> pl.Expr:
        return value.map_batches(self.look, return_dtype=pl.Int64).max()

    def look(self, values: pl.Series) -> pl.Series:
        if (values == 3).any():
            raise RuntimeError("three")
        return values


class TooLong(First):
    def accumulate(self, value: pl.Expr, start: pl.Expr) -> pl.Expr:
        return value.map_batches(self.look, return_dtype=pl.Int64).max()

    def look(self, values: pl.Series) -> pl.Series:
        if len(values) > 2:
            raise RuntimeError("too long")
        return values


class Dice(First):
    def accumulate(self, value: pl.Expr, start: pl.Expr) -> pl.Expr:
        return value.map_batches(lambda s: s + random.randrange(10**9), return_dtype=pl.Int64).max()


def test_an_error_while_it_runs(make_app: Make) -> None:
    app = make_app()
    stream = app.stream("s", {"t": int}, time="t")
    made = wc.aggregate(returns="bigint", parts={"m": "bigint"})(Explodes)
    stream.tumbling(5).agg(m=made("t")).into("out")
    stream.push([{"t": n} for n in range(5)])
    with pytest.raises(
        wc.UserError, match=r"Explodes raised RuntimeError: three(.|\n)*in epoch 0(.|\n)*raise Runtime"
    ) as caught:
        app.run("offline")
    assert "for the value 3\n" in str(caught.value)
    call = caught.value.hint.split(": ")[1]
    assert call == "wc.check_aggregate(Explodes, [3], 'bigint')"
    with pytest.raises(wc.UserError, match="RuntimeError: three"):
        eval(call, {"wc": wc, "Explodes": made})


def test_values_that_fail_only_together(make_app: Make) -> None:
    app = make_app()
    stream = app.stream("s", {"t": int}, time="t")
    made = wc.aggregate(returns="bigint", parts={"m": "bigint"})(TooLong)
    stream.tumbling(5).agg(n=mean("t"), m=made("t")).into("out")
    stream.push([{"t": n} for n in range(5)])
    with pytest.raises(wc.UserError, match="the 3 values up to 2 together, not for one of them alone") as caught:
        app.run("offline")
    assert "wc.check_aggregate(TooLong, [0, 1, 2], 'bigint')" in caught.value.hint


def test_random_aggregates_are_found(make_app: Make) -> None:
    app = make_app()
    stream = app.stream("s", {"t": int}, time="t")
    made = wc.aggregate(returns="bigint", parts={"m": "bigint"})(Dice)
    stream.tumbling(5).agg(m=made("t")).into("out")
    stream.push([{"t": n} for n in range(5)])
    with pytest.raises(wc.UserError, match=r"USER.STEP_DIFFERS.*its user code: Dice"):
        app.run("offline", check_determinism=True)


def test_declarations_are_checked() -> None:
    with pytest.raises(wc.ConfigError, match="parts"):
        wc.aggregate(returns="bigint", parts={})
    with pytest.raises(wc.ConfigError, match="additive"):
        wc.aggregate(returns="double", parts={"s": "double"}, additive=True)
    with pytest.raises(wc.ConfigError, match="method initial"):
        wc.aggregate(returns="double", parts={"s": "double"})(object)
