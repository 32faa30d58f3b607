"""Sessions: events less than a timeout apart, cut at check points when they last too long."""

from __future__ import annotations

from waterclock.reference.events import Event, floor


def sessions(events: list[Event], timeout: int, maximum: int | None) -> list[tuple[int, int, list[Event]]]:
    """Start, end and events of each session of one group. Only starts matter.

    An event that starts exactly ``timeout`` after the last one begins a session of its own. With a maximum a session
    ends at the first multiple of it if it began on one, at the second otherwise; one that goes on from a cut session
    ends at the next.
    """
    found: list[tuple[int, int, list[Event]]] = []
    inside: list[Event] = []
    limit: int | None = None
    for event in sorted(events, key=lambda event: event[0]):
        vs = event[0]
        goes_on = bool(inside) and vs < inside[-1][0] + timeout
        if goes_on and (limit is None or vs < limit):
            inside.append(event)
            continue
        if inside:
            found.append((inside[0][0], _end(inside, timeout, limit), inside))
        inside = [event]
        if maximum is not None:
            on_point = vs % maximum == 0
            limit = floor(vs, maximum, 0) + (maximum if goes_on or on_point else 2 * maximum)
    if inside:
        found.append((inside[0][0], _end(inside, timeout, limit), inside))
    return found


def _end(events: list[Event], timeout: int, limit: int | None) -> int:
    end = events[-1][0] + timeout
    return end if limit is None else min(end, limit)
