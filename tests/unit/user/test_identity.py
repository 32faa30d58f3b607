"""A plan's identity holds the source of user code and all it refers to."""

from __future__ import annotations

import functools
import importlib
import math
import operator
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import waterclock as wc
from waterclock.usercode import Code

LIMIT = 3
TABLE = {"a": [1, 2], "b": (None, 2.5)}
LOCK = threading.Lock()


@dataclass(frozen=True)
class Setting:
    size: int


def digest(function: Callable[..., Any]) -> str:
    return Code.of(function).digest


def made(text: str, folder: Path, name: str = "f") -> Any:
    """A function from a module with that text."""
    path = folder / "written.py"
    path.write_text(text)
    sys.path.insert(0, str(folder))
    try:
        sys.modules.pop("written", None)
        importlib.invalidate_caches()
        for cached in (folder / "__pycache__").glob("*"):
            cached.unlink()
        import linecache

        linecache.checkcache()
        return getattr(importlib.import_module("written"), name)
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("written", None)


BASE = "K = 1\ndef g(x):\n    return x\n\ndef f(x, y=2):\n    return g(x) + K + y\n"


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (("return g(x) + K + y", "return g(x) + K +  y  # a comment"), True),
        (("def f(x, y=2):", "\n\ndef f(x,\n      y=2):"), True),
        (("return g(x) + K + y", "return g(x) - K + y"), False),
        (("y=2", "y=3"), False),
        (("K = 1", "K = 2"), False),
        (("    return x\n", "    return x + 0\n"), False),
        (("K = 1", "K = 1\nUNUSED = 5"), True),
        (("K = 1", "K = 1.0"), False),
    ],
)
def test_what_changes_the_identity(change: tuple[str, str], same: bool, tmp_path: Path) -> None:
    assert change[0] in BASE
    before = digest(made(BASE, tmp_path))
    assert (digest(made(BASE.replace(*change), tmp_path)) == before) is same


def test_closures_and_lambdas_on_one_line() -> None:
    def adder(n: object) -> Callable[[int], object]:
        return lambda x: (x, n)

    assert digest(adder(1)) != digest(adder(2))
    assert digest(adder([1, {"a": 2}])) == digest(adder([1, {"a": 2}]))
    one, other = (lambda x: x + 1), (lambda x: x + 2)
    assert digest(one) != digest(other)
    assert digest(functools.partial(operator_of(1), 2)) != digest(functools.partial(operator_of(1), 3))


def operator_of(n: int) -> Callable[[int, int], int]:
    def inner(x: int, y: int) -> int:
        return operator.add(x, y) + n + round(math.pi) + LIMIT + len(TABLE) + Setting(3).size

    return inner


def test_plain_data_of_every_kind() -> None:
    values: list[Any] = [
        None, 1.5, "a", b"a", {1, 2}, (1, [2]), re.compile("a+"), pl.Series([1, 2]), pl.DataFrame({"a": [1]}),
        pl.col("a") + 1, pl.Int64, Setting(1), Setting, math, math.sqrt, Path,
    ]  # fmt: skip

    def using(value: object) -> Callable[[], object]:
        return lambda: value

    found = [digest(using(value)) for value in values]
    assert len(set(found)) == len(values)
    assert found == [digest(using(value)) for value in values]
    assert digest(using(Setting(1))) != digest(using(Setting(2)))


def test_what_is_not_plain_is_refused() -> None:
    @wc.function(returns="bigint", per_row=True)
    def locked(x: int) -> int:
        with LOCK:
            return x

    with pytest.raises(wc.ConfigError, match=r"USER.NOT_PLAIN.*locked uses LOCK, a lock"):
        locked("x")


def test_code_without_source_is_refused() -> None:
    space: dict[str, Any] = {}
    exec("def f(x): return x", space)
    with pytest.raises(wc.ConfigError, match=r"USER.NO_SOURCE.*source of f"):
        Code.of(space["f"])


def test_functions_that_refer_to_each_other() -> None:
    assert digest(even) != digest(odd)


def even(n: int) -> bool:
    return n == 0 or odd(n - 1)


def odd(n: int) -> bool:
    return n > 0 and even(n - 1)


def test_changed_code_is_a_changed_plan(make_app: Callable[..., wc.App]) -> None:
    def app_with(n: int) -> wc.App:
        app = make_app()
        stream = app.stream("s", {"t": int}, time="t")
        stream.with_columns(z=wc.function(returns="bigint", name="f")(lambda t: t + n)("t")).into("out")
        return app

    first = app_with(1)
    first.source("s").push([{"t": 1}])
    first.run("offline")
    app_with(1).run("offline")
    with pytest.raises(wc.ConfigError, match=r"PLAN.CHANGED"):
        app_with(2).run("offline")
