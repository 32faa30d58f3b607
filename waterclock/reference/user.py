"""What user code over events means: per key, one event (or one step of time) after another, from the beginning."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby, pairwise
from typing import Any

import polars as pl

from waterclock.errors import UserError
from waterclock.plan.guarded import Attempt, Guarded
from waterclock.plan.user import Apply, Elements, Track
from waterclock.reference.events import Event, Final, floor, grouped
from waterclock.reference.expressions import order, value_of
from waterclock.schema import VE, VS
from waterclock.time import BEGINNING, FOREVER
from waterclock.usercode.machine import Machine, Row


def in_order(events: list[Event]) -> list[Event]:
    """By start, end and payload; nulls first."""

    def place(event: Event) -> Any:
        values = list(event[2].values())
        zeros = [math.copysign(1, value) for value in values if isinstance(value, float)]
        return event[0], event[1], [(value is not None, order(value)) for value in values], zeros

    return sorted(events, key=place)


def track(node: Track, events: list[Event], cti: int) -> Final:
    """Events before the CTI count; a state is a result once it is known where it ends."""
    machine = Machine(node.initialize, node.update, node.state)
    results: list[Event] = []
    held: list[int] = []
    for key, members in grouped(events, node.keys):
        lives: list[tuple[int, int, Any]] = []
        """Start, last moment if nothing comes, state."""
        for start, together in groupby(in_order([e for e in members if e[0] < cti]), key=lambda event: event[0]):
            state = lives[-1][2] if lives and start < lives[-1][1] else None
            taken = False
            for vs, ve, payload in together:
                with left_out(node):
                    state = machine.after(tuple(key.values()), state, Row(payload, vs, ve))
                    taken = True
            if not taken:
                continue
            end = FOREVER if node.timeout is None else start + node.timeout
            lives.append((start, end if state is not None else start, state))
        for (start, end, state), (after, _, _) in pairwise([*lives, (FOREVER, FOREVER, None)]):
            if state is None:
                continue
            payload = {**key, **dict(zip(node.state.names, state, strict=True))}
            if node.result == "point":
                results.append((start, start + 1, payload))
            elif min(end, after) <= cti:
                results.append((start, min(end, after), payload))
            else:
                held.append(start)
    return results, min([cti, *held])


def apply(node: Apply, events: list[Event], cti: int) -> Final:
    """Steps that end at or before the CTI are taken."""
    operator = node.operator
    every, offset = operator.every, operator.offset
    results: list[Event] = []
    for key, members in grouped(events, node.keys):
        ready = [e for e in members if floor(e[0], every, offset) + every <= cti]
        state, until = operator.no_state(), FOREVER
        for start, together in groupby(in_order(ready), key=lambda event: floor(event[0], every, offset)):
            rows = [{VS: vs, VE: ve, **payload} for vs, ve, payload in together]
            frame = pl.DataFrame(rows, schema=node.input.schema.frame_schema(), orient="row")
            with left_out(node):
                found, state = operator.run(start, frame, state if start < until else operator.no_state())
                until = FOREVER if operator.keeps is None else start + every + operator.keeps
                for row in found.iter_rows(named=True):
                    results.append((row.pop(VS), row.pop(VE), {**key, **row}))
    return results, cti if cti in (BEGINNING, FOREVER) else floor(cti, every, offset)


def elements(node: Elements, events: list[Event]) -> list[Event]:
    results: list[Event] = []
    for vs, ve, payload in events:
        with left_out(node):
            made = node.function.run(Row(payload, vs, ve))
            results += [(vs, ve, dict(zip(node.schema.names, result, strict=True))) for result in made]
    return results


def attempt(node: Attempt, events: list[Event]) -> list[Event]:
    results: list[Event] = []
    for vs, ve, payload in events:
        with left_out(node):
            made = {name: value_of(expr, payload, node.input.schema, (vs, ve)) for name, expr in node.columns}
            results.append((vs, ve, made))
    return results


@contextmanager
def left_out(node: Guarded) -> Iterator[None]:
    """What fails here did not happen, if the policy of the node says so."""
    try:
        yield
    except UserError as error:
        if not node.on_error.leaves_out or error.code == "USER.NOT_DETERMINISTIC":
            raise
