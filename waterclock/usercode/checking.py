"""Determinism on demand: while it is checked, user code is called twice and must give the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_on = False


def on() -> bool:
    return _on


@contextmanager
def checked(wanted: bool = True) -> Iterator[None]:
    global _on
    before, _on = _on, wanted
    try:
        yield
    finally:
        _on = before
