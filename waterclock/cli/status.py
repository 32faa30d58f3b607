"""``waterclock status`` and ``metrics``: how the apps of a store are doing, while they run or not."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click

from waterclock.cli import show
from waterclock.cli.look import open_catalog
from waterclock.runtime.metrics import prometheus
from waterclock.runtime.metrics.figures import SnapshotStatus, Spread, Stage, Status, VertexStatus
from waterclock.runtime.metrics.gather import apps

REDRAW = 1.0
HOME_AND_CLEAR = "\x1b[H\x1b[2J"


@click.command()
@show.store_option
@show.json_option
@click.option("--watch", is_flag=True, help="Draw it again every second until Ctrl-C.")
def status(store: str, as_json: bool, watch: bool) -> None:
    """Show the apps of a store.

    Alerts, streams, outputs and sinks: whether they run, how far they are, how fast, what holds them back. Exits with 0
    if the store can be read.

    \b
    waterclock status --store ./store
    waterclock status --watch
    waterclock status --json | jq '.[].alerts'
    """
    with open_catalog(store) as catalog:
        while True:
            now = time.time()
            found = apps(catalog, now)
            if as_json:
                text = json.dumps([each.to_dict() for each in found], indent=2)
            else:
                owners = catalog.leases.holders()
                text = page(found, {each.app: owners.get(f"app {each.app}") for each in found}, now)
            click.echo(HOME_AND_CLEAR + text if watch and not as_json else text)
            if not watch:
                return
            time.sleep(REDRAW)


@click.command()
@show.store_option
def metrics(store: str) -> None:
    """Print the figures of a store's apps in Prometheus's text format.

    \b
    waterclock metrics --store ./store > /var/lib/node_exporter/waterclock.prom
    """
    with open_catalog(store) as catalog:
        click.echo(prometheus.text(apps(catalog, time.time())), nl=False)


def page(found: Sequence[Status], owners: dict[str, str | None], now: float) -> str:
    if not found:
        return "No app has run on this store yet."
    return "\n\n".join("\n\n".join(_parts(each, owners.get(each.app), now)) for each in found)


def _parts(status: Status, owner: str | None, now: float) -> Iterator[str]:
    ran = "" if status.seconds is None else f" {'for' if status.running else 'after'} {show.seconds(status.seconds)}"
    restarts = f", started {status.restarts + 1} times" if status.restarts else ""
    by = f", run by {owner}" if owner else ""
    sync = "" if status.sync_seconds is None else f", last sync {show.seconds(status.sync_seconds)}"
    yield f"{status.app}: {status.state}{ran}{restarts}{sync}, {show.size(status.disk.free)} free{by}"
    for alert in status.alerts:
        began = datetime.fromtimestamp(alert.since, UTC).strftime("%Y-%m-%d %H:%M:%S")
        yield (
            f"ALERT {alert.rule} since {began} ({show.seconds(max(0.0, now - alert.since))}): {alert.subject}\n"
            f"  {alert.text} (value {alert.value:.4g}, threshold {alert.threshold:.4g})\n"
            f"  {alert.advice}"
        )
    if status.snapshots.complete or status.snapshots.pending or status.snapshots.abandoned:
        yield _snapshots(status.snapshots)
    if status.streams:
        yield _streams(status)
    yield _vertices(status)
    yield _times(status)
    held = [f"{vertex.name}: its CTI is held back by {vertex.held_by}" for vertex in status.vertices if vertex.held_by]
    if held:
        yield "\n".join(held)
    tasks = [_stage(vertex, stage) for vertex in status.vertices for stage in vertex.recent.stages]
    if tasks:
        head = ["output", "stage", "tasks", "rows", "median", "slowest task", "its rows", "its time", "straggles by"]
        yield show.table(head, tasks)
    if status.sinks:
        head = ["sink", "delivered epoch", "rows", "waiting", "retries", "failures"]
        yield show.table(
            head, [[s.name, s.delivered_epoch, s.rows, s.waiting, s.retries, s.failures] for s in status.sinks]
        )


def _snapshots(found: SnapshotStatus) -> str:
    newest = "" if found.complete_age is None else f", the newest begun {_ago(found.complete_age)}"
    going = f"; {found.pending} on the way, the oldest begun {_ago(found.pending_age)}" if found.pending else ""
    abandoned = f"; {found.abandoned} abandoned" if found.abandoned else ""
    return f"global snapshots: {found.complete} complete{newest}{going}{abandoned}"


def _streams(status: Status) -> str:
    head = [
        "stream",
        "rows",
        "rows/s",
        "late",
        "bad",
        "set aside",
        "CTI",
        "behind",
        "moved",
        "last row",
        "idle",
        "to take",
    ]
    rows = [
        [
            s.name, s.rows, _rate(s.recent.rows_per_second), s.counted("late"), s.counted("bad"),
            s.counted("quarantined"), show.cti(s.cti), _duration(s.lag), _ago(s.cti_age), _ago(s.row_age), s.idle,
            max(s.backlogs.values(), default=0),
        ]
        for s in status.streams
    ]  # fmt: skip
    return show.table(head, rows)


def _vertices(status: Status) -> str:
    head = [
        "output", "epoch", "durable", "mark", "to take", "rows in", "rows out", "left out", "rows/s", "CTI",
        "state rows", "state", "runs",
    ]  # fmt: skip
    rows = [
        [
            v.name, v.epoch, v.durable_epoch, _ago(v.durable_age), v.backlog, v.rows_in, v.rows_out, v.left_out,
            _rate(v.recent.rows_per_second), show.cti(v.cti), v.state_rows, show.size(v.state_bytes), v.state_runs,
        ]
        for v in status.vertices
    ]  # fmt: skip
    return show.table(head, rows)


def _times(status: Status) -> str:
    head = [
        "output", "epoch p50", "p95", "max", "overhead", "latency p50", "p95", "max",
        "retries", "task retries", "rollbacks", "failures",
    ]  # fmt: skip
    rows = [
        [
            v.name, *_spread(v.recent.epoch_seconds), _duration(v.recent.overhead), *_spread(v.recent.latency),
            v.retries, v.recent.task_retries, v.rollbacks, v.failures,
        ]
        for v in status.vertices
    ]  # fmt: skip
    return show.table(head, rows)


def _stage(vertex: VertexStatus, stage: Stage) -> list[object]:
    slowest = stage.slowest[0]
    causes = ", ".join(f"{each.cause} (task {each.task}, {each.ratio:.1f}×)" for each in stage.stragglers)
    return [
        vertex.name, stage.stage, stage.tasks, stage.rows, show.seconds(stage.median), slowest.index, slowest.rows,
        show.seconds(slowest.seconds), causes or "-",
    ]  # fmt: skip


def _spread(found: Spread | None) -> list[str]:
    return ["-"] * 3 if found is None else [show.seconds(each) for each in (found.median, found.p95, found.most)]


def _rate(rate: float | None) -> str:
    return "-" if rate is None else show.brief(rate)


def _duration(seconds: float | None) -> str:
    return "-" if seconds is None else show.seconds(seconds) if seconds >= 0 else f"-{show.seconds(-seconds)}"


def _ago(seconds: float | None) -> str:
    return "-" if seconds is None else f"{show.seconds(seconds)} ago"
