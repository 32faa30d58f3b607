"""Random epochs for one operator, and the check of what it makes of them against the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

from tests.properties.kernel import Batch, epochs
from tests.properties.strategies import events
from waterclock import reference
from waterclock.hashing import hash_rows
from waterclock.operators import base
from waterclock.plan import Node
from waterclock.reference import Event, bag_difference
from waterclock.time import BEGINNING, FOREVER


@st.composite
def batches(
    draw: st.DrawFn, ports: int = 1, points: bool = False, some: st.SearchStrategy[Event] | None = None
) -> list[Batch]:
    """Legal epochs: nothing starts before the CTI of its port. A port may lag, run ahead, or end before the others."""
    ctis = [BEGINNING] * ports
    found: list[Batch] = []
    for _ in range(draw(st.integers(1, 6))):
        arrived: list[tuple[Event, ...]] = []
        for port in range(ports):
            if ctis[port] == FOREVER:
                arrived.append(())
                continue
            low = max(-20, ctis[port])
            event = events(low, points) if some is None else some.map(lambda e, low=low: _later(e, low))
            arrived.append(tuple(draw(st.lists(event, max_size=8))))
            if draw(st.booleans()):
                ctis[port] = max(ctis[port], draw(st.integers(low, low + 25)))
            elif draw(st.integers(0, 19)) == 0:
                ctis[port] = FOREVER
        found.append(Batch(tuple(arrived), tuple(ctis), draw(st.sampled_from([1, 2, 3, 7]))))
    if draw(st.booleans()):
        found.append(Batch(((),) * ports, (FOREVER,) * ports, draw(st.sampled_from([1, 2]))))
    return found


def _later(event: Event, low: int) -> Event:
    """An event around 0 as one that starts at or after ``low``."""
    vs, ve, payload = event
    by = max(0, low + 20)
    return vs + by, ve if ve == FOREVER else ve + by, payload


def check(node: Node, some: Sequence[Batch]) -> None:
    """After every epoch, what an operator over streams ``s0``, ``s1``, ... gave is the final part at the CTIs reached
    then, and its time is right too."""
    names = [f"s{port}" for port in range(len(node.inputs))]
    arrived: dict[str, list[Event]] = {name: [] for name in names}
    seen = dict.fromkeys(names, BEGINNING)
    found: list[Event] = []
    for batch, (results, cti) in zip(some, epochs(node, some), strict=True):
        found += results
        for name, new, time in zip(names, batch.events, batch.ctis, strict=True):
            arrived[name] += new
            seen[name] = time if time < FOREVER else seen[name]
        expected, expected_cti = reference.final(node, arrived, dict(zip(names, batch.ctis, strict=True)), seen)
        assert not bag_difference(found, expected)
        assert cti == expected_cti


@contextmanager
def few_hashes() -> Iterator[None]:
    """All keys share two hashes, as unequal keys may by chance."""

    def coarse(frame: pl.DataFrame, keys: Sequence[str]) -> np.ndarray:
        return hash_rows(frame, keys) & np.uint64(1 << 63)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "hash_rows", coarse)
        yield
