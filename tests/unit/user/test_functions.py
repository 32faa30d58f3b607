"""Scalar functions in Python: called on columns and rows, in every place an expression can stand."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import waterclock as wc
from waterclock.expr import lookup
from waterclock.reference import bag_difference, evaluate
from waterclock.schema import VE, VS

Make = Callable[..., wc.App]
ROWS = [{"t": n, "x": n - 3, "name": "abc"[n % 3]} for n in range(10)]
SCHEMA = {"t": int, "x": int, "name": str}


@wc.function(returns="double")
def half(x: pl.Series) -> pl.Series:
    return x / 2


@wc.function(returns="string", per_row=True, name="Shout")
def shout(name: str | None, times: int) -> str | None:
    return None if name is None else name.upper() * times


@wc.function(returns="bigint", arrow=True)
def plus(x: pa.Array, y: pa.Array) -> pa.Array:
    return pc.add(x, y)


@wc.function(returns="array<string>", per_row=True)
def letters(name: str) -> list[str]:
    return [*name, name]


def run(make_app: Make, query: Callable[[wc.Stream], wc.Stream], **options: Any) -> list[Any]:
    """The answer of an app, which is that of the reference too."""
    app = make_app()
    stream = app.stream("s", SCHEMA, time="t", duration=2)
    plan = query(stream).into("out")._plan
    stream.push(ROWS)
    stream.end()
    frame = app.run("offline", **options).frame("out")
    found = [(row.pop(VS), row.pop(VE), row) for row in frame.iter_rows(named=True)]
    events = [(row["t"], row["t"] + 2, row) for row in ROWS]
    assert not bag_difference(found, evaluate(plan, {"s": events}, {"s": 9}))
    return found


def test_columns_rows_and_arrow(make_app: Make) -> None:
    found = run(make_app, lambda s: s.select(h=half("x"), s=shout("name", 2), p=plus("x", wc.col("t") + 1)))
    assert found[0] == (0, 2, {"h": -1.5, "s": "AA", "p": -2})
    assert len(found) == len(ROWS)


@pytest.mark.parametrize(
    "query",
    [
        lambda s: s.filter(half("x") > 1),
        lambda s: s.filter(shout("name", 1) == "A").with_columns(z=half(half("x"))),
        lambda s: s.explode(letter=letters("name")),
        lambda s: s.set_duration(plus(wc.col("x").abs(), 1)),
        lambda s: s.tumbling(4).agg(m=wc.max(half("x")), n=wc.count(where=half("x") > 0)),
        lambda s: s.top(2, by=half("x")),
        lambda s: s.join(s.select(k="name", u="t"), left_on="name", right_on="k", where=plus("t", "u") > 9),
    ],
)
def test_wherever_an_expression_stands(make_app: Make, query: Callable[[wc.Stream], wc.Stream]) -> None:
    assert run(make_app, query)


def test_a_filter_protects_what_comes_after_it(make_app: Make) -> None:
    @wc.function(returns="bigint", per_row=True)
    def inverse(x: int) -> int:
        return 100 // x

    assert len(run(make_app, lambda s: s.filter(wc.col("x") != 0).filter(inverse("x") > 0))) == 6


def test_lookup_by_name_as_sql_does() -> None:
    assert lookup("shout") is shout
    assert lookup("half") is half
    assert lookup("nobody") is None


def test_wrong_calls() -> None:
    with pytest.raises(wc.ConfigError, match=r"USER.BAD_ARGUMENTS.*too many positional(.|\n)*It takes \(x\)"):
        half("x", "y")
    with pytest.raises(wc.ConfigError, match=r"USER.BAD_ARGUMENTS.*it reads no column"):
        half(3)
    with pytest.raises(wc.ConfigError, match=r"SCHEMA.UNKNOWN_TYPE"):
        wc.function(returns="number")
    with pytest.raises(wc.ConfigError, match=r"USER.NOT_CODE"):
        wc.function(returns="bigint")(3)  # type: ignore[arg-type]


# -- errors ------------------------------------------------------------------------------------------------


def error_of(make_app: Make, function: Any, *args: object) -> str:
    with pytest.raises(wc.UserError) as caught:
        run(make_app, lambda s: s.with_columns(z=function(*args)))
    assert caught.value.__cause__ is not None or caught.value.code != "USER.FAILED"
    return str(caught.value)


def test_an_error_shows_line_row_epoch_and_how_to_repeat_it(make_app: Make) -> None:
    @wc.function(returns="bigint", per_row=True)
    def inverse(x: int, name: str) -> int:
        return 100 // x

    text = error_of(make_app, inverse, "x", "name")
    assert "inverse raised ZeroDivisionError" in text
    assert "in epoch 0 of 'out'" in text
    assert f"{__file__}:" in text
    assert "return 100 // x" in text
    assert "for x=0, name='a'" in text
    assert "inverse.on_row(0, 'a')" in text
    with pytest.raises(wc.UserError, match="ZeroDivisionError"):
        inverse.on_row(0, "a")
    assert inverse.on_row(7, "a") == 14


def test_the_first_row_of_a_batch_that_fails_is_found(make_app: Make) -> None:
    @wc.function(returns="bigint")
    def picky(x: pl.Series) -> pl.Series:
        for value in x:
            helper(value)
        return x

    text = error_of(make_app, picky, "x")
    assert "for x=2\n" in text
    assert "raise ValueError(f'{value} is more than one')" in text.replace('"', "'")


def helper(value: int) -> None:
    if value > 1:
        raise ValueError(f"{value} is more than one")


def test_rows_that_fail_only_together(make_app: Make) -> None:
    @wc.function(returns="bigint")
    def crowd(x: pl.Series) -> pl.Series:
        assert len(x) < 4
        return x

    assert "the 4 rows up to x=0 together" in error_of(make_app, crowd, "x")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (lambda x: x.head(3), "gave 3 values for 10 rows"),
        (lambda x: None, "gave None (NoneType) where a Polars series was expected"),
        (lambda x: 1, "gave 1 (int) where a Polars series was expected"),
        (lambda x: x / 2, "gave a series of Float64 where bigint was declared"),
        (lambda x: x.cast(str), "gave a series of String where bigint was declared"),
        (lambda x: x.cast(pl.UInt64, strict=False).fill_null(2**63), "does not fit bigint"),
    ],
)
def test_wrong_results(make_app: Make, given: Callable[[pl.Series], Any], expected: str) -> None:
    def wrong(x: pl.Series) -> Any:
        return given(x)

    assert expected in error_of(make_app, wc.function(returns="bigint")(wrong), "x")


@pytest.mark.parametrize(
    ("value", "kind"), [(1.5, "bigint"), ("a", "bigint"), (2**40, "int"), (1, "string"), (True, "int")]
)
def test_wrong_values(make_app: Make, value: object, kind: str) -> None:
    def wrong(x: int) -> object:
        return value

    text = error_of(make_app, wc.function(returns=kind, per_row=True)(wrong), "x")
    assert "USER.BAD_RESULT" in text
    assert f"It must give a value of type {kind}, or None." in text


def test_values_become_the_declared_type() -> None:
    moment = datetime(2026, 1, 2, 3, tzinfo=UTC)
    cases: list[tuple[str, Any, Any]] = [
        ("double", 3, 3.0), ("float", 0.1, float(np.float32(0.1))), ("timestamp", moment.replace(tzinfo=None), moment),
        ("bigint", np.int32(7), 7), ("array<double>", (1, None), [1.0, None]), ("boolean", True, True),
    ]  # fmt: skip
    for kind, value, expected in cases:

        def constant(x: int, value: Any = value) -> Any:
            return value

        assert wc.function(returns=kind, per_row=True)(constant).on_row(1, value) == expected
    assert wc.function(returns="double")(lambda x: x * 2).on_row(3) == 6.0
    assert wc.function(returns="double")(lambda x: x.to_numpy() * 2).on_row(3) == 6.0


# -- determinism -------------------------------------------------------------------------------------------


def test_random_code_is_found_when_it_is_asked_for(make_app: Make) -> None:
    @wc.function(returns="double", per_row=True)
    def dice(x: int) -> float:
        return x + (random.random() if x == 2 else 0)

    with pytest.raises(wc.UserError, match=r"USER.NOT_DETERMINISTIC.*dice gave 2\.\d+, and then 2\.\d+(.|\n)*for x=2"):
        run(make_app, lambda s: s.with_columns(z=dice("x")), check_determinism=True)


def test_code_that_looks_at_its_batch_is_found(make_app: Make) -> None:
    @wc.function(returns="bigint")
    def place(x: pl.Series) -> pl.Series:
        return pl.Series(range(len(x)))

    with pytest.raises(wc.UserError, match=r"place gave 5, and then 0"):
        run(make_app, lambda s: s.with_columns(z=place("x")), check_determinism=True)


def test_honest_code_passes(make_app: Make) -> None:
    assert run(make_app, lambda s: s.with_columns(z=half("x"), s=shout("name", 3)), check_determinism=True)


def test_it_is_checked_offline_only(make_app: Make) -> None:
    with pytest.raises(wc.ConfigError, match="check_determinism"):
        make_app().run("live", check_determinism=True)
