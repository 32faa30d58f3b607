"""What is wrong with an app: rules over its figures. They are pure; time is an argument."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from waterclock.errors import ConfigError
from waterclock.runtime.metrics.figures import Alert, Status
from waterclock.time import SECOND, Duration, micros

LEAST_ROWS = 100
"""A share of fewer rows means little."""


@dataclass(frozen=True)
class Alerts:
    """When to raise which alert; None turns one off."""

    silent: Duration | None = "5m"
    """A source stream that is not declared idle gets no rows for so long."""
    stuck: Duration | None = "1m"
    """Rows come to a source stream, and its CTI does not move for so long."""
    lag: Duration | None = "1m"
    """The backlog of a vertex grows for so long."""
    straggler: float | None = 1.4
    """A task takes so many times the median of its stage, in each of the last five epochs."""
    late: float | None = 0.01
    """This share of a stream's rows is late, over ten minutes."""
    bad: int | None = 1
    """So many bad or quarantined rows come to a stream in ten minutes."""
    dead: int | None = 1
    """User code fails for so many rows of a vertex in ten minutes, and they are left out."""
    snapshot: Duration | None = "1m"
    """There are commits that would not survive a power cut, and none was made durable for so long."""
    disk: float | None = 0.95
    """This share of the store's disk is used."""
    failing: int | None = 2
    """The same epoch, or delivery, has failed so often in a row."""

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            value = micros(given) if given is not None and field.name in DURATIONS else given
            if value is not None and not (isinstance(value, int | float) and 0 < value < float("inf")):
                fix = "It must be greater than zero; None turns the alert off."
                raise ConfigError("CONFIG.BAD_OPTION", option=f"alerts.{field.name}", value=given, fix=fix)
            object.__setattr__(self, field.name, value)

    def threshold(self, rule: str) -> float:
        """As a number; durations in seconds."""
        value: float = getattr(self, rule)
        return value / SECOND if rule in DURATIONS else value


DURATIONS = ("silent", "stuck", "lag", "snapshot")


class Found(NamedTuple):
    subject: str
    value: float
    text: str
    advice: str = ""
    """Instead of the rule's."""
    threshold: float | None = None
    """Instead of the one that is set."""


class Rule(NamedTuple):
    name: str
    about: str
    advice: str
    """What to do, in one sentence."""
    find: Callable[[Status, float, Mapping[tuple[str, str], Alert]], Iterable[Found]]
    """Given the threshold, and the alerts of the last look."""
    stopped: bool = False
    """Whether it makes sense of an app that does not run."""


def check(status: Status, wanted: Alerts, before: Sequence[Alert], now: float) -> tuple[Alert, ...]:
    """The alerts that hold now. One that held before keeps its beginning."""
    known = {alert.key: alert for alert in before}
    found: list[Alert] = []
    for rule in RULES:
        if getattr(wanted, rule.name) is None or not (status.running or rule.stopped):
            continue
        threshold = wanted.threshold(rule.name)
        for each in rule.find(status, threshold, known):
            old = known.get((rule.name, each.subject))
            found.append(
                Alert(
                    rule.name, each.subject, old.since if old else now, each.value,
                    threshold if each.threshold is None else each.threshold, each.text, each.advice or rule.advice,
                )
            )  # fmt: skip
    return tuple(found)


def changed(before: Sequence[Alert], after: Sequence[Alert]) -> tuple[list[Alert], list[Alert]]:
    """Those that began and those that ended."""
    old, new = {alert.key for alert in before}, {alert.key for alert in after}
    return [alert for alert in after if alert.key not in old], [alert for alert in before if alert.key not in new]


# -- the rules -------------------------------------------------------------------------------------------------

Known = Mapping[tuple[str, str], Alert]


def _silent(status: Status, threshold: float, _: Known) -> Iterator[Found]:
    for stream in status.streams:
        if stream.ended or stream.may_rest or any(stream.backlogs.values()):
            continue  # ended, declared, or the source is held back
        age = _in_this_run(stream.row_age, status)
        if age >= threshold:
            yield Found(f"stream {stream.name}", age, f"no rows for {age:.0f} s")


def _stuck(status: Status, threshold: float, _: Known) -> Iterator[Found]:
    for stream in status.streams:
        age = stream.stalled
        if age is None or age < threshold or stream.ended or stream.row_age is None or stream.row_age >= threshold:
            continue
        yield Found(f"stream {stream.name}", age, f"rows come, and the CTI has not moved for {age:.0f} s")


def _lag(status: Status, _: float, known: Known) -> Iterator[Found]:
    for vertex in status.vertices:
        subject = f"vertex {vertex.name}"
        old = known.get(("lag", subject))
        start = vertex.recent.grew_from
        if old is not None and vertex.backlog > old.threshold:
            start = int(old.threshold)  # a backlog that has stopped growing is still there
        if start is not None and vertex.backlog > max(start, vertex.recent.rows_per_second or 0):
            text = f"{vertex.backlog:,} rows are waiting, it was {start:,} when that began to grow"
            yield Found(subject, vertex.backlog, text, threshold=start)


def _straggler(status: Status, _: float, __: Known) -> Iterator[Found]:
    for vertex in status.vertices:
        for stage in vertex.recent.stages:
            for each in stage.stragglers:
                subject = f"vertex {vertex.name}, stage {each.stage}, task {each.task} of {each.tasks}"
                text = (
                    f"{each.cause}: {each.ratio:.1f} times the median of its stage "
                    f"({each.rows:,} of {stage.rows:,} rows, {each.seconds:.3f} s against {stage.median:.3f} s)"
                )
                yield Found(subject, each.ratio, text, SKEW if each.cause == "skew" else SLOW)


def _late(status: Status, threshold: float, _: Known) -> Iterator[Found]:
    for stream in status.streams:
        late, rows = stream.recent.late, stream.recent.rows
        if rows >= LEAST_ROWS and late / rows >= threshold:
            yield Found(f"stream {stream.name}", late / rows, f"{late:,} of the last {rows:,} rows were late")


def _dead(status: Status, threshold: float, _: Known) -> Iterator[Found]:
    for vertex in status.vertices:
        if vertex.recent.left_out >= threshold:
            text = f"user code failed for {vertex.recent.left_out:,} rows in ten minutes"
            yield Found(f"vertex {vertex.name}", vertex.recent.left_out, text)


def _bad(status: Status, threshold: float, _: Known) -> Iterator[Found]:
    for stream in status.streams:
        if stream.recent.bad >= threshold:
            text = f"{stream.recent.bad:,} bad or quarantined rows in ten minutes"
            yield Found(f"stream {stream.name}", stream.recent.bad, text)


def _snapshot(status: Status, threshold: float, _: Known) -> Iterator[Found]:
    for vertex in status.vertices:
        age = _in_this_run(vertex.durable_age, status)
        if vertex.undurable > 0 and age >= threshold:
            text = f"{vertex.undurable:,} epochs are not durable, the last mark is {age:.0f} s old"
            yield Found(f"vertex {vertex.name}", age, text)


def _in_this_run(age: float | None, status: Status) -> float:
    """What is older than the run is as old as the run; None never happened."""
    run = status.seconds or 0.0
    return run if age is None else min(age, run)


def _disk(status: Status, threshold: float, _: Known) -> Iterator[Found]:
    if status.disk.used >= threshold:
        yield Found("store", status.disk.used, f"{status.disk.free / 2**30:.1f} GiB are free")


def _failing(status: Status, threshold: float, _: Known) -> Iterator[Found]:
    for vertex in status.vertices:
        if vertex.failing >= threshold:
            yield Found(f"vertex {vertex.name}", vertex.failing, _failed(f"epoch {vertex.epoch + 1}", vertex.failing))
    for sink in status.sinks:
        if sink.failing >= threshold:
            text = _failed(f"the delivery after epoch {sink.delivered_epoch}", sink.failing)
            yield Found(f"sink {sink.name}", sink.failing, text)


def _failed(what: str, times: int) -> str:
    return f"{what} has failed {times} times in a row"


SKEW = (
    "Few keys have many rows, which running the task twice would not mend: "
    "add a column to the key, or aggregate before."
)
SLOW = "Its rows take long: look for values that are costly in user code, or for a slow machine."

RULES = (
    Rule(
        "silent",
        "a source stream that is not declared idle gets no rows",
        "See whether the source still sends; if pauses are normal, declare idle= so that windows close.",
        _silent,
    ),
    Rule(
        "stuck",
        "rows come to a source stream, and its CTI does not move",
        "See whether the rows' times go on; with slack=None or cti=, see who should send the CTIs.",
        _stuck,
    ),
    Rule(
        "lag",
        "the backlog of a vertex grows, and as long as it is not back where that began",
        "Give it more cores or tasks=, look at the slowest stage, or send less.",
        _lag,
    ),
    Rule(
        "straggler",
        "a task stays behind those of its stage: by skew (many rows) or because it is slow (few rows)",
        f"Skew: {SKEW} Slow: {SLOW}",
        _straggler,
    ),
    Rule(
        "late",
        "many of a stream's rows are late",
        "Raise slack= to wait longer for them, or see why the source sends out of order.",
        _late,
    ),
    Rule(
        "bad",
        "rows are bad or too far in the future",
        "Divert them (on_bad='divert', ahead='quarantine'), read them in that side stream, and mend what sends them.",
        _bad,
    ),
    Rule(
        "dead",
        "user code fails for rows, which are left out",
        "Read them in the stream OUTPUT.dead (on_error('dead_letter')), and mend the code or what sends them.",
        _dead,
    ),
    Rule(
        "snapshot",
        "commits stay without a durable mark",
        "The disk is too slow to sync, or hangs: see the duration of syncs, and waterclock doctor.",
        _snapshot,
    ),
    Rule(
        "disk",
        "the disk of the store is nearly full",
        "Free some space, or declare retention= on streams that are not needed for ever.",
        _disk,
        stopped=True,
    ),
    Rule(
        "failing",
        "the same epoch, or the same delivery, fails again and again",
        "Read the error of the last run: its input is recorded, so it fails until data, code or the sink is mended.",
        _failing,
        stopped=True,
    ),
)  # fmt: skip
