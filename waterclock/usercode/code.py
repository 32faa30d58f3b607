"""A function or class that a user wrote. Its identity is its source and all that the source refers to."""

from __future__ import annotations

import functools
import hashlib
import inspect
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from waterclock.errors import ConfigError
from waterclock.usercode.identity import digest_of, source_lines


@dataclass(frozen=True, eq=False)
class Code:
    name: str
    function: Any
    """The function or class itself."""
    file: str
    line: int
    """Where its source starts."""
    source: str
    """As it is written, decorators included."""

    @staticmethod
    def of(function: Callable[..., Any], name: str | None = None) -> Code:
        """Raises where it cannot be part of a plan: its source is not there, or what it uses is not plain data."""
        inner = function
        while isinstance(inner, functools.partial):
            inner = inner.func
        if not (inspect.isfunction(inner) or inspect.isclass(inner)):
            fix = "Write a function: def f(x): ..., or a lambda."
            raise ConfigError("USER.NOT_CODE", what=name or "user code", found=repr(function), fix=fix)
        called = name or inner.__name__
        lines, line, file = source_lines(inner)
        return Code(called, function, file, line, "".join(lines))

    @cached_property
    def digest(self) -> str:
        """Of the source, the defaults, and the values that it takes from outside."""
        return digest_of(self.function, self.name)

    def text_at(self, line: int) -> str:
        """A line of the file; also on a machine that has no such file."""
        mine = self.source.splitlines()
        if self.line <= line < self.line + len(mine):
            return mine[line - self.line].strip()
        return linecache.getline(self.file, line).strip()

    def parameters(self) -> list[str]:
        """The names of what it is called with, as far as they are known."""
        try:
            return list(inspect.signature(self.function).parameters)
        except (TypeError, ValueError):
            return []

    def label(self, *options: object) -> str:
        """How it stands in a plan: its name, and a hash of what it is and how it was declared."""
        text = "|".join([self.digest, *map(repr, options)])
        return f"{self.name}@{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"
