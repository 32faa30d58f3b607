"""A real cluster of processes: executors are killed with SIGKILL in the middle of epochs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import waterclock as wc
from tests.cluster.conftest import MASTER, SETTINGS, executors
from tests.spark.test_local import build, equal, events, expected, outputs
from waterclock.optimizer import parallelism

pytestmark = pytest.mark.cluster


def test_killed_executors_go_unnoticed(
    make_app: Callable[..., wc.App], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallelism, "SHARE", 60)
    app = make_app(epoch_rows=200)
    app.master, app.spark = MASTER, SETTINGS
    source = build(app)
    frame = events(4000)
    handle = app.run()
    kills = 0
    pushing = threading.Thread(target=lambda: [source.push(frame[i : i + 200]) for i in range(0, 4000, 200)])
    pushing.start()
    for _ in range(2):
        start = handle.status().vertices[0].epoch
        deadline = time.monotonic() + 60
        while handle.status().vertices[0].epoch < start + 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        victims = executors()
        assert victims, "no executor process found"
        victims[0].kill()
        kills += 1
    pushing.join()
    source.end()
    handle.stop(drain=True, timeout=60)
    app.run(mode="drain").wait(240)
    assert kills == 2
    equal(outputs(tmp_path / "store"), expected(make_app, tmp_path))
