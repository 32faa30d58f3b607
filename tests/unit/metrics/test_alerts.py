"""Every rule: when it raises, when it does not, and when it ends."""

from __future__ import annotations

import logging
from dataclasses import fields, replace

import pytest

import waterclock as wc
from waterclock.runtime.metrics.alerts import RULES, SKEW, SLOW, Alerts, changed, check
from waterclock.runtime.metrics.figures import (
    Alert,
    Disk,
    SinkStatus,
    Stage,
    Status,
    Straggler,
    StreamRecent,
    StreamStatus,
    Task,
    VertexRecent,
    VertexStatus,
)
from waterclock.runtime.metrics.watch import tell

STREAM = StreamStatus("clicks", 1000, {"rows": 1000}, 10, False, 1.0, 1.0, 1.0, None, False, False, {"out": 0})
VERTEX = VertexStatus("out", 10, 10, 1000, 5, 0, 10, 10, None, 0, 0, 0, durable_age=1.0)
SINK = SinkStatus("out", 10, 5, 0, 0, 0, 0)
FINE = Status("app", "running", 3600.0, (VERTEX,), (STREAM,), (SINK,), disk=Disk(100 << 30, 50 << 30))


def stream(**changes: object) -> Status:
    return replace(FINE, streams=(replace(STREAM, **changes),))  # type: ignore[arg-type]


def vertex(**changes: object) -> Status:
    return replace(FINE, vertices=(replace(VERTEX, **changes),))  # type: ignore[arg-type]


def found(status: Status, before: tuple[Alert, ...] = (), now: float = 100.0, **wanted: object) -> tuple[Alert, ...]:
    return check(status, Alerts(**wanted), before, now)  # type: ignore[arg-type]


def straggling(cause: str) -> Status:
    tasks = (Task(3, 10, 0.5),)
    stage = Stage(1, 4, 100, 0.1, tasks, (Straggler(1, 3, 4, 5.0, cause, 10, 0.5),))
    return vertex(recent=VertexRecent(stages=(stage,)))


RAISED: dict[str, list[tuple[Status, str, float]]] = {
    "silent": [
        (stream(row_age=301.0), "stream clicks", 301.0),
        (stream(row_age=None), "stream clicks", 3600.0),  # nothing since the start
    ],
    "stuck": [
        (stream(row_age=0.5, stalled=61.0), "stream clicks", 61.0),
        (stream(row_age=0.5, stalled=61.0, cti_age=None), "stream clicks", 61.0),  # it never had a CTI
    ],
    "lag": [(vertex(backlog=900, recent=VertexRecent(rows_per_second=50.0, grew_from=300)), "vertex out", 900)],
    "straggler": [
        (straggling("skew"), "vertex out, stage 1, task 3 of 4", 5.0),
        (straggling("slow"), "vertex out, stage 1, task 3 of 4", 5.0),
    ],
    "late": [(stream(recent=StreamRecent(rows=1000, late=10)), "stream clicks", 0.01)],
    "bad": [(stream(recent=StreamRecent(rows=1000, bad=1)), "stream clicks", 1)],
    "dead": [(vertex(recent=VertexRecent(left_out=1)), "vertex out", 1)],
    "snapshot": [
        (vertex(epoch=12, durable_age=61.0), "vertex out", 61.0),
        (vertex(epoch=0, durable_epoch=-1, durable_age=None), "vertex out", 3600.0),
    ],
    "disk": [
        (replace(FINE, disk=Disk(100, 5)), "store", 0.95),
        (replace(FINE, state="stopped", disk=Disk(100, 5)), "store", 0.95),
    ],
    "failing": [
        (vertex(failing=2), "vertex out", 2),
        (replace(FINE, state="failed", vertices=(replace(VERTEX, failing=3),)), "vertex out", 3),
        (replace(FINE, sinks=(replace(SINK, failing=2),)), "sink out", 2),
    ],
}
NOT_RAISED: dict[str, list[Status]] = {
    "silent": [
        stream(row_age=299.0),
        stream(row_age=999.0, may_rest=True),
        stream(row_age=999.0, ended=True),
        stream(row_age=999.0, backlogs={"out": 7}),  # the source is held back
        replace(stream(row_age=9999.0), seconds=20.0),  # the app has only started
        replace(stream(row_age=9999.0), seconds=None),  # it is about to
        replace(stream(row_age=9999.0), state="stopped"),
    ],
    "stuck": [
        stream(row_age=0.5, stalled=59.0),
        stream(row_age=70.0, stalled=80.0),  # no rows come
        stream(row_age=0.5, stalled=999.0, ended=True),
        stream(row_age=0.5, stalled=0.5, cti_age=999.0),  # rows come again, after a pause
        stream(row_age=None, cti_age=999.0),
    ],
    "lag": [
        vertex(backlog=900),
        vertex(backlog=900, recent=VertexRecent(rows_per_second=5000.0, grew_from=300)),  # less than a second's work
        vertex(backlog=200, recent=VertexRecent(grew_from=300)),
    ],
    "straggler": [vertex(recent=VertexRecent(stages=(Stage(1, 4, 100, 0.1, (Task(3, 10, 0.5),)),)))],
    "late": [
        stream(recent=StreamRecent(rows=1000, late=9)),
        stream(recent=StreamRecent(rows=99, late=99)),  # too few to tell
    ],
    "bad": [stream(recent=StreamRecent(rows=1000, late=5)), stream(counters={"rows": 1, "bad_skipped": 9})],
    "dead": [vertex(left_out=9, dead_letters=9)],  # long ago
    "snapshot": [
        vertex(durable_age=999.0),  # nothing waits
        vertex(epoch=12, durable_age=59.0),
        replace(vertex(epoch=12, durable_age=999.0), state="stopped"),
    ],
    "disk": [replace(FINE, disk=Disk(100, 6)), replace(FINE, disk=Disk(0, 0))],
    "failing": [vertex(failing=1), replace(FINE, sinks=(replace(SINK, failing=1),))],
}
CASES = [(rule, *case) for rule, cases in RAISED.items() for case in cases]


def test_every_rule_has_a_threshold_and_cases() -> None:
    names = [rule.name for rule in RULES]
    assert names == [field.name for field in fields(Alerts)]
    assert names == list(RAISED) == list(NOT_RAISED)


def test_all_is_well() -> None:
    assert found(FINE) == ()


@pytest.mark.parametrize(("rule", "status", "subject", "value"), CASES)
def test_raises_keeps_its_beginning_and_ends(rule: str, status: Status, subject: str, value: float) -> None:
    (alert,) = found(status, now=100.0)
    assert (alert.rule, alert.subject, alert.since) == (rule, subject, 100.0)
    assert alert.value == pytest.approx(value)
    assert alert.value >= alert.threshold > 0
    assert alert.text
    assert alert.advice.endswith(".")
    (still,) = found(status, (alert,), now=200.0)
    assert still.since == 100.0
    assert found(FINE, (still,), now=300.0) == ()
    (again,) = found(status, (), now=400.0)
    assert again.since == 400.0


@pytest.mark.parametrize(("rule", "status"), [(rule, status) for rule, each in NOT_RAISED.items() for status in each])
def test_does_not_raise(rule: str, status: Status) -> None:
    assert [alert for alert in found(status) if alert.rule == rule] == []


@pytest.mark.parametrize(("rule", "status"), [case[:2] for case in CASES])
def test_none_turns_a_rule_off(rule: str, status: Status) -> None:
    assert found(status, **{rule: None}) == ()


def test_thresholds_can_be_set() -> None:
    (alert,) = found(stream(row_age=3.0), silent="2s")
    assert alert.threshold == 2.0
    assert found(stream(recent=StreamRecent(rows=1000, late=10)), late=0.05) == ()
    assert found(stream(recent=StreamRecent(rows=1000, bad=4)), bad=5) == ()


@pytest.mark.parametrize(
    "wrong", [{"silent": "0s"}, {"late": 0}, {"disk": -1.0}, {"failing": "two"}, {"bad": float("nan")}]
)
def test_wrong_thresholds(wrong: dict[str, object]) -> None:
    with pytest.raises(wc.ConfigError, match=rf"CONFIG\.BAD_OPTION.*alerts\.{next(iter(wrong))}"):
        Alerts(**wrong)  # type: ignore[arg-type]


def test_a_backlog_that_stopped_growing_is_still_there() -> None:
    growing = vertex(backlog=900, recent=VertexRecent(grew_from=300))
    (alert,) = found(growing)
    assert alert.threshold == 300
    (still,) = found(vertex(backlog=800), (alert,), now=200.0)
    assert (still.since, still.value, still.threshold) == (100.0, 800, 300)
    assert found(vertex(backlog=300), (still,)) == ()


def test_advice_for_stragglers_tells_skew_from_slowness() -> None:
    (skew,), (slow,) = found(straggling("skew")), found(straggling("slow"))
    assert (skew.advice, slow.advice) == (SKEW, SLOW)
    assert skew.text.startswith("skew: 5.0 times the median of its stage (10 of 100 rows, 0.500 s against 0.100 s)")


def test_one_alert_per_subject() -> None:
    other = replace(STREAM, name="views", recent=StreamRecent(rows=1000, bad=3))
    both = replace(FINE, streams=(replace(STREAM, recent=StreamRecent(rows=1000, bad=1)), other))
    assert [alert.subject for alert in found(both)] == ["stream clicks", "stream views"]


def test_each_is_told_once_when_it_begins_and_once_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "waterclock")
    raised = found(stream(recent=StreamRecent(rows=1000, bad=1)), now=100.0)
    later = found(stream(recent=StreamRecent(rows=1000, bad=2)), raised, now=101.0)
    assert changed(raised, later) == ([], [])
    tell("app", (), raised, 100.0, running=True)
    tell("app", raised, later, 101.0, running=True)
    tell("app", later, (), 160.0, running=True)
    tell("app", (), (), 161.0, running=True)
    begun, ended = caplog.messages
    assert begun.startswith("app: alert bad: stream clicks: 1 bad or quarantined rows in ten minutes. Divert them")
    assert ended == "app: alert bad: stream clicks: ended after 60 s"


def test_the_end_of_the_app_ends_no_alert(caplog: pytest.LogCaptureFixture) -> None:
    raised = found(stream(recent=StreamRecent(rows=1000, bad=1)))
    tell("app", raised, (), 160.0, running=False)
    assert caplog.messages == []
