"""The text of a program, and places in it that an error can point at."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from waterclock.errors import ConfigError, SqlError

_LINE = re.compile(r"\r\n|\r|\n")
WIDEST = 110
"""Longer lines are cut around the place that is underlined."""


class Span(NamedTuple):
    """Characters ``start`` up to and without ``end``."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        return Span(self.start, max(self.end, other.end))


@dataclass(frozen=True)
class Source:
    text: str
    name: str = "<sql>"
    """The file, as errors name it."""

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE.finditer(self.text))]

    def line_of(self, offset: int) -> int:
        """The number of a line, from 1."""
        return bisect_right(self._starts, offset)

    def place(self, span: Span) -> str:
        """File, line and column, the line, and the place underlined."""
        start = min(span.start, len(self.text))
        number = self.line_of(start)
        first = self._starts[number - 1]
        line = _LINE.split(self.text[first:], maxsplit=1)[0]
        column = start - first
        width = max(1, min(span.end, first + len(line)) - start)
        cut = max(0, min(column - WIDEST // 2, len(line) - WIDEST))
        shown = _printable(line[cut : cut + WIDEST])
        mark = " " * (column - cut) + "^" + "~" * min(width - 1, WIDEST - (column - cut) - 1)
        margin = " " * len(str(number))
        return f"  --> {self.name}:{number}:{column + 1}\n  {number} | {shown}\n  {margin} | {mark}"

    def error(self, code: str, span: Span, **values: object) -> SqlError:
        return SqlError(code, place=self.place(span), offset=span.start, **values)

    def caused(self, error: ConfigError, span: Span) -> SqlError:
        """An error of the plan or of a connector, shown at the place in the program that led to it."""
        if isinstance(error, SqlError):
            return error
        return self.error("SQL.REFUSED", span, inner=error.code, message=error.message, fix=error.hint)

    def slice(self, span: Span) -> str:
        return self.text[span.start : span.end]


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else " " for char in line)
