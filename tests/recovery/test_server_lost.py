"""The driver lives on while connections to its catalog are cut and the server is killed, at any moment."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from tests.postgres import Server
from tests.recovery.harness import LOG, ended, outcome, run, same, start

MOST = {"cut": 60, "kill": 5}


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
@pytest.mark.parametrize("harm", MOST)
def test_nothing_is_lost_or_done_twice(harm: str, server: Server, tmp_path: Path, each_database: str) -> None:
    """Commits whose answer was lost are found, others are done again: the epochs are those of a quiet run."""
    quiet, harmed = tmp_path / "quiet", tmp_path / "harmed"
    for folder in (quiet, harmed):
        folder.mkdir()
    assert run(quiet, "--preload")
    choose = random.Random(harm)
    process = start(harmed, "--preload")
    while not (harmed / "store/catalog.url").exists():
        assert process.is_alive(), (harmed / LOG).read_text()
    harms = 0
    while process.is_alive() and harms < MOST[harm]:
        time.sleep(choose.random() * (0.05 if harm == "cut" else 0.4))
        if harm == "kill":
            server.stop(signal.SIGKILL)
            server.start()
            harms += 1
        else:
            harms += server.cut()
    process.join(120)
    assert ended(harmed, process)
    assert harms >= 3
    found, expected = outcome(harmed), outcome(quiet)
    assert found.digests == expected.digests
    assert found.per_user.equals(expected.per_user)
    same(found, expected)
