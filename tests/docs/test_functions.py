"""The page of functions and waterclock.functions are as the table says, and each example is right."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import waterclock as wc
from waterclock.expr import to_polars
from waterclock.expr.functions import FUNCTIONS, Function
from waterclock.expr.nodes import Call, Expr, call
from waterclock.schema import Schema

ROOT = Path(__file__).parents[2]
EACH = sorted({function.name: function for function in FUNCTIONS.values()}.items())


def argument(value: Any) -> Any:
    """A value of an example as an expression."""
    if isinstance(value, list):
        return call("array", *map(argument, value))
    if isinstance(value, dict):
        return call("named_struct", *(part for name, field in value.items() for part in (name, argument(field))))
    return value


@pytest.mark.parametrize(("name", "function"), EACH)
def test_the_example_is_right(name: str, function: Function) -> None:
    expr = call(name, *map(argument, function.example.args))
    found = pl.select(to_polars(expr, Schema(()))).item()
    found = found.to_list() if isinstance(found, pl.Series) else found
    wanted = function.example.result
    if isinstance(wanted, float):
        assert math.isclose(found, wanted, rel_tol=1e-14)
    else:
        assert found == wanted
        assert type(found) is type(wanted)


def test_what_is_written_from_the_table_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "functions.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_every_function_can_be_called_from_python() -> None:
    for name, function in EACH:
        made = getattr(wc.functions, f"{name}_" if name in ("if", "and", "or", "not", "is") else name, None)
        if made is None:
            assert not function.symbol[0].isalpha() or name in ("case", "is_in", "named_struct", "get_field"), name
            continue
        given = [argument(value) for value in function.example.args]
        expr = made(*given)
        assert isinstance(expr, Call)
        assert expr.function == name
        assert inspect.getdoc(made), name
    assert repr(wc.functions.struct(x=1)) == "named_struct('x', 1)"


def test_methods_give_what_functions_give() -> None:
    column = wc.col("x")
    assert repr(column.substring(2, 3)) == repr(wc.functions.substring(column, 2, 3))
    assert repr(column.regexp_extract("a(b)")) == repr(wc.functions.regexp_extract(column, "a(b)"))
    assert isinstance(column.field("a"), Expr)
