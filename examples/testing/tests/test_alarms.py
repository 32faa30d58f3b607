"""Alarms: a join with who is there, and a function of our own."""

from __future__ import annotations

import pytest

from waterclock.testing import TestStream, events

SHIFTS = events("""
    hall | from  | to
    a    | 06:00 | 14:00
    a    | 15:00 | 22:00
    b    | 06:00 |
""")


@pytest.mark.parametrize(
    ("hall", "time", "alarm"),
    [
        ("a", "05:59:59", True), ("a", "06:00", False), ("a", "10:00", False), ("a", "13:59:59", False),
        ("a", "14:00", True), ("a", "14:30", True), ("a", "15:00", False), ("a", "22:00", True), ("b", "05:00", True),
        ("b", "06:00", False), ("b", "23:59", False), ("c", "10:00", True),
    ],
)  # fmt: skip
def test_heat_while_nobody_is_there(ts: TestStream, hall: str, time: str, alarm: bool) -> None:
    ts.load("../alarms.py").feed("shifts", SHIFTS).feed("heat", f"hall | fahrenheit | ts\n {hall} | 212 | {time}").end()
    ts.expect("alarms", f"hall | celsius | at\n {hall} | 100 | {time}" if alarm else "")


@pytest.mark.parametrize("fahrenheit", [-459.67, 32, 139.9, 140.1, 212, 451])
def test_only_heat_is_an_alarm(ts: TestStream, fahrenheit: float) -> None:
    ts.load("../alarms.py").feed("heat", f"hall | fahrenheit | ts\n a | {fahrenheit} | 10:00").end("shifts", "heat")
    assert ts.rows("alarms").height == (fahrenheit > 140)
