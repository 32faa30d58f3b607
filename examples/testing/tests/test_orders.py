"""Revenue per minute: where windows begin and end, what is late, and that no crash changes a sum."""

from __future__ import annotations

import pytest

from waterclock.testing import TestStream

CRASHES = [
    "ingest.before_write", "ingest.before_commit", "ingest.after_commit", "epoch.before_intent", "epoch.after_intent",
    "task.running", "task.after_files", "epoch.before_commit", "epoch.after_commit", "sync.before_mark",
    "sync.after_mark",
]  # fmt: skip


@pytest.mark.parametrize("second", [0, 1, 30, 58, 59])
@pytest.mark.parametrize("minute", [0, 1, 29, 58])
def test_an_order_counts_in_its_minute(ts: TestStream, minute: int, second: int) -> None:
    ts.load("../orders.sql").feed("orders", f"shop | amount | ts\n north | 5 | 10:{minute:02}:{second:02}").end()
    ts.expect("revenue", f"shop | orders | revenue | from | to\n north | 1 | 5 | 10:{minute:02} | 10:{minute + 1:02}")


@pytest.mark.parametrize("delay", range(12))
def test_late_orders_are_kept_aside(ts: TestStream, delay: int) -> None:
    ts.load("../orders.sql").feed("orders", "shop | amount | ts\n north | 5 | 10:00:30")
    ts.feed("orders", f"shop | amount | ts\n north | 7 | 10:00:{30 - delay}").end()
    late = delay > 5
    ts.expect("revenue", f"shop | revenue\n north | {5 if late else 12}")
    assert ts.late("orders") == ts.rows("orders.late").height == late


@pytest.mark.parametrize("amount", [-3.5, 0, 0.01, 1e9])
def test_only_what_is_paid_counts(ts: TestStream, amount: float) -> None:
    ts.load("../orders.sql").feed("orders", [{"shop": "north", "amount": amount, "ts": "2026-01-05T10:00:00Z"}]).end()
    ts.expect("revenue", [{"shop": "north", "revenue": amount}] if amount > 0 else [])


@pytest.mark.parametrize("seconds", [59, 60, 61, 89, 90, 600])
def test_a_quiet_shop_still_gets_its_minute(ts: TestStream, seconds: int) -> None:
    ts.load("../orders.sql").feed("orders", "shop | amount | ts\n north | 5 | 10:00:20").wait(seconds=seconds)
    assert ts.rows("revenue").height == (seconds >= 60)


@pytest.mark.parametrize("place", CRASHES)
def test_a_crash_changes_no_sum(ts: TestStream, place: str) -> None:
    ts.load("../orders.sql").crash(place)
    ts.feed("orders", """
        shop  | amount | ts
        north | 0.1    | 10:00:01
        south | 2      | 10:00:02
        north | 0.2    | 10:00:59
        north | 9      | 10:01:05
    """)  # fmt: skip
    ts.expect("revenue", """
        shop  | orders | revenue | from  | to
        north | 2      | 0.3     | 10:00 | 10:01
        south | 1      | 2       | 10:00 | 10:01
    """)  # fmt: skip


def test_whatever_happens_the_answer_is_the_same(ts: TestStream) -> None:
    ts.load("../orders.sql").feed("orders", [
        {"shop": f"s{n % 3}", "amount": n / 10, "ts": f"2026-01-05T10:{n % 7:02}:00Z"} for n in range(40)
    ]).end().expect_same_as_reference().chaos(seed=7, times=5)  # fmt: skip
