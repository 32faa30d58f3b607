"""User code by name, for languages that know it only by its name. A name that is given again means the newer one."""

from __future__ import annotations

from typing import Any, Protocol

KINDS = ("function", "aggregate", "operator")


class Registered(Protocol):
    """A function or an aggregate, called with its arguments; or an operator."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """One of ``KINDS``."""

    def __call__(self, *args: Any, **options: Any) -> Any: ...


_known: dict[str, Registered] = {}


def register(found: Registered) -> None:
    _known[found.name] = found


def lookup(name: str, kind: str | None = None) -> Registered | None:
    """What is registered under a name, whatever its case; None if nothing, or nothing of that kind, is."""
    found = _known.get(name) or next((one for key, one in _known.items() if key.lower() == name.lower()), None)
    return found if found is not None and kind in (None, found.kind) else None


def names() -> list[str]:
    """Everything that is registered."""
    return sorted(_known)
