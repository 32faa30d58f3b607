"""What is missing and what is too much, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from waterclock.reference import Event
from waterclock.reference.events import snapshots
from waterclock.schema import Schema
from waterclock.testing.tables import laid_out
from waterclock.testing.times import Times
from waterclock.testing.values import Expected, key_of, written

MOST = 40
"""Lines; rows that agree go first."""


class Differs(AssertionError):
    """An output is not what a test expects."""


def difference(found: Sequence[Event], expected: Expected, schema: Schema, times: Times) -> str | None:
    """Lines with - (missing), + (unexpected) and nothing (as expected) in front; None when both are logically equal.

    That is: at every instant the same rows are alive as often, however their lifetimes are cut.
    """
    kinds = dict(schema)

    def payload_of(event: Event) -> tuple[Any, ...]:
        return tuple(key_of(event[2][name], kinds[name]) for name in expected.columns)

    same, missing, unexpected = _apart(found, expected.events, payload_of)
    if not missing and not unexpected:
        return None
    signed = [(sign, event) for sign, events in (("-", missing), ("+", unexpected), (" ", same)) for event in events]
    left_out = 0
    if len(signed) > MOST:
        signed = [(sign, event) for sign, event in signed if sign != " "]
        left_out = max(0, len(signed) - MOST)
    signed.sort(key=lambda each: (each[1][0], each[1][1], repr(payload_of(each[1])), "-+ ".index(each[0])))
    signed = signed[: len(signed) - left_out]
    header, rows = written([event for _, event in signed], expected.columns, expected.timed, schema, times)
    lines = laid_out(header, rows)
    shown = [f"  {sign} {line}" for sign, line in zip([" ", *(sign for sign, _ in signed)], lines, strict=True)]
    more = [f"    ... and {left_out} more"] if left_out else []
    return "\n".join([f"{len(missing)} missing (-), {len(unexpected)} unexpected (+)", *shown, *more])


def _apart(
    found: Sequence[Event], expected: Sequence[Event], payload_of: Any
) -> tuple[list[Event], list[Event], list[Event]]:
    """Events that are in both, those only expected, those only found."""
    rest = Counter((vs, ve, payload_of((vs, ve, payload))) for vs, ve, payload in found)
    same: list[Event] = []
    missing: list[Event] = []
    for event in expected:
        key = (event[0], event[1], payload_of(event))
        (same if rest[key] > 0 else missing).append(event)
        rest[key] -= 1 if rest[key] > 0 else 0
    unexpected: list[Event] = []
    for event in reversed(found):
        key = (event[0], event[1], payload_of(event))
        if rest[key] > 0:
            rest[key] -= 1
            unexpected.append(event)
    # What is left may still be the same, cut otherwise.
    for payload in {payload_of(event) for event in missing}:
        left, right = ([e for e in events if payload_of(e) == payload] for events in (missing, unexpected))
        if _alive(left) == _alive(right):
            same += left
            missing = [event for event in missing if payload_of(event) != payload]
            unexpected = [event for event in unexpected if payload_of(event) != payload]
    return same, missing, unexpected


def _alive(events: Sequence[Event]) -> list[tuple[int, int]]:
    """How many are alive from when on."""
    changes: list[tuple[int, int]] = []
    for start, end, alive in snapshots(events):
        if changes and changes[-1] == (start, 0):
            changes.pop()
        if not (changes and changes[-1][1] == len(alive)):
            changes.append((start, len(alive)))
        changes.append((end, 0))
    return changes
