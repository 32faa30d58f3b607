"""Scalar functions in Python: ``@wc.function(returns="double")``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr, UserCall, as_expr, uses_time
from waterclock.schema import type_name
from waterclock.usercode import Code, register
from waterclock.usercode import lookup as registered
from waterclock.usercode.scalar import Scalar


class Function:
    """A registered function. Called with columns and constants it gives an expression."""

    kind = "function"

    def __init__(self, scalar: Scalar) -> None:
        self._scalar = scalar
        self.code = scalar.code
        self.name = scalar.code.name
        self.__doc__ = scalar.code.function.__doc__

    def __call__(self, *args: object) -> Expr:
        """An expression; a text is the name of a column, as elsewhere (``wc.lit`` makes a constant of it)."""
        exprs = tuple(as_expr(arg) for arg in args)
        try:
            inspect.signature(self.code.function).bind(*exprs)
        except TypeError as error:
            fix = f"It takes ({', '.join(self.code.parameters())})."
            raise ConfigError("USER.BAD_ARGUMENTS", name=self.name, reason=error, fix=fix) from None
        if not any(expr.columns() or uses_time(expr) for expr in exprs):
            fix = "Give it at least one column."
            raise ConfigError("USER.BAD_ARGUMENTS", name=self.name, reason="it reads no column", fix=fix)
        assert self.code.digest  # refuses what cannot be part of a plan, where the user's line is on the stack
        return UserCall(self._scalar, exprs)

    def on_row(self, *values: Any) -> Any:
        """Its value for one row, here and now: to try it, and to do again what failed."""
        return self.on_batch(*([value] for value in values))[0]

    def on_batch(self, *columns: Sequence[Any] | pl.Series) -> list[Any]:
        """Its values for some rows, given as columns."""
        return self._scalar.run([pl.Series(column) for column in columns]).to_list()

    def __repr__(self) -> str:
        return f"<function {self.name} returns {self._scalar.returns}>"


def function(
    returns: object, *, per_row: bool = False, arrow: bool = False, name: str | None = None
) -> Callable[[Callable[..., Any]], Function]:
    """Makes a scalar function of Python code, known by ``name`` (its own if not given) in SQL too.

    It takes Polars series and gives one of the same length; with ``arrow`` Arrow arrays; with ``per_row`` it takes and
    gives plain values. Nulls are given to it as they are. It must follow from its arguments alone.
    """
    kind = type_name(returns)
    if per_row and arrow:
        raise ConfigError("CONFIG.BAD_OPTION", option="arrow", value=arrow, fix="Choose per_row or arrow.")

    def decorate(function: Callable[..., Any]) -> Function:
        form = "row" if per_row else "arrow" if arrow else "polars"
        made = Function(Scalar(Code.of(function, name), kind, form))
        register(made)
        return made

    return decorate


def lookup(name: str) -> Function | None:
    """The scalar function of that name, whatever its case."""
    found = registered(name, "function")
    return found if isinstance(found, Function) else None
