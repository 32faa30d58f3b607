"""Rides: which moves belong together."""

from __future__ import annotations

import pytest

from waterclock.testing import TestStream


@pytest.mark.parametrize("gap", [1, 60, 240, 299, 300, 301, 600, 3600])
@pytest.mark.parametrize("metres", [0, 10, 250])
def test_a_long_pause_ends_a_ride(ts: TestStream, gap: int, metres: int) -> None:
    ts.load("../rides.sql").feed("moves", f"bicycle | metres | ts\n 7 | 100 | 10:00\n 7 | {metres} | +{gap}s").end()
    together = gap < 300
    ts.expect("rides", f"moves | metres\n 2 | {100 + metres}" if together else f"metres\n 100\n {metres}")


@pytest.mark.parametrize("bicycles", [1, 2, 3, 10])
def test_every_bicycle_has_its_own_rides(ts: TestStream, bicycles: int) -> None:
    rows = [{"bicycle": n % bicycles, "metres": 1, "ts": f"2026-01-05T10:{n:02}:00Z"} for n in range(20)]
    ts.load("../rides.sql").feed("moves", rows).end().expect_same_as_reference()
    assert ts.rows("rides")["metres"].sum() == 20
