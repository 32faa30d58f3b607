"""Names as people write them: found whatever their case, and guessed where they are misspelt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def match(name: str, choices: Iterable[str]) -> list[str]:
    """The name itself if it is there; else all that differ from it only in case."""
    known = list(choices)
    return [name] if name in known else [other for other in known if other.lower() == name.lower()]


def nearest(name: str, choices: Sequence[str]) -> str:
    """A sentence with the choice that takes the fewest edits, if those are few."""
    best = min(choices, key=lambda choice: distance(name.lower(), choice.lower()), default=None)
    if best is None or len(name) < 2 or distance(name.lower(), best.lower()) > max(1, len(best) // 3):
        return ""
    return f" Did you mean {best}?"


def listed(choices: Iterable[str], most: int = 20) -> str:
    known = list(choices)
    rest = f" and {len(known) - most} more" if len(known) > most else ""
    return (", ".join(known[:most]) or "none") + rest


def distance(one: str, other: str) -> int:
    """How many characters must be added, left out, replaced or swapped with their neighbour.

    >>> distance("usreid", "userid"), distance("count", "cuont"), distance("a", "abc")
    (1, 1, 2)
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
