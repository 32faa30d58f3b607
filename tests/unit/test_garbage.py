"""Low-water marks: what holds a stream, what may go, and that nothing needed does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import waterclock as wc
from waterclock import launch
from waterclock.catalog import Catalog
from waterclock.cli.main import main
from waterclock.runtime.garbage import collectable, holds

MakeApp = Callable[..., wc.App]


def declare(make_app: MakeApp, outputs: int = 2, **options: object) -> tuple[wc.App, wc.SourceStream]:
    app = make_app()
    events = app.stream("events", {"n": "bigint"}, time="n", late="drop", **options)  # type: ignore[arg-type]
    for number in range(outputs):
        events.tumbling(10 + number).agg(n=wc.count()).into(f"counts{number}")
    return app, events


def push(events: wc.SourceStream, start: int, end: int) -> None:
    for number in range(start, end):
        events.push([{"n": number}])


def test_the_slowest_reader_holds_a_stream(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app, 1, retention=1_000)
    push(events, 0, 30)
    app.run(mode="offline")
    app, events = declare(make_app, 2, retention=1_000)  # a second query, which has taken nothing yet
    catalog = Catalog.open(tmp_path / "store")
    launch.declare(app._declared, catalog, app._declared.plans(catalog))
    row = catalog.streams.get("events")
    assert [(hold.who, hold.seq) for hold in holds(catalog, row)] == [
        ("counts1, durable epoch -1", 0),
        ("the disk: what follows is not synced yet", 30),
        ("counts0, durable epoch 0", 30),
    ]
    found = collectable(catalog, row)
    assert (found.end, found.kept) == (row.first, "counts1, durable epoch -1")
    catalog.close()


@pytest.mark.parametrize(
    ("retention", "pushed", "run", "end", "kept"),
    [
        (None, 30, True, 0, "no retention was set: for ever"),
        (5, 30, False, 0, "counts0, durable epoch -1"),
        (5, 0, False, 0, "nothing: all of it may go"),
        (1_000, 30, True, 0, "retention"),
    ],
)  # fmt: skip
def test_what_keeps_the_rest(
    retention: int | None, pushed: int, run: bool, end: int, kept: str, make_app: MakeApp, tmp_path: Path
) -> None:
    app, events = declare(make_app, 1, retention=retention)
    push(events, 0, pushed)
    catalog = Catalog.open(tmp_path / "store", create=True)
    launch.declare(app._declared, catalog, app._declared.plans(catalog))
    if run:
        app.run(mode="offline")
    found = collectable(catalog, catalog.streams.get("events"))
    assert (found.end, found.kept) == (end, kept)
    catalog.close()


def test_the_command_says_what_would_go_and_lets_it_go(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app, 1, retention=1_000)
    push(events, 0, 30)
    app.run(mode="offline")
    store = ["--store", str(tmp_path / "store")]
    events.push([{"n": 1_019}])  # the time is now 20 behind retention, and the query has not taken that yet
    shown = CliRunner().invoke(main, ["gc", "--dry-run", *store])
    assert shown.exit_code == 0
    line = next(line for line in shown.output.splitlines() if line.startswith("events"))
    assert line.split()[1:4] == ["0", "31", "19"]
    assert "retention" in line
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.streams.get("events").first == 0, "a dry run removes nothing"
    assert CliRunner().invoke(main, ["gc", *store]).exit_code == 0
    assert catalog.streams.get("events").first == 19
    catalog.close()
    events.push([{"n": 1_040}])
    events.end()
    handle = app.run(mode="offline")
    assert handle.status().counters["events"]["rows"] == 32
