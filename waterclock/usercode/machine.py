"""A state machine of a user: the state of a key, made by one function and changed by another, event after event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from waterclock.schema import Schema
from waterclock.time import FOREVER
from waterclock.usercode import checking
from waterclock.usercode.code import Code
from waterclock.usercode.failure import bad_result, failed, not_deterministic, short
from waterclock.usercode.values import fitted

SINGLE = "state"
"""A state of this column alone is given as its value, any other as a dict."""
Values = tuple[Any, ...]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Row(Mapping[str, Any]):
    """An event as user code sees it: ``event.url`` or ``event["url"]``, and its lifetime."""

    __slots__ = ("_ends", "_starts", "_values")

    def __init__(self, values: Mapping[str, Any], starts: int = 0, ends: int = FOREVER) -> None:
        self._values = values
        self._starts = starts
        self._ends = ends

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._values:
            return self._values[name]
        if name == "start":
            return _EPOCH + timedelta(microseconds=self._starts)
        if name == "end":
            return None if self._ends == FOREVER else _EPOCH + timedelta(microseconds=self._ends)
        raise AttributeError(f"the event has no column {name!r}; it has {', '.join(self._values)}, start and end")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __reduce__(self) -> tuple[object, ...]:
        return Row, (self._values, self._starts, self._ends)

    def __repr__(self) -> str:
        return f"wc.Row({dict(self._values)!r}, {self._starts}, {self._ends})"


@dataclass(frozen=True, eq=False)
class Machine:
    initialize: Code
    update: Code
    state: Schema

    def after(self, key: Values, state: Values | None, event: Row) -> Values | None:
        """The state behind an event, None where there is none."""
        code = self.initialize if state is None else self.update
        result = self._called(code, key, state, event)
        if checking.on():
            again = self._called(code, key, state, event)
            if repr(result) != repr(again):
                raise not_deterministic(code, short(result), short(again), self._show(key, state, event))
        return result

    def _called(self, code: Code, key: Values, state: Values | None, event: Row) -> Values | None:
        given = (key[0] if len(key) == 1 else key, *(() if state is None else (self._shown(state),)), event)
        try:
            result = code.function(*given)
        except Exception as error:
            again = f"{code.name}({', '.join(short(value) for value in given)})"
            raise failed(code, error, self._show(key, state, event), again) from error
        if result is None:
            return None
        try:
            return self._fitted(result)
        except (TypeError, OverflowError) as error:
            fix = f"It must give the new state ({self.state}), or None to drop it."
            raise bad_result(code, error, self._show(key, state, event), fix) from None

    def _fitted(self, result: Any) -> Values:
        if self.state.names == [SINGLE]:
            return (fitted(result, self.state.type_of(SINGLE)),)
        if not isinstance(result, Mapping):
            raise TypeError(f"{short(result)} where a dict of {', '.join(self.state.names)} was expected")
        unknown = [name for name in result if name not in self.state]
        if unknown:
            raise TypeError(f"a state with {unknown[0]!r}, which is not declared")
        return tuple(fitted(result.get(name), kind) for name, kind in self.state)

    def _shown(self, state: Values) -> Any:
        """As the user's code gets it, which may change it in place and then fail."""
        given = deepcopy(state) if any("<" in kind for _, kind in self.state) else state
        return given[0] if self.state.names == [SINGLE] else dict(zip(self.state.names, given, strict=True))

    def _show(self, key: Values, state: Values | None, event: Row) -> str:
        before = "" if state is None else f" in state {short(self._shown(state))}"
        named = f"key {short(key[0] if len(key) == 1 else key)}" if key else "the stream"
        return f"{named}{before} and the event {short(event)}"
