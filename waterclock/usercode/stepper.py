"""An operator of a user: the events of a step of time and the state as frames in, results and new state out."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from waterclock.errors import UserError
from waterclock.schema import VE, VS, Schema
from waterclock.usercode import checking
from waterclock.usercode.code import Code
from waterclock.usercode.failure import bad_result, failed, not_deterministic, short
from waterclock.usercode.values import series_of


@dataclass(frozen=True, eq=False)
class OperatorCode:
    code: Code
    every: int
    returns: Schema
    state: Schema | None
    timeout: int | None
    offset: int = 0
    arguments: tuple[object, ...] = ()
    """What a class is made with."""

    @property
    def label(self) -> str:
        state = None if self.state is None else self.state.columns
        return self.code.label(self.every, self.returns.columns, state, self.timeout, self.offset, self.arguments)

    @property
    def keeps(self) -> int | None:
        """For how long behind a step its state is kept: whole steps, so it does not matter when it is looked at."""
        return None if self.timeout is None else -(-self.timeout // self.every) * self.every

    def no_state(self) -> pl.DataFrame:
        return pl.DataFrame(schema={} if self.state is None else self.state.polars())

    def run(self, start: int, events: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """One step of one key that begins at ``start``: results with their lifetimes, and the new state."""
        found = self._once(start, events, state)
        if checking.on():
            for one, other in zip(found, self._once(start, events, state), strict=True):
                if repr(one.rows()) != repr(other.rows()):
                    row = self._show(start, events)
                    raise not_deterministic(self.code, _rows(one), _rows(other), row)
        return found

    @cached_property
    def _function(self) -> Any:
        function: Any = self.code.function
        if not inspect.isclass(function):
            return function
        made: Any = function(*self.arguments)
        return made.step

    def _once(self, start: int, events: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        given = (events,) if self.state is None else (events, state)
        again = f"{self.code.name}.on_step({', '.join(_rows(frame) for frame in given)})"
        try:
            result = self._function(*given)
        except UserError:
            raise
        except Exception as error:
            raise failed(self.code, error, self._show(start, events), again) from error
        try:
            return self._fitted(start, result)
        except TypeError as error:
            raise bad_result(self.code, error, self._show(start, events), self._fix) from None

    def _fitted(self, start: int, result: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
        kept = self.no_state()
        if self.state is not None:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(f"{type(result).__name__} where results and state were expected")
            result, new = result
            kept = kept if new is None else _frame(new, self.state)
        if result is None:
            return pl.DataFrame(schema=self.returns.frame_schema()), kept
        found = _frame(result, self.returns)
        if VS in result.columns and VE in result.columns:
            life = [series_of(result[name], "bigint", found.height).alias(name) for name in (VS, VE)]
            found = found.with_columns(life)
            if found.filter((pl.col(VS) < start) | (pl.col(VE) <= pl.col(VS)) | pl.col(VS).is_null()).height:
                raise TypeError("a result that starts before its step, or ends before it starts,")
        else:
            ends = start + self.every
            found = found.with_columns(pl.lit(start, pl.Int64()).alias(VS), pl.lit(ends, pl.Int64()).alias(VE))
        return found.select(VS, VE, *self.returns.names), kept

    @property
    def _fix(self) -> str:
        if self.state is None:
            return f"It must give a Polars frame of ({self.returns}), or None."
        return f"It must give a pair: a Polars frame of ({self.returns}) and one of the state ({self.state})."

    def _show(self, start: int, events: pl.DataFrame) -> str:
        return (
            f"the step from {start} with {events.height} events, the first of them {short(events.row(0, named=True))}"
        )


def _frame(found: Any, schema: Schema) -> pl.DataFrame:
    if not isinstance(found, pl.DataFrame):
        raise TypeError(f"{short(found)} ({type(found).__name__}) where a Polars frame was expected")
    missing = [name for name in schema.names if name not in found.columns]
    if missing:
        raise TypeError(f"a frame without the column {missing[0]!r}")
    return pl.DataFrame([series_of(found[name], kind, found.height).alias(name) for name, kind in schema])


def _rows(frame: pl.DataFrame) -> str:
    return short(frame.rows(named=True))
