"""Snapshots and pins from the command line, and a snapshot of a handle."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import waterclock as wc
from waterclock import launch
from waterclock.catalog import Catalog
from waterclock.cli.main import main
from waterclock.handle import Handle
from waterclock.runtime.barriers import begin, completed
from waterclock.runtime.inprocess import InProcessRunner

pytestmark = pytest.mark.usefixtures("each_database")
MakeApp = Callable[..., wc.App]


def declare(make_app: MakeApp, name: str = "test", **options: object) -> tuple[wc.App, wc.SourceStream]:
    app = make_app(name, epoch_rows=5, **options)
    events = app.stream(f"{name}_events", {"ts": "timestamp"}, time="ts", late="drop", retention="1s")
    events.tumbling("10s").agg(n=wc.count()).into(f"{name}_counts")
    return app, events


def push(events: wc.SourceStream, start: int, end: int) -> None:
    events.push([{"ts": second * 1_000_000} for second in range(start, end)])


def command(tmp_path: Path, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, [*words, "--store", str(tmp_path / "store")])
    assert "Traceback" not in result.output
    return result.exit_code, result.output


def test_a_snapshot_is_begun_listed_completed_and_removed(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app)
    push(events, 0, 20)
    app.run(mode="offline")
    assert command(tmp_path, "snapshot", "list") == (0, "This store has no snapshots.\n")
    code, output = command(tmp_path, "snapshot", "create", "before")
    assert (code, output) == (0, "snapshot 'before' of test has begun; it is completed while the app runs\n")
    assert command(tmp_path, "snapshot", "create", "--wait", "0")[1].startswith("error [RUN.SNAPSHOT_PENDING]")
    assert "global snapshots: 0 complete; 2 on the way" in command(tmp_path, "status")[1]
    assert 'waterclock_barriers_in_flight{app="test"} 2' in command(tmp_path, "metrics")[1]
    push(events, 20, 40)
    status = app.run(mode="offline").status().snapshots
    assert (status.complete, status.pending, status.abandoned, status.pending_age) == (2, 0, 0, None)
    assert "global snapshots: 2 complete, the newest begun" in command(tmp_path, "status")[1]
    assert 'waterclock_snapshots_kept{app="test"} 2' in command(tmp_path, "metrics")[1]
    found = json.loads(command(tmp_path, "snapshot", "list", "--json")[1])
    assert [(each["id"], each["name"], each["state"]) for each in found] == [
        (1, "before", "complete"), (2, None, "complete"),
    ]  # fmt: skip
    assert found[0]["barrier"]["test_events"][0] == 20
    assert "complete" in command(tmp_path, "snapshot", "list")[1].splitlines()[1]
    assert command(tmp_path, "snapshot", "remove", "before") == (0, "snapshot 'before' of test was removed\n")
    assert command(tmp_path, "snapshot", "remove", "2") == (0, "snapshot 2 of test was removed\n")
    assert command(tmp_path, "snapshot", "list") == (0, "This store has no snapshots.\n")


def test_pins_keep_from_a_number_a_time_or_the_first_event_on(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app)
    assert command(tmp_path, "pin", "list")[0] == 1  # there is no store yet
    push(events, 0, 20)
    push(events, 20, 40)
    assert command(tmp_path, "pin", "list") == (0, "This store has no pins.\n")
    assert command(tmp_path, "pin", "add", "test_events", "--from", "1970-01-01T00:00:25", "--name", "time") == (
        0, "pin 'time': events of test_events are kept from 20 on\n",
    )  # fmt: skip
    app.run(mode="offline")
    assert command(tmp_path, "gc")[0] == 0
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.streams.get("test_events").first == 20
    catalog.close()
    trimmed = command(tmp_path, "pin", "add", "test_events", "--from", "3")
    assert trimmed[0] == 1
    assert "[STREAM.TRIMMED]" in trimmed[1]
    assert command(tmp_path, "pin", "add", "test_events") == (
        0, "pin 'test_events': events of test_events are kept from 20 on\n",
    )  # fmt: skip
    assert "from 33 on" in command(tmp_path, "pin", "add", "test_events", "--from", "33", "--name", "number")[1]
    assert "from 40 on" in command(tmp_path, "pin", "add", "test_events", "--from", "1971-01-01", "--name", "late")[1]
    listed = json.loads(command(tmp_path, "pin", "list", "--json")[1])
    assert [(pin["name"], pin["seq"]) for pin in listed] == [
        ("late", 40), ("number", 33), ("test_events", 20), ("time", 20),
    ]  # fmt: skip
    assert len(command(tmp_path, "pin", "list")[1].splitlines()) == 5
    assert command(tmp_path, "pin", "remove", "time") == (0, "pin 'time' was removed\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("snapshot", "create"), "Say of which app: --app other or test."),
        (("snapshot", "create", "--app", "tset"), "Apps there: other, test. Did you mean 'test'?"),
        (("snapshot", "create", "7", "--app", "test"), "choose a name with a letter in it"),
        (("snapshot", "create", "known", "--app", "other"), "There is a snapshot 'known' already, of the app 'test'"),
        (("snapshot", "remove", "knwon"), "Snapshots there: known. Did you mean 'known'?"),
        (("snapshot", "remove", "5"), "[STORE.NO_SNAPSHOT]"),
        (("pin", "add", "test_event"), "Did you mean 'test_events'?"),
        (("pin", "add", "test_events", "--name", "mine"), "There is a pin 'mine' already, on the stream 'test_counts'"),
        (("pin", "add", "test_events", "--from", "yesterday"), "[TIME.BAD_INSTANT]"),
        (("pin", "remove", "nine"), "Pins there: mine. Did you mean 'mine'?"),
    ],
)  # fmt: skip
def test_mistakes_are_told(words: tuple[str, ...], says: str, make_app: MakeApp, tmp_path: Path) -> None:
    for name in ("test", "other"):
        app, events = declare(make_app, name)
        push(events, 0, 5)
        app.run(mode="offline")
    assert command(tmp_path, "snapshot", "create", "known", "--app", "test")[0] == 0
    assert command(tmp_path, "pin", "add", "test_counts", "--name", "mine")[0] == 0
    code, output = command(tmp_path, *words)
    assert code in (1, 2)
    assert says in output


def test_no_more_are_begun_than_may_be_on_their_way(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app)
    push(events, 0, 5)
    app.run(mode="offline")
    for _ in range(2):
        assert command(tmp_path, "snapshot", "create")[0] == 0
    assert "2 snapshots of 'test' are on their way already" in command(tmp_path, "snapshot", "create")[1]


@pytest.fixture
def running(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Handle, wc.SourceStream]]:
    """A live run whose steps are done in this process."""
    monkeypatch.setattr(launch, "runner_of", lambda *_: InProcessRunner())

    def run(**options: object) -> tuple[Handle, wc.SourceStream]:
        app, events = declare(make_app, **options)
        push(events, 0, 7)
        return app.run(mode="live"), events

    return run


def test_a_handle_takes_a_snapshot_while_its_app_runs(
    running: Callable[..., tuple[Handle, wc.SourceStream]], tmp_path: Path
) -> None:
    handle, events = running()
    with handle:
        taken = handle.snapshot("mine")
        assert (taken.state, taken.barrier["test_events"][0]) == ("complete", 7)
        with pytest.raises(wc.StoreError, match="already"):
            handle.snapshot("mine")
        push(events, 7, 30)
        assert handle.snapshot().id == taken.id + 1
        assert command(tmp_path, "snapshot", "create", "other", "--wait", "30") == (
            0, "snapshot 'other' of test is complete\n",
        )  # fmt: skip
    with pytest.raises(wc.RunError, match="has ended"):
        handle.snapshot()


def test_one_who_waits_is_told_when_it_is_abandoned_or_removed(make_app: MakeApp, tmp_path: Path) -> None:
    app, events = declare(make_app)
    push(events, 0, 5)
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    begun = begin(catalog, "test", "x")
    catalog.snapshots.finish(begun.id, "abandoned")
    with pytest.raises(wc.RunError, match="Snapshot 'x' of 'test' was abandoned"):
        completed(catalog, begun, 60)
    again = begin(catalog, "test", "x")  # the name of one that was abandoned is free
    assert [each.id for each in catalog.snapshots.all()] == [again.id]
    catalog.snapshots.remove([again.id])
    with pytest.raises(wc.RunError, match="was abandoned"):
        completed(catalog, again, 60)
    with pytest.raises(wc.RunError, match="is not complete after the end of its run"):
        completed(catalog, begin(catalog, "test", "y"), 60, lambda: True)
    catalog.close()
