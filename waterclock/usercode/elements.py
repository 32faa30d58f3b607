"""A function of a user over single elements: one becomes one, many, or is kept or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from waterclock.schema import Schema
from waterclock.usercode import checking
from waterclock.usercode.code import Code
from waterclock.usercode.failure import bad_result, failed, not_deterministic, short
from waterclock.usercode.machine import Row
from waterclock.usercode.values import fitted

MODES = ("map", "flat_map", "filter")


@dataclass(frozen=True, eq=False)
class ElementCode:
    code: Code
    mode: str
    returns: Schema
    """Of what comes out; with ``filter`` what came in."""

    @property
    def label(self) -> str:
        return self.code.label(self.mode, self.returns.columns)

    def run(self, element: Row) -> list[tuple[Any, ...]]:
        """What becomes of an element: the columns of each result."""
        found = self._once(element)
        if checking.on() and repr(found) != repr(again := self._once(element)):
            raise not_deterministic(self.code, short(found), short(again), short(element))
        return found

    def _once(self, element: Row) -> list[tuple[Any, ...]]:
        # An element of one column is its value, as of a stream of words or numbers.
        given = next(iter(element.values())) if len(element) == 1 else element
        try:
            result = self.code.function(given)
            if self.mode == "flat_map" and result is not None:
                result = list(result)
        except Exception as error:
            raise failed(self.code, error, short(element), f"{self.code.name}({short(given)})") from error
        try:
            if self.mode == "filter":
                if not isinstance(result, bool):
                    raise TypeError(f"{short(result)} ({type(result).__name__}) where True or False was expected")
                return [tuple(element.values())] if result else []
            every: Iterable[Any] = (result or ()) if self.mode == "flat_map" else [result]
            return [self._fitted(one) for one in every]
        except (TypeError, OverflowError) as error:
            fix = "It must give True or False."
            if self.mode != "filter":
                fix = f"It must give {'a list of ' if self.mode == 'flat_map' else ''}({self.returns})."
            raise bad_result(self.code, error, short(element), fix) from None

    def _fitted(self, result: Any) -> tuple[Any, ...]:
        names = self.returns.names
        if isinstance(result, Mapping):
            result = tuple(result.get(name) for name in names)
        values = result if len(names) > 1 else (result,)
        if not isinstance(values, tuple | list) or len(values) != len(names):
            raise TypeError(f"{short(result)} where ({', '.join(names)}) was expected")
        return tuple(fitted(value, kind) for value, (_, kind) in zip(values, self.returns, strict=True))
