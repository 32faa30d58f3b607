"""The figures in Prometheus's text exposition format. One table says what there is; the documentation lists it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from waterclock.runtime.metrics.figures import SinkStatus, Spread, Status, StreamStatus, VertexStatus
from waterclock.time import BEGINNING, FOREVER, SECOND

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = dict[str, str]
Sample = tuple[str, Labels, float | None]
"""What is put behind the name, labels, value; None is left out."""


class Metric(NamedTuple):
    name: str
    kind: str
    """counter, gauge or summary."""
    help: str
    labels: tuple[str, ...]
    samples: Callable[[Status], Iterable[Sample]]


def text(statuses: Iterable[Status]) -> str:
    found = list(statuses)
    lines: list[str] = []
    for metric in METRICS:
        samples = [sample for status in found for sample in metric.samples(status) if sample[2] is not None]
        if samples:
            lines.append(f"# HELP {metric.name} {_escaped(metric.help, quotes=False)}")
            lines.append(f"# TYPE {metric.name} {metric.kind}")
            lines += [f"{metric.name}{suffix}{_braced(labels)} {_number(value)}" for suffix, labels, value in samples]
    return "".join(f"{line}\n" for line in lines)


def _braced(labels: Labels) -> str:
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{inner}}}" if inner else ""


def _escaped(value: str, quotes: bool = True) -> str:
    value = value.replace("\\", "\\\\").replace("\n", "\\n")
    return value.replace('"', '\\"') if quotes else value


def _number(value: float | None) -> str:
    assert value is not None
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


# -- what there is -----------------------------------------------------------------------------------------------


def _app(name: str, kind: str, about: str, value: Callable[[Status], float | None]) -> Metric:
    return Metric(name, kind, about, ("app",), lambda status: [("", {"app": status.app}, value(status))])


def _stream(name: str, kind: str, about: str, value: Callable[[StreamStatus], float | None]) -> Metric:
    def samples(status: Status) -> Iterator[Sample]:
        for stream in status.streams:
            yield "", {"app": status.app, "stream": stream.name}, value(stream)

    return Metric(name, kind, about, ("app", "stream"), samples)


def _split(name: str, about: str, label: str, prefix: str) -> Metric:
    """The counters of a stream that start with ``prefix``, by what follows it."""

    def samples(status: Status) -> Iterator[Sample]:
        for stream in status.streams:
            for counter, number in stream.counters.items():
                if counter.startswith(prefix):
                    labels = {"app": status.app, "stream": stream.name, label: counter.removeprefix(prefix)}
                    yield "", labels, number

    return Metric(name, "counter", about, ("app", "stream", label), samples)


def _vertex(name: str, kind: str, about: str, value: Callable[[VertexStatus], float | None]) -> Metric:
    def samples(status: Status) -> Iterator[Sample]:
        for vertex in status.vertices:
            yield "", {"app": status.app, "vertex": vertex.name}, value(vertex)

    return Metric(name, kind, about, ("app", "vertex"), samples)


def _summary(name: str, about: str, value: Callable[[VertexStatus], tuple[Spread | None, float, int]]) -> Metric:
    def samples(status: Status) -> Iterator[Sample]:
        for vertex in status.vertices:
            spread, total, count = value(vertex)
            labels = {"app": status.app, "vertex": vertex.name}
            if spread is not None:
                for quantile, seconds in (("0.5", spread.median), ("0.95", spread.p95), ("1", spread.most)):
                    yield "", labels | {"quantile": quantile}, seconds
                yield "_sum", labels, total
                yield "_count", labels, count

    return Metric(name, "summary", about, ("app", "vertex", "quantile"), samples)


def _sink(name: str, kind: str, about: str, value: Callable[[SinkStatus], float | None]) -> Metric:
    def samples(status: Status) -> Iterator[Sample]:
        for sink in status.sinks:
            yield "", {"app": status.app, "sink": sink.name}, value(sink)

    return Metric(name, kind, about, ("app", "sink"), samples)


def _backlogs(status: Status) -> Iterator[Sample]:
    for stream in status.streams:
        for vertex, rows in stream.backlogs.items():
            yield "", {"app": status.app, "stream": stream.name, "vertex": vertex}, rows


def _stages(status: Status) -> Iterator[Sample]:
    for vertex in status.vertices:
        for stage in vertex.recent.stages:
            labels = {"app": status.app, "vertex": vertex.name, "stage": str(stage.stage)}
            yield "", labels | {"quantile": "0.5"}, stage.median
            yield "", labels | {"quantile": "1"}, stage.slowest[0].seconds


def _stragglers(status: Status) -> Iterator[Sample]:
    for vertex in status.vertices:
        for stage in vertex.recent.stages:
            for each in stage.stragglers:
                labels = {"app": status.app, "vertex": vertex.name, "stage": str(each.stage), "task": str(each.task)}
                yield "", labels | {"cause": each.cause}, each.ratio


def _alerts(status: Status) -> Iterator[Sample]:
    for alert in status.alerts:
        yield "", {"app": status.app, "rule": alert.rule, "subject": alert.subject}, 1


def _time(cti: int) -> float | None:
    return None if cti in (BEGINNING, FOREVER) else cti / SECOND


METRICS = (
    _app("waterclock_up", "gauge", "1 while the app runs.", lambda s: int(s.running)),
    _app("waterclock_uptime_seconds", "gauge", "How long the app runs, or ran.", lambda s: s.seconds),
    _app("waterclock_restarts_total", "counter", "Starts after the first on this store.", lambda s: s.restarts),
    _app("waterclock_checkpoint_duration_seconds", "gauge", "How long it took to make commits durable, the last time.",
         lambda s: s.sync_seconds),
    _app("waterclock_snapshots_kept", "gauge", "Complete global snapshots.", lambda s: s.snapshots.complete),
    _app("waterclock_snapshots_abandoned", "gauge", "Abandoned global snapshots, of the last ones.",
         lambda s: s.snapshots.abandoned),
    _app("waterclock_snapshot_age_seconds", "gauge", "Since the newest complete global snapshot was begun.",
         lambda s: s.snapshots.complete_age),
    _app("waterclock_barriers_in_flight", "gauge", "Global snapshots on their way.", lambda s: s.snapshots.pending),
    _app("waterclock_barrier_age_seconds", "gauge", "Since the oldest of them was begun.",
         lambda s: s.snapshots.pending_age),
    _app("waterclock_disk_free_bytes", "gauge", "Free on the disk of the store.", lambda s: s.disk.free),
    _app("waterclock_disk_size_bytes", "gauge", "Size of the disk of the store.", lambda s: s.disk.size),
    Metric("waterclock_alert", "gauge", "1 for each alert that holds now.", ("app", "rule", "subject"), _alerts),
    _stream("waterclock_source_rows_total", "counter", "Rows taken.", lambda s: s.rows),
    _stream("waterclock_source_rows_per_second", "gauge", "Rows taken a second, over ten seconds.",
            lambda s: s.recent.rows_per_second),
    _split("waterclock_late_rows_total", "Late rows, by what was done with them.", "policy", "late_"),
    _split("waterclock_source_errors_total", "Bad rows, by what was done with them.", "kind", "bad_"),
    _stream("waterclock_quarantined_rows_total", "counter", "Rows too far ahead to be believed.",
            lambda s: s.counters.get("quarantined", 0)),
    Metric("waterclock_source_backlog_rows", "gauge", "Rows that a vertex has not yet taken.",
           ("app", "stream", "vertex"), _backlogs),
    _stream("waterclock_source_event_time_lag_seconds", "gauge", "The clock minus the CTI.", lambda s: s.lag),
    _stream("waterclock_source_cti_timestamp_seconds", "gauge", "The CTI.", lambda s: _time(s.cti)),
    _stream("waterclock_source_cti_age_seconds", "gauge", "Since the CTI last moved.", lambda s: s.cti_age),
    _stream("waterclock_source_idle_seconds", "gauge", "Since the last row came.", lambda s: s.row_age),
    _stream("waterclock_source_idle", "gauge", "1 while the CTI goes on by the clock.", lambda s: int(s.idle)),
    _stream("waterclock_source_ended", "gauge", "1 when no row can follow.", lambda s: int(s.ended)),
    _vertex("waterclock_epochs_total", "counter", "Epochs committed.", lambda v: v.epoch + 1),
    _vertex("waterclock_rows_in_total", "counter", "Rows taken by a vertex.", lambda v: v.rows_in),
    _vertex("waterclock_rows_out_total", "counter", "Rows that a vertex gave.", lambda v: v.rows_out),
    _vertex("waterclock_rows_per_second", "gauge", "Rows taken a second, over ten seconds.",
            lambda v: v.recent.rows_per_second),
    _vertex("waterclock_backlog_rows", "gauge", "Rows of all inputs that are not yet taken.", lambda v: v.backlog),
    _summary("waterclock_epoch_duration_seconds", "Time of an epoch: quantiles of the last 500, sums of this run.",
             lambda v: (v.recent.epoch_seconds, v.recent.seconds, v.recent.epochs)),
    _summary("waterclock_commit_latency_seconds",
             "From the arrival of an epoch's oldest row to its commit: quantiles of the last 500, sums of this run.",
             lambda v: (v.recent.latency, v.recent.arrival_seconds, v.recent.arrivals)),
    _vertex("waterclock_epoch_overhead_seconds", "gauge", "Median time of an epoch outside its tasks.",
            lambda v: v.recent.overhead),
    _vertex("waterclock_watermark_in_timestamp_seconds", "gauge", "The least CTI taken from an input.",
            lambda v: _time(v.cti_in)),
    _vertex("waterclock_watermark_timestamp_seconds", "gauge", "The CTI of the output.", lambda v: _time(v.cti)),
    _vertex("waterclock_state_rows", "gauge", "Rows remembered.", lambda v: v.state_rows),
    _vertex("waterclock_state_bytes", "gauge", "Bytes of the rows remembered, as stored.", lambda v: v.state_bytes),
    _vertex("waterclock_state_runs", "gauge", "Sorted runs that the state is made of.", lambda v: v.state_runs),
    _vertex("waterclock_checkpoint_epoch", "gauge", "The last epoch that survives a power cut.",
            lambda v: v.durable_epoch),
    _vertex("waterclock_checkpoint_age_seconds", "gauge", "Since the durable mark last moved.",
            lambda v: v.durable_age),
    _vertex("waterclock_checkpoint_pending_epochs", "gauge", "Epochs that are committed and not durable.",
            lambda v: v.undurable),
    _vertex("waterclock_dead_letter_rows_total", "counter", "Rows that user code failed for, as dead letters.",
            lambda v: v.dead_letters),
    _vertex("waterclock_skipped_rows_total", "counter", "Rows that user code failed for, left out.",
            lambda v: v.left_out - v.dead_letters),
    _vertex("waterclock_rollbacks_total", "counter", "Returns to the durable snapshot.", lambda v: v.rollbacks),
    _vertex("waterclock_retries_total", "counter", "Recorded epochs executed after a crash, a failure or a rollback.",
            lambda v: v.retries),
    _vertex("waterclock_task_retries_total", "counter", "Tasks that Spark had to try again in this run.",
            lambda v: v.recent.task_retries),
    _vertex("waterclock_epoch_failures_total", "counter", "Epochs that failed.", lambda v: v.failures),
    _vertex("waterclock_sent_rows_total", "counter", "Rows that went from one stage to a later one in this run.",
            lambda v: v.recent.sent_rows),
    _vertex("waterclock_sent_bytes_total", "counter", "Bytes that went from one stage to a later one in this run.",
            lambda v: v.recent.sent_bytes),
    Metric("waterclock_task_seconds", "gauge",
           "Seconds of a task in the last epoch that had several in its stage: the median, the slowest.",
           ("app", "vertex", "stage", "quantile"), _stages),
    Metric("waterclock_straggler_ratio", "gauge", "How many times the median of its stage a straggler takes.",
           ("app", "vertex", "stage", "task", "cause"), _stragglers),
    _sink("waterclock_sink_rows_total", "counter", "Rows delivered.", lambda s: s.rows),
    _sink("waterclock_sink_epoch", "gauge", "The last epoch that was delivered.", lambda s: s.delivered_epoch),
    _sink("waterclock_sink_waiting_epochs", "gauge", "Epochs that are committed and not delivered.",
          lambda s: s.waiting),
    _sink("waterclock_sink_retries_total", "counter", "Deliveries made again at a start.", lambda s: s.retries),
    _sink("waterclock_sink_errors_total", "counter", "Deliveries that failed.", lambda s: s.failures),
)  # fmt: skip
