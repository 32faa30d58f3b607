"""Joins by pairs: which events match, and which part of a lifetime the matching ones cover."""

from __future__ import annotations

from typing import Any

from waterclock.plan.join import AsOf, Join
from waterclock.reference.events import Event, Final
from waterclock.reference.expressions import order, value_of

Piece = tuple[int, int]


def join(node: Join, left: Final, right: Final) -> Final:
    (lefts, left_cti), (rights, right_cti) = left, right
    natural = min(left_cti, right_cti)
    if node.kind == "clip":
        return _clip(node, lefts, rights, right_cti, natural)
    results: list[Event] = []
    held: list[int] = []
    if node.kind in ("inner", "left", "full"):
        results += _inner(node, lefts, rights)
    if node.kind in ("left", "full", "anti"):
        for one in lefts:
            matching = [other for other in rights if _match(node, one, other)]
            payload = one[2] if node.kind == "anti" else _pair(node, one, None)
            for start, end in _uncovered(one, matching):
                if end <= right_cti:
                    results.append((start, end, payload))
                else:
                    held.append(start)
    if node.kind == "full":
        for one in rights:
            matching = [other for other in lefts if _match(node, other, one)]
            for start, end in _uncovered(one, matching):
                if end <= left_cti:
                    results.append((start, end, _pair(node, None, one)))
                else:
                    held.append(start)
    if node.kind == "semi":
        for one in lefts:
            for start, end in _covered(one, [other for other in rights if _match(node, one, other)]):
                # A right that starts exactly where the piece ends would go on with it.
                if end < right_cti or end == one[1] <= right_cti:
                    results.append((start, end, one[2]))
                else:
                    held.append(start)
    return results, min([natural, *held])


def as_of(node: AsOf, left: Final, right: Final) -> Final:
    """Final when the left event starts before the right's time: until then a better right may start with it."""
    (lefts, left_cti), (rights, right_cti) = left, right
    results: list[Event] = []
    held: list[int] = []
    for one in lefts:
        vs, ve, _ = one
        if vs >= right_cti:
            held.append(vs)
            continue
        before = [other for other in rights if other[0] <= vs and _same_key(node, one, other)]
        if node.tolerance is not None:
            before = [other for other in before if vs - other[0] <= node.tolerance]
        newest = max((other[0] for other in before), default=None)
        matching = [other for other in before if other[0] == newest]
        results += [(vs, ve, _pair(node, one, other)) for other in matching]
        if not matching and node.kind == "left":
            results.append((vs, ve, _pair(node, one, None)))
    return results, min([left_cti, right_cti, *held])


def _inner(node: Join, lefts: list[Event], rights: list[Event]) -> list[Event]:
    return [
        (max(one[0], other[0]), min(one[1], other[1]), _pair(node, one, other))
        for one in lefts
        for other in rights
        if _overlap(one, other) and _match(node, one, other)
    ]


def _clip(node: Join, lefts: list[Event], rights: list[Event], right_cti: int, natural: int) -> Final:
    """Each left until the first matching right that starts strictly inside it; final when that end is certain."""
    results: list[Event] = []
    held: list[int] = []
    for one in lefts:
        vs, ve, payload = one
        end = min([ve, *(other[0] for other in rights if vs < other[0] < ve and _match(node, one, other))])
        if end <= right_cti:
            results.append((vs, end, payload))
        else:
            held.append(vs)
    return results, min([natural, *held])


def _overlap(one: Event, other: Event) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _same_key(node: Join | AsOf, one: Event, other: Event) -> bool:
    """A null equals nothing."""
    pairs = [(one[2][a], other[2][b]) for a, b in zip(node.left_keys, node.right_keys, strict=True)]
    return all(a is not None and b is not None and order(a) == order(b) for a, b in pairs)


def _match(node: Join, one: Event, other: Event) -> bool:
    if not _same_key(node, one, other):
        return False
    return node.residual is None or value_of(node.residual, _pair(node, one, other), node.pair_schema) is True


def _pair(node: Join | AsOf, one: Event | None, other: Event | None) -> dict[str, Any]:
    """The columns of both sides; null for a side that is not there."""
    left: dict[str, Any] = dict.fromkeys(node.left.schema.names) if one is None else one[2]
    return {**left, **{name: None if other is None else other[2][source] for source, name in node.names}}


def _covered(one: Event, others: list[Event]) -> list[Piece]:
    """The maximal pieces of a lifetime in which at least one of the others is alive."""
    pieces: list[Piece] = []
    for vs, ve, _ in sorted((other for other in others if _overlap(one, other)), key=lambda event: event[:2]):
        start, end = max(vs, one[0]), min(ve, one[1])
        if pieces and start <= pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], max(end, pieces[-1][1]))
        else:
            pieces.append((start, end))
    return pieces


def _uncovered(one: Event, others: list[Event]) -> list[Piece]:
    """The maximal pieces in which none is."""
    covered = _covered(one, others)
    starts = [one[0], *(end for _, end in covered)]
    ends = [*(start for start, _ in covered), one[1]]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
