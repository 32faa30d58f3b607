"""The driver is killed with SIGKILL while epochs run on Spark, and started again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recovery.harness import outcome, run, same

pytestmark = pytest.mark.spark
STEPS = ("epoch.after_intent", "epoch.before_commit", "sink.before_finish")
"""In this process every step is tried (tests/recovery); each one here costs the start of a JVM."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("on_spark")


def test_killed_on_spark(folder: Path, tmp_path: Path) -> None:
    """Each step of the protocol that the driver takes itself, one after another on one store."""
    kills = sum(not run(folder, "--mode", "drain", crash=f"{place}:2") for place in STEPS)
    assert kills >= 2
    assert run(folder, "--mode", "drain")
    assert run(tmp_path)
    same(outcome(folder), outcome(tmp_path))
