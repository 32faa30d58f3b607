"""Fixtures for all layers."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import waterclock as wc
from waterclock.optimizer import parallelism

SPARK = {"spark.driver.memory": "1g"}
MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Far more than was seen in use (tens of MB), but a container's usual 64 MB could run full."""


def _stores_in_memory() -> None:
    """Thousands of small stores wait for the disk at every commit, longer than they compute.

    No test asks the disk: a killed process loses nothing that it has written, and a power cut is played by removing it.
    """
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)  # for programs that tests start, and for this process


_stores_in_memory()


@pytest.fixture(autouse=True)
def _no_store_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATERCLOCK_STORE", raising=False)


@pytest.fixture
def make_app(tmp_path: Path) -> Callable[..., wc.App]:
    """Apps over one store in this test's folder, on ``local[2,4]`` so that retries happen."""

    def make(name: str = "test", store: str = "store", **options: object) -> wc.App:
        return wc.App(name, tmp_path / store, master="local[2,4]", spark=SPARK, **options)  # type: ignore[arg-type]

    return make


@pytest.fixture
def many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a tiny epoch gets as many tasks as allowed, so that the exchange is used."""
    monkeypatch.setattr(parallelism, "SHARE", 50)


os.environ.setdefault("PYTHONFAULTHANDLER", "1")
